package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A slot is one word or phrase of the query: all that may stand for it. A tool
// gets the best of them, once.
type slot struct {
	plain        string
	keys         []string // stems it can be found by
	alternatives []alternative
	action       uint64
	verb         bool   // says only what to do
	extra        bool   // is no word of the person's: it counts, but is not missed
	near         string // word of a tool that was taken instead
}

// An alternative is the tools that have one of the words for a slot.
type alternative struct {
	list   []posting
	weight float64
}

// questions are the first words of what asks to read, not to change.
var questions = strings.Fields("what which who whose when where how why is are does did was were has have any " +
	"welche welcher welches wer wo wann wieviele gibt quel quelle quels quelles qui que quoi combien ou quando " +
	"cual cuales quien cuando cuantos donde quale quali chi quanti dove qual quais quem quantos welke wie wat hoeveel " +
	"какой какие кто где сколько когда")

// amounts follow how in a question; what else follows it is something to do.
var amounts = strings.Fields("many much big large long far old often fast is are was were did does")

// read makes slots of the query's words.
func (s *search) read(query string) {
	s.used = map[concept]bool{}
	seen := map[string]bool{}
	list := s.whole(words(query))
	list = list[:min(len(list), maxQueryWords)]
	if len(list) > 1 && slices.Contains(questions, list[0].plain) {
		s.asks = list[0].plain != "how" || slices.Contains(amounts, list[1].plain)
	}
	stems := make([]string, len(list))
	for i, w := range list {
		stems[i] = w.stem
	}
	for i, length := 0, 1; i < len(list); i += length {
		var key string
		if key, length = s.x.phrase(stems, i); key == "" {
			if key = stems[i]; s.stops(list[i].plain) {
				continue
			}
		}
		if seen[key] || strings.HasSuffix(key, whenMark) {
			continue
		}
		seen[key] = true
		s.slots = append(s.slots, s.slot(key, list[i:i+length]))
	}
	s.pairs(list)
}

// stops reports whether a word of the query says nothing about a tool. A number
// is an argument.
func (s *search) stops(plain string) bool {
	switch {
	case s.x.stop[plain], strings.Trim(plain, "0123456789") == "", len(plain) < 2:
		return true
	case s.x.foreign[plain]:
		return s.term(writtenAs+plain) == nil
	}
	return false
}

// whole returns the words of a query: of a word with parts the whole if a tool
// has it, or else the parts; of text without spaces the words of the table.
func (s *search) whole(list []word) []word {
	var result []word
	for i := 0; i < len(list); i++ {
		w := list[i]
		r, _ := utf8.DecodeRuneInString(w.plain)
		switch {
		case unspaced(r):
			for _, p := range s.x.split(w.plain) {
				result = append(result, word{plain: p, stem: p})
			}
		case w.parts == 0:
			result = append(result, w)
		case s.knows(w.stem):
			result = append(result, w)
			i += w.parts
		}
	}
	return result
}

// slot returns the slot of one word, or of the words of a phrase.
func (s *search) slot(key string, list []word) slot {
	sl := slot{plain: list[0].plain}
	for _, p := range list[1:] {
		sl.plain += " " + p.plain
	}
	s.alternatives(&sl, key, 1)
	exact := len(sl.alternatives) > 0
	for _, other := range s.x.same[key] {
		s.alternatives(&sl, other, s.weights.same)
	}
	s.concepts(&sl, key, exact)
	for _, other := range s.x.same[key] {
		s.concepts(&sl, other, exact)
	}
	sl.keys = append([]string{key}, s.x.same[key]...)
	switch {
	case len(list) > 1:
		for _, p := range list {
			sl.keys = append(sl.keys, p.stem)
			if !exact && !s.stops(p.plain) {
				s.alternatives(&sl, p.stem, s.weights.concept)
			}
		}
	case len(sl.alternatives) == 0:
		s.guess(&sl, list[0])
	}
	sl.action = s.x.bits(s.x.asked[key])
	sl.verb = sl.action != 0 && !slices.ContainsFunc(s.x.asked[key], func(c concept) bool { return c >= s.x.actions })
	return sl
}

// alternatives adds the tools that have a word.
func (s *search) alternatives(sl *slot, key string, weight float64) {
	if list := s.term(key); list != nil {
		sl.alternatives = append(sl.alternatives, alternative{list, weight})
	}
}

// concepts adds the tools that have another word of the same meaning. A meaning
// that an earlier word had counts less; that of a word no tool has counts more.
func (s *search) concepts(sl *slot, key string, exact bool) {
	for _, c := range s.x.asked[key] {
		list := s.ix.ideas[c]
		if s.size(list) == 0 {
			continue
		}
		weight := s.weights.concept
		if !exact {
			weight = s.weights.only
		}
		if s.used[c] {
			weight *= s.weights.repeat
		}
		s.used[c] = true
		sl.alternatives = append(sl.alternatives, alternative{list, weight})
	}
}

// pairs adds neighbours in the query that are one word for some tools, git hub,
// words that a name has in the same form, and names of servers.
func (s *search) pairs(list []word) {
	for i, w := range list {
		if s.stops(w.plain) {
			continue
		}
		if len(s.x.about[w.stem]) > 0 || len(s.x.asked[w.stem]) == 0 { // a product, and no common word
			for _, key := range append([]string{w.stem}, s.x.same[w.stem]...) {
				if found := s.term(ofServer + key); found != nil {
					s.slots = append(s.slots, slot{alternatives: []alternative{{found, s.weights.product}}, extra: true})
				}
			}
		}
		if found := s.term(writtenAs + w.plain); found != nil {
			s.slots = append(s.slots, slot{alternatives: []alternative{{found, s.weights.form}}, extra: true})
		}
		if i == 0 || w.plain == list[i-1].plain || s.stops(list[i-1].plain) {
			continue
		}
		joined := list[i-1].plain + w.plain
		if found := s.term(stem(joined)); found != nil {
			s.slots = append(s.slots, slot{plain: joined, alternatives: []alternative{{found, s.weights.pair}}, extra: true})
		}
	}
}
