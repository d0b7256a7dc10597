package files

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxAnchors     = 8       // lines of the old text that are compared
	maxCompared    = 8 << 20 // bytes of the file that are looked at
	enoughLikeness = 0.5
)

// closest returns the index of the line where the lines most like old begin, or -1 if
// there is nothing much like them. It compares the longest lines of old, which count for
// more the longer they are, with all lines.
func closest(lines, old []string) int {
	var anchors []anchor
	for i, line := range old {
		if text := strings.TrimSpace(line); text != "" {
			anchors = append(anchors, anchor{index: i, line: line, text: text})
		}
	}
	slices.SortStableFunc(anchors, func(a, b anchor) int { return cmp.Compare(len(b.text), len(a.text)) })
	anchors = anchors[:min(len(anchors), maxAnchors)]
	all := 0.0
	for i := range anchors {
		anchors[i].findPairs()
		all += anchors[i].weight()
	}
	scores := make([]float64, len(lines))
	size, best, at := 0, enoughLikeness*all, -1
	for i, line := range lines {
		if size += len(line); size > maxCompared {
			break
		}
		for _, a := range anchors {
			if start := i - a.index; start >= 0 {
				scores[start] += a.weight() * a.like(line)
			}
		}
	}
	for start, score := range scores {
		if score > best {
			best, at = score, start
		}
	}
	return at
}

// anchor is a line of the old text.
type anchor struct {
	index int
	line  string
	text  string                // line without white space around it
	pairs *[1 << 16 / 64]uint64 // the set of the pairs of bytes in text
}

func (a *anchor) findPairs() {
	a.pairs = new([1 << 16 / 64]uint64)
	for i := 1; i < len(a.text); i++ {
		n := uint(a.text[i-1])<<8 | uint(a.text[i])
		a.pairs[n/64] |= 1 << (n % 64)
	}
}

func (a *anchor) weight() float64 { return float64(1 + len(a.text)) }

// like tells how much a line is like the anchor, from 0 to 1: nearly 1 if they
// differ in white space around them only, else the share of pairs of bytes that
// they have in common (about the Sørensen-Dice coefficient).
func (a *anchor) like(line string) float64 {
	if line == a.line {
		return 1
	}
	line = strings.TrimSpace(line)
	if line == a.text {
		return 0.99
	}
	if len(line) > 3*len(a.text)+8 || len(a.text) > 3*len(line)+8 {
		return 0
	}
	common := 0
	for i := 1; i < len(line); i++ {
		n := uint(line[i-1])<<8 | uint(line[i])
		common += int(a.pairs[n/64] >> (n % 64) & 1)
	}
	return min(0.98, 2*float64(common)/float64(max(1, len(line)+len(a.text)-2)))
}
