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
	actions      []string
	verb         bool   // says only what to do
	extra        bool   // is no word of the person's: it counts, but is not missed
	near         string // word of a tool that was taken instead
}

// An alternative is the tools that have one of the words for a slot.
type alternative struct {
	list   []posting
	weight float64
}

// What counts beside a word of the query itself: another of the same concept, a meaning
// the query has already, a guess, and the very form of a word.
const conceptWeight, repeated, nearWeight, formWeight = 0.6, 0.7, 0.6, 0.15

// questions are the first words of what asks to read, not to change.
var questions = strings.Fields("what which who whose when where how why is are does did was were has have any " +
	"welche welcher welches wer wo wann wieviele gibt quel quelle quels quelles qui que quoi combien ou quando " +
	"cual cuales quien cuando cuantos donde quale quali chi quanti dove qual quais quem quantos welke wie wat hoeveel " +
	"какой какие кто где сколько когда")

// amounts follow how in a question; what else follows it is something to do.
var amounts = strings.Fields("many much big large long far old often fast is are was were did does")

// read makes slots of the query's words.
func (s *search) read(query string) {
	s.used = map[string]bool{}
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
	s.extras(list)
}

// stops reports whether a word of the query says nothing about a tool. A number
// is an argument.
func (s *search) stops(plain string) bool {
	switch {
	case s.x.stop[plain], strings.Trim(plain, "0123456789") == "", len(plain) < 2:
		return true
	case s.x.foreign[plain]:
		return s.having(writtenAs+plain) == nil
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
		s.alternatives(&sl, other, 1)
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
				s.alternatives(&sl, p.stem, conceptWeight)
			}
		}
	case len(sl.alternatives) == 0:
		s.guess(&sl, list[0])
	}
	sl.actions = actionsAmong(s.x.asked[key])
	sl.verb = len(sl.actions) > 0 && len(sl.actions) == len(s.x.asked[key])
	return sl
}

// alternatives adds the tools that have a word.
func (s *search) alternatives(sl *slot, key string, weight float64) {
	if list := s.having(key); list != nil {
		sl.alternatives = append(sl.alternatives, alternative{list, weight})
	}
}

// concepts adds the tools that have another word of the same meaning. A meaning
// that an earlier word had counts less; that of a word no tool has counts more.
func (s *search) concepts(sl *slot, key string, exact bool) {
	for _, c := range s.x.asked[key] {
		list := s.having(c)
		if len(list) == 0 {
			continue
		}
		weight := conceptWeight
		if !exact {
			weight = 1
		}
		if s.used[c] {
			weight *= repeated
		}
		s.used[c] = true
		sl.alternatives = append(sl.alternatives, alternative{list, weight})
	}
}

// extras adds words that a name has in the same form, and names of servers.
func (s *search) extras(list []word) {
	extra := func(term string, weight float64) {
		if found := s.having(term); found != nil {
			s.slots = append(s.slots, slot{alternatives: []alternative{{found, weight}}, extra: true})
		}
	}
	for _, w := range list {
		if s.stops(w.plain) {
			continue
		}
		for _, key := range append([]string{w.stem}, s.x.same[w.stem]...) {
			extra(ofServer+key, 1)
		}
		extra(writtenAs+w.plain, formWeight)
	}
}
