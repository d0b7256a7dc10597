// Package nearest finds the word somebody probably meant.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// maxWord bounds the words that are compared, in runes: no name is longer.
const maxWord = 64

// Word returns the candidate that is closest to word, if one is close enough to
// be a slip of the fingers: at most a third of the letters, but at least one and
// at most three, inserted, deleted, replaced or swapped with their neighbour.
// Case does not count, nor does '-' for '_'. Of equals it returns the first.
func Word(word string, candidates []string) (string, bool) {
	meant := runes(word)
	if len(meant) == 0 {
		return "", false
	}
	best, limit := "", min(max(len(meant)/3, 1), 3)
	found := false
	for _, c := range candidates {
		other := runes(c)
		if gap := len(other) - len(meant); len(other) == 0 || gap > limit || -gap > limit {
			continue
		}
		if d := distance(meant, other); d < limit || d == limit && !found {
			best, limit, found = c, d, true
		}
	}
	return best, found
}

// distance is the optimal string alignment distance of a and b, in three rows
// of the usual table.
func distance(a, b []rune) int {
	before, previous, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous, row = previous, row, before
	}
	return previous[len(b)]
}

// runes folds what people mix up, and returns nil for what is no name.
func runes(s string) []rune {
	if len(s) > maxWord*utf8.UTFMax {
		return nil
	}
	folded := []rune(strings.ReplaceAll(strings.ToLower(s), "-", "_"))
	if len(folded) > maxWord {
		return nil
	}
	return folded
}
