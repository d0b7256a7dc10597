package files

import "strings"

const (
	maxAnchors     = 3       // lines of the old text that are looked for
	maxCandidates  = 64      // places that are compared line by line
	maxCompared    = 8 << 20 // bytes of the file that are looked at
	maxWeighed     = 80      // lines of the old text that are compared
	enoughLikeness = 0.5
)

// closest returns the index of the line where the lines most like old begin, or
// -1 if there is nothing much like them. It looks for the longest lines of old
// everywhere, and compares line by line at the places most like those.
func closest(lines, old []string) int {
	anchors := anchorsOf(old)
	var found candidates
	size := 0
	for i, line := range lines {
		if size += len(line); size > maxCompared {
			break
		}
		for _, a := range anchors {
			if start := i - a.index; start >= 0 {
				found.add(start, a.like(line))
			}
		}
	}
	weighed := make([]anchor, min(len(old), maxWeighed))
	for i := range weighed {
		weighed[i] = newAnchor(i, old[i])
	}
	best, at := enoughLikeness, -1
	for _, c := range found {
		if score := likeness(lines[c.start:], weighed); score > best || score == best && at >= 0 && c.start < at {
			best, at = score, c.start
		}
	}
	return at
}

// candidates are the places most like an anchor.
type candidates []candidate

type candidate struct {
	start int
	like  float64
}

func (list *candidates) add(start int, like float64) {
	switch {
	case like < enoughLikeness:
		return
	case len(*list) < maxCandidates:
		*list = append(*list, candidate{start, like})
		return
	}
	least := 0
	for i, c := range *list {
		if c.like < (*list)[least].like {
			least = i
		}
	}
	if like > (*list)[least].like {
		(*list)[least] = candidate{start, like}
	}
}

// anchor is a line of the old text.
type anchor struct {
	index int
	line  string
	text  string   // line without white space around it
	pairs *pairSet // of text
}

// pairSet is a set of pairs of bytes.
type pairSet [1 << 16 / 64]uint64

func (p *pairSet) add(a, b byte) {
	n := uint(a)<<8 | uint(b)
	p[n/64] |= 1 << (n % 64)
}

func (p *pairSet) has(a, b byte) bool {
	n := uint(a)<<8 | uint(b)
	return p[n/64]>>(n%64)&1 == 1
}

func newAnchor(index int, line string) anchor {
	a := anchor{index: index, line: line, text: strings.TrimSpace(line), pairs: new(pairSet)}
	for i := 1; i < len(a.text); i++ {
		a.pairs.add(a.text[i-1], a.text[i])
	}
	return a
}

// anchorsOf returns the longest lines.
func anchorsOf(old []string) (list []anchor) {
	taken := make([]bool, len(old))
	for len(list) < maxAnchors {
		longest := -1
		for i, line := range old {
			if !taken[i] && strings.TrimSpace(line) != "" && (longest < 0 || len(line) > len(old[longest])) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		taken[longest] = true
		list = append(list, newAnchor(longest, old[longest]))
	}
	return list
}

// like tells how much a line is like the anchor, from 0 to 1: nearly 1 if they
// differ in white space around them only, else the share of pairs of bytes that
// they have in common (about the Sørensen-Dice coefficient).
func (a anchor) like(line string) float64 {
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
		if a.pairs.has(line[i-1], line[i]) {
			common++
		}
	}
	return min(0.98, 2*float64(common)/float64(max(1, len(line)+len(a.text)-2)))
}

// likeness tells how much the first lines are like the old ones, from 0 to 1.
// Long lines count for more.
func likeness(lines []string, old []anchor) float64 {
	sum, all := 0.0, 0.0
	for i, a := range old {
		weight := float64(1 + len(a.text))
		all += weight
		if i < len(lines) {
			sum += weight * a.like(lines[i])
		}
	}
	return sum / all
}
