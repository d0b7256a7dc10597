// Package search finds tools by what people and models ask for: in plain
// language, in keywords, with synonyms, with spelling mistakes and in other
// languages. It ranks by the words of a tool, weighted by where they stand
// (BM25F), and by a table of how people speak and how tools are named.
package search

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Tool is what is searched of a tool. Schema is its input schema.
type Tool struct {
	Server, Name, Title, Description string
	Schema                           json.RawMessage
}

// An Index finds tools. It does not change, and is safe for concurrent use.
type Index struct {
	tools []entry
	terms map[string][]posting // by stem, phrase, concept, or what a mark stands before
	stems []string             // in order
}

// An entry is what is kept of a tool.
type entry struct {
	server  string
	name    string // with the server's, for files
	letters string // of that
	bare    int    // length of those of the tool's own name
	does    []string
	named   []nameWord
}

// A nameWord is one word of a tool's name, and what it means.
type nameWord struct {
	word
	means []string
}

// A posting says how much of a tool a term is: its frequency in all fields,
// weighted and saturated.
type posting struct {
	tool   int32
	weight float32
}

// Before a term that is no stem: a word of a name as it is written, a stem of the
// name of a server. Concepts have marks, too.
const (
	writtenAs = "="
	ofServer  = "@"
	marks     = writtenAs + ofServer + aThing + anAction
)

// What a word counts by where it stands, and after how many words it counts half,
// in fields that are longer. They are constants so that what one tool says never
// changes the score of another.
const (
	inName, inServer, inTitle, inLead, inRest, inParams, inParamText, inValues = 2, 1.5, 2, 1.2, 0.9, 0.5, 0.25, 0.6

	ofProduct = 0.4  // what a product of the tool's name is about
	k1        = 1.2  // BM25's: how soon more of a word says no more
	b         = 0.55 // BM25's: how much less a word says in a longer text

	usualLead, usualRest, usualParams, usualText, usualValues = 10, 25, 5, 15, 6
)

const (
	leadWords = 25      // of a description, at most, are its first sentence
	verbWords = 4       // of it may say what the tool does
	maxText   = 8 << 10 // bytes of a description, or of all texts of parameters, are read
)

// New returns an index of tools.
func New(tools []Tool) *Index {
	ix := &Index{tools: make([]entry, len(tools)), terms: make(map[string][]posting, 8*len(tools))}
	d := document{x: table(), weight: map[string]float64{}}
	for i, t := range tools {
		clear(d.weight)
		ix.tools[i] = d.read(t)
		for term, weight := range d.weight {
			list, known := ix.terms[term]
			if !known {
				term = strings.Clone(term)
			}
			ix.terms[term] = append(list, posting{int32(i), float32(weight / (k1 + weight))}) // the tenth occurrence says less than the first
		}
	}
	isStem := func(term string) bool {
		return term != "" && !strings.Contains(term, " ") && !strings.Contains(marks, term[:1])
	}
	for term := range maps.Keys(ix.terms) {
		if isStem(term) {
			ix.stems = append(ix.stems, term)
		}
	}
	slices.Sort(ix.stems)
	return ix
}

// A document collects the words of one tool.
type document struct {
	x      *lexicon
	weight map[string]float64 // by term
	stems  []string
}

func (d *document) read(t Tool) entry {
	e := entry{server: t.Server, name: t.Server + "_" + t.Name, bare: len(letters(t.Name))}
	e.letters = letters(e.name)
	server := words(t.Server)
	name := withoutServer(words(t.Name), server)
	d.field(name, inName, 0)
	for _, w := range name {
		if w.parts > 0 {
			continue
		}
		d.weight[writtenAs+w.plain] = k1
		if !d.x.stop[w.plain] {
			w.plain, w.stem = strings.Clone(w.plain), strings.Clone(w.stem)
			e.named = append(e.named, nameWord{w, d.x.means(w.stem)})
		}
	}
	d.field(server, inServer, 0)
	for _, w := range server {
		d.weight[ofServer+w.stem] = k1
	}
	d.field(words(cut(t.Title)), inTitle, 0)
	description := cut(t.Description)
	text := words(description)
	lead := leadOf(description, text)
	d.field(text[:lead], inLead, usualLead)
	d.field(text[lead:], inRest, usualRest)
	s := schemaTexts(t.Schema)
	d.field(words(cut(strings.Join(s.names, " "))), inParams, usualParams)
	d.field(words(cut(strings.Join(s.descriptions, " "))), inParamText, usualText)
	d.field(words(strings.Join(s.values, " ")), inValues, usualValues)
	d.about(append(server, name...))
	e.does = d.actions(name, text)
	return e
}

// cut bounds a text.
func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// field adds the words of one field of a tool, and what they mean. A word counts less
// in a long field, unless usual is 0.
func (d *document) field(list []word, weight, usual float64) {
	length := 0
	d.stems = d.stems[:0]
	for _, w := range list {
		if !w.part {
			length++
		}
		d.stems = append(d.stems, w.stem)
	}
	if usual > 0 {
		weight /= 1 - b + b*float64(length)/usual
	}
	for i, w := range list {
		if w.part && usual > usualParams {
			continue // GitHub in a text is one word, and getUser as a name two
		}
		if !d.x.stop[w.plain] {
			d.add(w.stem, weight)
		}
		if key, _ := d.x.phrase(d.stems, i); key != "" {
			d.add(key, weight)
		}
	}
}

func (d *document) add(key string, weight float64) {
	d.weight[key] += weight
	for _, c := range d.x.means(key) {
		d.weight[c] += weight
	}
}

// about adds what products of those names are about.
func (d *document) about(names []word) {
	seen := map[string]bool{}
	for _, w := range names {
		for _, key := range d.x.about[w.stem] {
			if !seen[key] {
				seen[key] = true
				d.add(key, ofProduct)
			}
		}
	}
}

// actions returns what a tool does: what the first verb of its name says, and that
// of its description.
func (d *document) actions(name, text []word) (does []string) {
	for _, list := range [][]word{name, text[:min(len(text), verbWords)]} {
		for _, w := range list {
			if found := actionsAmong(d.x.means(w.stem)); len(found) > 0 {
				does = append(does, found...)
				break
			}
		}
	}
	return does
}

// withoutServer removes the server's name from the front of a tool's, where many
// servers repeat it, and noise.
func withoutServer(name, server []word) []word {
	n := 0
	for n < len(name)-1 && slices.ContainsFunc(server, func(w word) bool { return w.stem == name[n].stem }) {
		n++
	}
	return name[n:]
}

// leadOf returns how many words the first sentence of a description has.
func leadOf(description string, list []word) int {
	end := len(description)
	for _, sep := range []string{". ", "\n", ".\n"} {
		if i := strings.Index(description, sep); i > 0 && i < end {
			end = i
		}
	}
	lead := min(len(words(description[:end])), leadWords, len(list))
	for lead < len(list) && list[lead].part {
		lead++
	}
	return lead
}
