package search

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/nearest"
)

// guess finds what a word that no tool has may stand for: an inflected form of a
// word of the table or of a tool, or a compound, or a slip of the fingers.
func (s *search) guess(sl *slot, w word) {
	if utf8.RuneCountInString(w.plain) < 4 {
		return
	}
	var found []string
	if a, b, ok := s.split(w.plain); ok {
		found = []string{a, b}
	} else if key := s.inflected(w.stem); key != "" {
		found = []string{key}
	} else if near := s.misspelt(w.stem); near != "" {
		found = []string{near}
		sl.near = s.spelt(near)
	}
	sl.keys = append(sl.keys, found...)
	for _, key := range found {
		s.alternatives(sl, key, nearWeight)
		s.concepts(sl, key, false)
	}
}

// split takes a compound apart: Projektordner, changelog.
func (s *search) split(w string) (a, b string, ok bool) {
	for i := len(w) - 3; i >= 3; i-- {
		if !utf8.RuneStart(w[i]) || !s.knows(stem(w[i:])) {
			continue
		}
		for _, front := range []string{w[:i], strings.TrimSuffix(w[:i], "s")} {
			if s.knows(stem(front)) {
				return stem(front), stem(w[i:]), true
			}
		}
	}
	return "", "", false
}

// knows reports whether a stem is one of the table or of a tool.
func (s *search) knows(key string) bool {
	return len(key) > 2 && (len(s.x.asked[key]) > 0 || s.having(key) != nil)
}

// inflected returns the word of the table or of a tool that begins as w does and
// ends otherwise: Nachrichten, availability.
func (s *search) inflected(w string) string {
	if len(w) < 5 {
		return ""
	}
	best, length := "", 0
	for _, list := range [][]string{s.x.sorted, s.ix.stems} {
		at, _ := slices.BinarySearch(list, w[:4])
		for ; at < len(list) && strings.HasPrefix(list[at], w[:4]); at++ {
			if n := common(list[at], w); n >= 4 && n*100 >= 65*max(len(list[at]), len(w)) &&
				(n > length || n == length && len(list[at]) < len(best)) && s.knows(list[at]) {
				best, length = list[at], n
			}
		}
	}
	return best
}

// common returns the length of what a and b begin with.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// spelt returns how the name of a tool spells a stem, or the stem if none has it.
func (s *search) spelt(stem string) string {
	for t, e := range s.ix.tools {
		if i := slices.IndexFunc(e.named, func(w nameWord) bool { return w.stem == stem }); i >= 0 && s.kept[t] {
			return e.named[i].plain
		}
	}
	return stem
}

// misspelt returns the stem of a tool's word that the stem w is probably a slip of.
func (s *search) misspelt(w string) string {
	limit := min(max(len(w)/4, 1), 2)
	var candidates []string
	for _, c := range s.ix.stems {
		if gap := len(c) - len(w); len(c) >= 3 && gap <= limit && -gap <= limit && len(s.having(c)) > 0 {
			candidates = append(candidates, c)
		}
	}
	near, _ := nearest.Word(w, candidates)
	return near
}
