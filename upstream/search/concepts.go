package search

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// The files of words:
//
//   - stop: the words of requests that say nothing about a tool
//   - foreign: those of other languages. Some are words of tools, such as die and
//     os: a word in the name of a tool counts
//   - actions: what tools do, and the words for it. A line is the words by which
//     tools are named, a colon, and further words by which people ask. The words of
//     a phrase are joined by _
//   - things: what tools work on, in lines as those of actions
//   - same: words that mean the same: short and irregular forms, and products
//     people call by another name
//   - products: well-known products and services, and what they are about: words
//     by which people ask for them without their name
//   - files: extensions of files, and the parts of tool names that fit them
//
//go:embed words/*.txt
var tables embed.FS

func wordsOf(file string) string {
	text, _ := tables.ReadFile("words/" + file + ".txt") // it is there
	return string(text)
}

// A concept is one line of the table: something tools do, or something they work
// on, by whatever name. It is a term: its first word, or its number, after a mark.
const (
	anAction = "!"
	aThing   = "#"
)

// reading are the actions of most tools that change nothing.
var reading = []string{"!get", "!list", "!search"}

// actionsAmong returns those of concepts that are actions.
func actionsAmong(concepts []string) (found []string) {
	for _, c := range concepts {
		if strings.HasPrefix(c, anAction) {
			found = append(found, c)
		}
	}
	return found
}

// A lexicon is the table in a form for looking up. Keys are stems; those of a
// phrase are joined by a space.
type lexicon struct {
	asked   map[string][]string // concepts by words of people: both sides of the colon
	named   map[string][]string // concepts by words of tools: the left side
	same    map[string][]string // words that mean the same
	about   map[string][]string // product: words that say what it is about
	phrases map[string][]phrase // by their first word
	stop    map[string]bool
	foreign map[string]bool
	pieces  map[string]bool // words in scripts without spaces
	longest int             // of those, in runes
	sorted  []string        // keys of asked
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
		asked: map[string][]string{}, named: map[string][]string{},
		same: map[string][]string{}, about: map[string][]string{},
		phrases: map[string][]phrase{}, stop: map[string]bool{}, foreign: map[string]bool{}, pieces: map[string]bool{},
	}
	for _, w := range strings.Fields(wordsOf("stop")) {
		x.stop[fold(w)] = true
	}
	for _, w := range strings.Fields(wordsOf("foreign")) {
		x.foreign[fold(w)] = true
		x.piece(w)
	}
	x.concepts(anAction, wordsOf("actions"))
	x.concepts(aThing, wordsOf("things"))
	for _, unit := range strings.Fields(units) {
		for _, which := range []string{"next", "last", "this", "past", "every", "previous"} {
			first := stem(which)
			x.phrases[first] = append(x.phrases[first], phrase{[]string{stem(unit)}, first + " " + stem(unit) + whenMark})
		}
	}
	x.sorted = slices.Sorted(maps.Keys(x.asked))
	for line := range strings.Lines(wordsOf("same")) {
		keys := x.keys(line)
		for _, k := range keys {
			for _, other := range keys {
				if other != k {
					x.same[k] = append(x.same[k], other)
				}
			}
		}
	}
	for line := range strings.Lines(wordsOf("products")) {
		name, about, _ := strings.Cut(line, ":")
		for _, k := range x.keys(name) {
			x.about[k] = x.keys(about)
		}
	}
	return x
})

// concepts reads lines of words of tools, a colon, and words of people.
func (x *lexicon) concepts(mark, lines string) {
	number := 0
	for line := range strings.Lines(lines) {
		named, asked, _ := strings.Cut(line, ":")
		keys := x.keys(named)
		if len(keys) == 0 {
			continue
		}
		concept := mark + keys[0]
		if mark == aThing { // whose first words are not all different
			number++
			concept = mark + strconv.Itoa(number)
		}
		for _, k := range keys {
			x.named[k] = add(x.named[k], concept)
			x.asked[k] = add(x.asked[k], concept)
		}
		for _, k := range x.keys(asked) {
			x.asked[k] = add(x.asked[k], concept)
		}
	}
}

// means returns what a word of a tool means. A searcher searches.
func (x *lexicon) means(key string) []string {
	if list := x.named[key]; len(list) > 0 || len(key) < 5 {
		return list
	}
	if verb, is := strings.CutSuffix(key, "er"); is {
		for _, verb := range []string{verb, undouble(verb)} {
			if list := x.named[verb]; len(actionsAmong(list)) > 0 {
				return list
			}
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

// split splits text of a script without spaces into the words of the table,
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

func add(list []string, c string) []string {
	if n := len(list); n > 0 && list[n-1] == c {
		return list
	}
	return append(list, c)
}
