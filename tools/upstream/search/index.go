// Package search finds tools by what people and models ask for: in plain
// language, in keywords, with synonyms, with spelling mistakes and in other
// languages. It ranks by the words of a tool, weighted by where they stand
// (BM25F), and by a table of how people speak and how tools are named.
package search

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Tool is what is searched of a tool. Schema is its input schema.
type Tool struct {
	Server, Name, Title, Description string
	Schema                           json.RawMessage
	Tags                             []string
}

// An Index finds tools. It does not change, and is safe for concurrent use.
type Index struct {
	tools   []entry
	terms   map[string]int32 // words of tools: index into lists and words
	lists   [][]posting
	words   []string    // stems; "" for a phrase and other terms that are no word
	order   []int32     // terms that are words, in the order of the words
	ideas   [][]posting // by concept
	weights weights
}

// An entry is what is kept of a tool.
type entry struct {
	server  string
	name    string // with the server's, for files
	letters string // of that
	bare    int    // length of those of the tool's own name
	actions uint64 // what it does, as bits of concepts
	named   []nameWord
	plural  bool // the name has a word in the plural
}

// A nameWord is one word of a tool's name, and what it means.
type nameWord struct {
	plain string
	term  int32
	means []concept
}

// A posting says how much of a tool a word is: its frequency in all fields,
// weighted and saturated.
type posting struct {
	tool   int32
	weight float32
}

// New returns an index of tools.
func New(tools []Tool) *Index { return build(tools, tuned()) }

func build(tools []Tool, w weights) *Index {
	x := table()
	ix := &Index{
		tools: make([]entry, len(tools)), terms: make(map[string]int32, 8*len(tools)),
		ideas: make([][]posting, x.total), weights: w,
	}
	d := document{ix: ix, x: x, weight: map[int32]float64{}, ideas: map[concept]float64{}}
	for i, t := range tools {
		d.add(i, t)
	}
	for n, list := range ix.lists {
		ix.lists[n] = slices.Clip(list)
		if ix.words[n] != "" {
			ix.order = append(ix.order, int32(n))
		}
	}
	slices.SortFunc(ix.order, func(a, b int32) int { return strings.Compare(ix.words[a], ix.words[b]) })
	return ix
}
