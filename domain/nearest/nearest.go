// Package nearest finds the word somebody probably meant.
package nearest

import (
	"unicode"
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

// Matcher compares many words with one. It is not safe for concurrent use.
type Matcher struct {
	meant []rune
	limit int // of the distance
	other []rune
	rows  [3][maxWord + 1]int
}

// Like returns what compares with word.
func Like(word string) *Matcher {
	m := &Matcher{other: make([]rune, 0, maxWord)}
	m.meant = appendFolded(make([]rune, 0, maxWord), word)
	m.limit = min(max(len(m.meant)/3, 1), 3)
	return m
}

// Distance returns how many letters have to be inserted, deleted, replaced or swapped
// with their neighbour, and whether that is close enough to be a slip of the fingers: at
// most a third of the letters of the word, but at least one and at most three. Case does
// not count, nor does '-' for '_'.
func (m *Matcher) Distance(candidate string) (d int, close bool) {
	m.other = appendFolded(m.other[:0], candidate)
	if gap := len(m.other) - len(m.meant); len(m.meant) == 0 || len(m.other) == 0 || gap > m.limit || -gap > m.limit {
		return 0, false
	}
	d = m.distance(trim(m.meant, m.other))
	return d, d <= m.limit
}

// trim returns a and b without what both begin and end with, which does not change
// their distance.
func trim(a, b []rune) (x, y []rune) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// distance is the optimal string alignment distance of a and b, in three rows
// of the usual table. It may return less once it exceeds the limit.
func (m *Matcher) distance(a, b []rune) int {
	before, previous, row := &m.rows[0], &m.rows[1], &m.rows[2]
	for j := range len(b) + 1 {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > m.limit+1 { // + 1, as a swap looks two rows back
			return least
		}
		before, previous, row = previous, row, before
	}
	return previous[len(b)]
}

// appendFolded appends the letters of s without what people mix up, or nothing if it
// is no name.
func appendFolded(folded []rune, s string) []rune {
	if len(s) > maxWord*utf8.UTFMax {
		return folded
	}
	for _, r := range s {
		if len(folded) == maxWord {
			return folded[:0]
		}
		if r = unicode.ToLower(r); r == '-' {
			r = '_'
		}
		folded = append(folded, r)
	}
	return folded
}
