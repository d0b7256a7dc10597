package search

import (
	"slices"
	"strings"
)

const (
	leadWords = 25      // of a description, at most, are its first sentence
	verbWords = 4       // of it may say what the tool does
	maxText   = 8 << 10 // bytes of a description, or of all texts of parameters, are read
	writtenAs = "="     // before a word of a name as it is written, not its stem
	ofServer  = "@"     // before a stem of the name of a server
)

// A document collects the words of one tool after the other.
type document struct {
	ix     *Index
	x      *lexicon
	weight map[int32]float64
	ideas  map[concept]float64
	stems  []string
}

// usual are the numbers of words that fields usually have. They are constants so
// that what one tool says never changes the score of another.
const (
	usualName, usualServer, usualLead, usualRest, usualParams, usualText, usualValues = 3, 1, 10, 25, 5, 15, 6
)

func (d *document) add(i int, t Tool) {
	clear(d.weight)
	clear(d.ideas)
	w, e := &d.ix.weights, &d.ix.tools[i]
	e.server, e.name = t.Server, t.Server+"_"+t.Name
	e.letters, e.bare = letters(e.name), len(letters(t.Name))
	server := words(t.Server)
	name := withoutServer(words(t.Name), server)
	d.field(name, w.name, usualName)
	d.name(e, name)
	d.field(server, w.server, usualServer)
	for _, word := range server {
		d.weight[d.term(ofServer+word.stem, false)] = w.k1
	}
	d.field(words(cut(t.Title)), w.title, usualName)
	description := cut(t.Description)
	text := words(description)
	lead := leadOf(description, text)
	d.field(text[:lead], w.lead, usualLead)
	d.field(text[lead:], w.rest, usualRest)
	s := schemaTexts(t.Schema)
	d.field(words(cut(strings.Join(s.names, " "))), w.params, usualParams)
	d.field(words(cut(strings.Join(s.descriptions, " "))), w.paramText, usualText)
	values := words(strings.Join(s.values, " "))
	d.field(values, w.values, usualValues)
	d.field(words(strings.Join(t.Tags, " ")), w.tags, usualName)
	d.about(server, name)
	e.actions = d.actions(name, text, values)
	for term, weight := range d.weight {
		d.ix.lists[term] = append(d.ix.lists[term], posting{int32(i), d.saturate(weight)})
	}
	for c, weight := range d.ideas {
		d.ix.ideas[c] = append(d.ix.ideas[c], posting{int32(i), d.saturate(weight)})
	}
}

// cut bounds a text.
func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// name adds what is known of a name besides its words: each word as it is
// written, and neighbours as one word: pull_request, pullrequest.
func (d *document) name(e *entry, name []word) {
	for i, w := range name {
		if w.parts > 0 {
			continue
		}
		d.weight[d.term(writtenAs+w.plain, false)] = d.ix.weights.k1
		if !d.x.stop[w.plain] {
			e.named = append(e.named, nameWord{strings.Clone(w.plain), d.term(w.stem, true), d.x.means(w.stem)})
			e.plural = e.plural || isPlural(w.plain)
		}
		if i > 0 && name[i-1].parts == 0 {
			d.weight[d.term(stem(name[i-1].plain+w.plain), false)] += d.ix.weights.joined
		}
	}
}

// saturate is BM25's: the tenth occurrence of a word says less than the first.
func (d *document) saturate(w float64) float32 { return float32(w / (d.ix.weights.k1 + w)) }

// field adds the words of one field of a tool. A word counts less in a long field.
func (d *document) field(list []word, weight, usual float64) {
	if len(list) == 0 || weight == 0 {
		return
	}
	length := 0
	d.stems = d.stems[:0]
	for _, w := range list {
		if !w.part {
			length++
		}
		d.stems = append(d.stems, w.stem)
	}
	if usual > usualName {
		weight /= 1 - d.ix.weights.b + d.ix.weights.b*float64(length)/usual
	}
	for i, w := range list {
		if w.part && usual > usualParams {
			continue // GitHub in a text is one word, and getUser as a name two
		}
		d.word(w.stem, w.plain, weight)
		if key, _ := d.x.phrase(d.stems, i); key != "" {
			d.word(key, "", weight)
		}
	}
}

// word adds a word and what it means.
func (d *document) word(stem, plain string, weight float64) {
	if d.x.stop[plain] {
		return
	}
	d.weight[d.term(stem, plain != "")] += weight
	for _, c := range d.x.means(stem) {
		d.ideas[c] += weight
	}
}

// term returns the number of a term, a new one if it is new.
func (d *document) term(key string, isWord bool) int32 {
	n, known := d.ix.terms[key]
	if !known {
		n = int32(len(d.ix.lists))
		key = strings.Clone(key)
		d.ix.terms[key] = n
		d.ix.lists = append(d.ix.lists, nil)
		d.ix.words = append(d.ix.words, "")
	}
	if isWord && d.ix.words[n] == "" {
		d.ix.words[n] = strings.Clone(key)
	}
	return n
}

// about adds what a product of that name is about.
func (d *document) about(server, name []word) {
	seen := map[string]bool{}
	for _, w := range append(server, name...) {
		for _, key := range d.x.about[w.stem] {
			if !seen[key] {
				seen[key] = true
				d.weight[d.term(key, false)] += d.ix.weights.about
				for _, c := range d.x.named[key] {
					d.ideas[c] += d.ix.weights.about
				}
			}
		}
	}
}

// actions returns what a tool does: what the first verb of its name says, or that
// of its description; and its values, of which one may choose what it does.
func (d *document) actions(name, text, values []word) uint64 {
	bits := d.firstAction(name) | d.firstAction(text[:min(len(text), verbWords)])
	for _, w := range values {
		if w.parts == 0 {
			bits |= d.x.bits(d.x.named[w.stem]) & (reading | writing)
		}
	}
	return bits
}

func (d *document) firstAction(list []word) uint64 {
	for _, w := range list {
		if bits := d.x.bits(d.x.means(w.stem)); bits != 0 {
			return bits
		}
	}
	return 0
}

// Actions that are the first lines of the table, as bits.
const (
	creates = 1 << iota
	deletes
	updates
	gets
	lists
	searches

	reading = gets | lists | searches
	writing = creates | deletes | updates
)

// bits returns the actions among concepts.
func (x *lexicon) bits(list []concept) uint64 {
	var bits uint64
	for _, c := range list {
		if c < x.actions && c < 64 {
			bits |= 1 << c
		}
	}
	return bits
}

// noise are words in names of tools that say nothing about them.
var noise = map[string]bool{"api": true, "mcp": true, "tool": true, "server": true}

// withoutServer removes the server's name from the front of a tool's, where many
// servers repeat it, and noise.
func withoutServer(name, server []word) []word {
	n := 0
	for n < len(name)-1 && (noise[name[n].stem] || slices.ContainsFunc(server, func(w word) bool { return w.stem == name[n].stem })) {
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
	lead := len(list)
	if end < len(description) {
		lead = len(words(description[:end]))
	}
	lead = min(lead, leadWords, len(list))
	for lead < len(list) && list[lead].part {
		lead++
	}
	return lead
}
