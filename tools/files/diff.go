package files

import (
	"fmt"
	"strings"
)

const (
	diffContext = 3
	// maxDistance bounds the work of a diff: lines added and removed between
	// the first and the last change. Memory grows with its square.
	maxDistance = 1000
)

// unifiedDiff returns the changes from a to b as a unified diff of at most room
// bytes, or a little more if one line is longer. What does not fit is left out,
// which a last line says.
func unifiedDiff(path, a, b string, room int) string {
	old, new := diffLines(a), diffLines(b)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	left := 0
	for _, h := range hunks(changes(old, new), len(old)) {
		text := h.format(old, new)
		if left == 0 && (out.Len()+len(text) <= room) {
			out.WriteString(text)
			continue
		}
		if left == 0 {
			cut := strings.LastIndexByte(text[:max(0, min(len(text), room-out.Len()))], '\n') + 1
			out.WriteString(text[:cut])
			text = text[cut:]
		}
		left += strings.Count(text, "\n")
	}
	if left > 0 {
		fmt.Fprintf(&out, "[%d more lines of the diff]\n", left)
	}
	return out.String()
}

// diffLines returns the lines of text with their ends.
func diffLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// change says that old lines [a0,a1) became new lines [b0,b1).
type change struct{ a0, a1, b0, b1 int }

// changes returns what differs, in order.
func changes(old, new []string) []change {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	a, b := old[head:len(old)-tail], new[head:len(new)-tail]
	list := shortestEdit(a, b)
	for i := range list {
		c := &list[i]
		c.a0, c.a1, c.b0, c.b1 = c.a0+head, c.a1+head, c.b0+head, c.b1+head
	}
	return list
}

// shortestEdit is Myers' algorithm (An O(ND) Difference Algorithm and Its
// Variations, 1986). For texts that are too different it compares line by line
// if they have as many, and else takes all for changed.
func shortestEdit(a, b []string) []change {
	if len(a) == 0 || len(b) == 0 {
		return nonEmpty(change{0, len(a), 0, len(b)})
	}
	var t trace
	for d := 0; d <= min(maxDistance, len(a)+len(b)); d++ {
		row := make([]int32, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := t.next(d, k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			row[k+d] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return t.edits(d, len(a), len(b))
			}
		}
		t = append(t, row)
	}
	if len(a) == len(b) {
		return pairwise(a, b)
	}
	return []change{{0, len(a), 0, len(b)}}
}

// trace holds, by number of edits d and at index k+d, how far in a the furthest
// path of d edits gets on diagonal k, which is the place in a less that in b.
type trace [][]int32

func (t trace) at(d, k int) int { return int(t[d][k+d]) }

// adds tells whether the d-th edit of the furthest path to diagonal k adds a
// line, coming from the diagonal above, or removes one.
func (t trace) adds(d, k int) bool {
	return k == -d || k != d && t.at(d-1, k-1) < t.at(d-1, k+1)
}

// next returns where in a the d-th edit leads on diagonal k.
func (t trace) next(d, k int) int {
	switch {
	case d == 0:
		return 0
	case t.adds(d, k):
		return t.at(d-1, k+1)
	}
	return t.at(d-1, k-1) + 1
}

// edits returns the d edits of the path to the end, x in a and y in b, those
// that touch joined.
func (t trace) edits(d, x, y int) []change {
	steps := make([]change, d)
	for ; d > 0; d-- {
		k := x - y
		if t.adds(d, k) {
			x = t.at(d-1, k+1)
			y = x - (k + 1)
			steps[d-1] = change{x, x, y, y + 1}
		} else {
			x = t.at(d-1, k-1)
			y = x - (k - 1)
			steps[d-1] = change{x, x + 1, y, y}
		}
	}
	var list []change
	for _, s := range steps {
		if n := len(list); n > 0 && list[n-1].a1 == s.a0 && list[n-1].b1 == s.b0 {
			list[n-1].a1, list[n-1].b1 = s.a1, s.b1
		} else {
			list = append(list, s)
		}
	}
	return list
}

func pairwise(a, b []string) []change {
	var list []change
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if n := len(list); n > 0 && list[n-1].a1 == i {
			list[n-1].a1, list[n-1].b1 = i+1, i+1
		} else {
			list = append(list, change{i, i + 1, i, i + 1})
		}
	}
	return list
}

func nonEmpty(c change) []change {
	if c.a0 == c.a1 && c.b0 == c.b1 {
		return nil
	}
	return []change{c}
}
