// Package nearest finds the word somebody probably meant.
package nearest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxWord       = 64   // bounds the words that are compared, in runes: no name is longer
	maxCandidates = 2000 // bounds how many a word is compared with
)

// Word returns the candidate that is closest to word, if one is close enough to
// be a slip of the fingers. Of equals it returns the first, and of many
// candidates it looks at the first.
func Word(word string, candidates []string) (string, bool) {
	m, best, found := Like(word), "", false
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if d, ok := m.Distance(c); ok && (!found || d < m.limit) {
			best, m.limit, found = c, d, true
		}
	}
	return best, found
}

// Matcher compares many words with one.
type Matcher struct {
	meant []rune
	limit int // of the distance
}

// Like returns what compares with word.
func Like(word string) *Matcher {
	meant := folded(word)
	return &Matcher{meant, min(max(len(meant)/3, 1), 3)}
}

// Distance returns how many letters have to be inserted, deleted, replaced or swapped
// with their neighbour, and whether that is close enough to be a slip of the fingers: at
// most a third of the letters of the word, but at least one and at most three. Case does
// not count, nor does '-' for '_'.
func (m *Matcher) Distance(candidate string) (d int, close bool) {
	other := folded(candidate)
	if gap := len(other) - len(m.meant); len(m.meant) == 0 || len(other) == 0 || gap > m.limit || -gap > m.limit {
		return 0, false
	}
	d = distance(m.meant, other, m.limit)
	return d, d <= m.limit
}

// distance is the optimal string alignment distance of a and b, or more than limit if that is.
func distance(a, b []rune, limit int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if len(a) == 0 || len(b) == 0 || limit == 0 {
		return len(a) + len(b)
	}
	d := min(distance(a[1:], b, limit-1), distance(a, b[1:], limit-1), distance(a[1:], b[1:], limit-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, distance(a[2:], b[2:], limit-1))
	}
	return d + 1
}

// folded returns the letters of s without what people mix up, or nothing if it is no name.
func folded(s string) []rune {
	if len(s) > maxWord*utf8.UTFMax || utf8.RuneCountInString(s) > maxWord {
		return nil
	}
	return []rune(strings.ReplaceAll(strings.ToLower(s), "-", "_"))
}

// A Named is something that has a name, and others that people and models give it.
type Named struct {
	Name string
	Also []string
	Hint string // what to say to those who use the others
}

// Called returns the one that has a name, or that people call so, however the name is written.
func Called(word string, all []Named) (Named, bool) {
	is := func(other string) bool { return Plain(other) == Plain(word) }
	if i := slices.IndexFunc(all, func(n Named) bool { return is(n.Name) || slices.ContainsFunc(n.Also, is) }); i >= 0 {
		return all[i], true
	}
	return Named{}, false
}

// Meant returns the one that a word that is no name probably means: what is called so, or else what is
// spelled like it, as it is called here or by others.
func Meant(word string, all []Named) (meant Named, ok bool) {
	if meant, ok = Called(word, all); ok {
		return meant, ok
	}
	var names, others []string
	for _, n := range all {
		names, others = append(names, n.Name), append(others, n.Also...)
	}
	if near, ok := Word(word, names); ok {
		return Named{Name: near}, true
	}
	near, _ := Word(word, others)
	return Called(near, all)
}

// Plain folds the ways to write a name of several words: case, and what is between them. Of what is too
// long for a name nothing is left.
func Plain(name string) string {
	if len(name) > maxWord {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ', '/':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Tool returns the candidates that a caller may have meant with the tool word, the most likely first: those
// that others, folded as [Plain] does it, has for it, or else by its spelling. Known tells that word is of those.
func Tool(word string, candidates []string, others map[string][]string) (meant []string, known bool) {
	folded := Plain(word)
	for _, c := range candidates {
		if folded != "" && Plain(c) == folded {
			return []string{c}, true
		}
	}
	names, known := others[folded]
	for _, name := range names {
		if slices.Contains(candidates, name) {
			meant = append(meant, name)
		}
	}
	if near, ok := Word(word, candidates); ok && !known { // else it is no slip
		meant = []string{near}
	}
	return meant, known
}
