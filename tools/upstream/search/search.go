package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Options narrow a search.
type Options struct {
	Limit  int              // of hits; 10 if 0
	Keep   func(i int) bool // whether the caller may know of tool i; nil keeps all. What is not kept influences nothing
	Server string           // only tools of this server, in any case of letters
	Files  []string         // names of files the tools are wanted for, see [ForFiles]; they are enough for a search
}

// Results are the tools found, best first, and help where they do not convince.
type Results struct {
	Hits []Hit
	// Weak is set if no tool answers most of the query: the hits are near misses.
	Weak bool
	// Unknown are the words of the query that no tool has.
	Unknown []Guess
	// Narrow are words that tell the best hits apart, best hits first: names of
	// servers, and words of some of their names. It is empty if the first hit is
	// far ahead.
	Narrow []string
}

// A Hit is a tool, as an index into those the index was made of, and its score.
// Scores compare within one search.
type Hit struct {
	Tool  int
	Score float64
}

// A Guess is a word that no tool has, and the word of a tool that was probably
// meant and was searched for, or "".
type Guess struct{ Word, Near string }

const (
	usualLimit    = 10
	maxQueryBytes = 2000 // the rest of a longer query is ignored
	maxQueryWords = 60
)

// Search returns the tools that fit the query best.
func (ix *Index) Search(query string, o Options) Results {
	s := search{ix: ix, x: table(), o: o, weights: &ix.weights}
	s.keep()
	if len(query) > maxQueryBytes {
		query = strings.ToValidUTF8(query[:maxQueryBytes], "")
	}
	s.read(query)
	s.score()
	s.agreement()
	s.names()
	s.coverage()
	s.exact(query)
	s.files()
	return s.results()
}

// A search is one query under way.
type search struct {
	ix      *Index
	x       *lexicon
	o       Options
	weights *weights
	kept    []bool
	all     bool // every tool is kept
	count   int  // tools kept

	slots []slot
	used  map[concept]bool // meanings of the slots so far
	asks  bool             // the query is a question

	scores  []float64
	matched []float64 // how much of the query's weight a tool has
	total   float64   // the query's weight
}

// keep finds the tools that may be found.
func (s *search) keep() {
	n := len(s.ix.tools)
	s.kept, s.scores, s.matched = make([]bool, n), make([]float64, n), make([]float64, n)
	for i := range s.ix.tools {
		if (s.o.Server == "" || strings.EqualFold(s.o.Server, s.ix.tools[i].server)) && (s.o.Keep == nil || s.o.Keep(i)) {
			s.kept[i] = true
			s.count++
		}
	}
	s.all = s.count == n
}

// size returns how many tools of a list are kept.
func (s *search) size(list []posting) int {
	if s.all {
		return len(list)
	}
	n := 0
	for _, p := range list {
		if s.kept[p.tool] {
			n++
		}
	}
	return n
}

// term returns the tools that have a word, or nil if none of them is kept.
func (s *search) term(key string) []posting {
	n, known := s.ix.terms[key]
	if !known || s.size(s.ix.lists[n]) == 0 {
		return nil
	}
	return s.ix.lists[n]
}

// results returns the hits in order, and what helps to go on.
func (s *search) results() Results {
	var r Results
	for t, score := range s.scores {
		if s.kept[t] && score > 0 {
			r.Hits = append(r.Hits, Hit{t, score})
		}
	}
	slices.SortFunc(r.Hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool)) })
	r.Hits = slices.Clone(r.Hits[:min(len(r.Hits), cmp.Or(max(s.o.Limit, 0), usualLimit))])
	s.help(&r)
	return r
}

// letters returns the letters and digits of a text, by which names are compared.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, fold(text))
}

// exact puts the tool first whose name is the query, with its server's or without.
func (s *search) exact(query string) {
	name, top := letters(query), 0.0
	if name == "" {
		return
	}
	for t := range s.scores {
		if s.kept[t] {
			top = max(top, s.scores[t])
		}
	}
	for t := range s.scores {
		if e := &s.ix.tools[t]; s.kept[t] && (e.letters == name || strings.HasSuffix(e.letters, name) && e.bare == len(name)) {
			s.scores[t] += top + 1
		}
	}
}
