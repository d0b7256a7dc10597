package search

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A concept is one line of the table: something tools do, or something they work
// on, by whatever name.
type concept int32

// A lexicon is the table in a form for looking up. Keys are stems; those of a
// phrase are joined by a space.
type lexicon struct {
	asked   map[string][]concept // words of people: both sides of the colon
	named   map[string][]concept // words of tools: the left side
	same    map[string][]string  // words that mean the same
	about   map[string][]string  // product: words that say what it is about
	phrases map[string][]phrase  // by their first word
	stop    map[string]bool
	foreign map[string]bool
	pieces  map[string]bool // words in scripts without spaces
	longest int             // of those, in runes
	actions concept         // concepts below are actions
	total   concept
	sorted  []string // keys of asked
}

// units follow next and last where they say when, which says nothing about a tool.
const units = "week month year day hour minute quarter night time weekend morning evening " +
	"monday tuesday wednesday thursday friday saturday sunday"

// whenMark ends the keys of phrases that say when.
const whenMark = " when"

// A phrase is several words that mean one thing.
type phrase struct {
	rest []string // stems after the first
	key  string
}

// table is the lexicon; it takes about a millisecond to read, once.
var table = sync.OnceValue(func() *lexicon {
	x := &lexicon{
		asked: map[string][]concept{}, named: map[string][]concept{},
		same: map[string][]string{}, about: map[string][]string{},
		phrases: map[string][]phrase{}, stop: map[string]bool{}, foreign: map[string]bool{}, pieces: map[string]bool{},
	}
	for _, w := range strings.Fields(stopWords) {
		x.stop[fold(w)] = true
	}
	for _, w := range strings.Fields(foreignStopWords) {
		x.foreign[fold(w)] = true
		x.piece(w)
	}
	x.concepts(actions)
	x.actions = x.total
	x.concepts(things)
	for _, unit := range strings.Fields(units) {
		for _, which := range []string{"next", "last", "this", "past", "every", "previous"} {
			first := stem(which)
			x.phrases[first] = append(x.phrases[first], phrase{[]string{stem(unit)}, first + " " + stem(unit) + whenMark})
		}
	}
	x.sorted = slices.Sorted(maps.Keys(x.asked))
	for line := range strings.Lines(same) {
		keys := x.keys(line)
		for _, k := range keys {
			for _, other := range keys {
				if other != k {
					x.same[k] = append(x.same[k], other)
				}
			}
		}
	}
	for line := range strings.Lines(products) {
		name, about, _ := strings.Cut(line, ":")
		for _, k := range x.keys(name) {
			x.about[k] = x.keys(about)
		}
	}
	return x
})

// concepts reads lines of words of tools, a colon, and words of people.
func (x *lexicon) concepts(lines string) {
	for line := range strings.Lines(lines) {
		named, asked, _ := strings.Cut(line, ":")
		keys := x.keys(named)
		if len(keys) == 0 {
			continue
		}
		for _, k := range keys {
			x.named[k] = add(x.named[k], x.total)
			x.asked[k] = add(x.asked[k], x.total)
		}
		for _, k := range x.keys(asked) {
			x.asked[k] = add(x.asked[k], x.total)
		}
		x.total++
	}
}

// means returns what a word of a tool means. A searcher searches.
func (x *lexicon) means(key string) []concept {
	if list := x.named[key]; len(list) > 0 || len(key) < 5 {
		return list
	}
	verb, is := strings.CutSuffix(key, "er")
	if !is {
		return nil
	}
	for _, verb := range []string{verb, undouble(verb)} {
		if list := x.named[verb]; len(list) > 0 && list[0] < x.actions {
			return list
		}
	}
	return nil
}

// keys returns the keys of a line's words, and notes its phrases.
func (x *lexicon) keys(line string) []string {
	var keys []string
	for _, field := range strings.Fields(line) {
		var stems []string
		for part := range strings.SplitSeq(field, "_") {
			stems = append(stems, stem(fold(part)))
		}
		key := strings.Join(stems, " ")
		keys = append(keys, key)
		if len(stems) > 1 {
			known := false
			for _, p := range x.phrases[stems[0]] {
				known = known || p.key == key
			}
			if !known {
				x.phrases[stems[0]] = append(x.phrases[stems[0]], phrase{rest: stems[1:], key: key})
			}
		}
		x.piece(field)
	}
	return keys
}

// piece notes a word in a script without spaces.
func (x *lexicon) piece(w string) {
	if r, _ := utf8.DecodeRuneInString(w); unspaced(r) {
		w = fold(w)
		x.pieces[w] = true
		x.longest = max(x.longest, utf8.RuneCountInString(w))
	}
}

// cut splits text of a script without spaces into the words of the table,
// longest first. What is in none is one word.
func (x *lexicon) split(w string) []string {
	var found []string
	runes := []rune(w)
	unknown := 0
	for i := 0; i < len(runes); {
		n := min(x.longest, len(runes)-i)
		for ; n > 0 && !x.pieces[string(runes[i:i+n])]; n-- {
		}
		if n == 0 {
			unknown++
			i++
			continue
		}
		if unknown > 0 {
			found = append(found, string(runes[i-unknown:i]))
			unknown = 0
		}
		found = append(found, string(runes[i:i+n]))
		i += n
	}
	if unknown > 0 {
		found = append(found, string(runes[len(runes)-unknown:]))
	}
	return found
}

// phrase returns the longest phrase that begins at stems[i], and its length.
func (x *lexicon) phrase(stems []string, i int) (string, int) {
	best, length := "", 1
next:
	for _, p := range x.phrases[stems[i]] {
		if i+1+len(p.rest) > len(stems) || len(p.rest) < length {
			continue
		}
		for j, s := range p.rest {
			if stems[i+1+j] != s {
				continue next
			}
		}
		best, length = p.key, len(p.rest)+1
	}
	return best, length
}

func add(list []concept, c concept) []concept {
	if n := len(list); n > 0 && list[n-1] == c {
		return list
	}
	return append(list, c)
}
