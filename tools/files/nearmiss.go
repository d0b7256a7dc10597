package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	maxShownLines  = 20      // of the closest place
	maxShownLine   = 200     // bytes of each
	maxAnchors     = 8       // lines of the old text that are compared
	maxCompared    = 8 << 20 // bytes of the file that are looked at
	enoughLikeness = 0.5
)

// noMatch answers for an edit whose old text is not in the file: it shows the
// place that is most like it, and how it differs.
func noMatch(path, text string, i int, e edit) error {
	message := fmt.Sprintf("edits[%d].old_text does not occur in %s%s; nothing was written", i, path, afterEdits(i))
	const hint = "Copy old_text from the file as it is, with all white space, and call edit_file again."
	if strings.Contains(e.OldText, "\r") && strings.Contains(text, strings.ReplaceAll(e.OldText, "\r\n", "\n")) {
		return failed("no_match", message+". It occurs with line ends LF, which the file has, and not CR LF.",
			"Write the line ends in old_text as \\n.")
	}
	lines, old := splitLines(text), splitLines(e.OldText)
	at := closest(lines, old)
	if at < 0 {
		return failed("no_match", message+", and nothing in it is much like it.",
			fmt.Sprintf("Call read_file(path=%q) for what is in it, or grep to find the place.", path))
	}
	to := min(at+len(old), len(lines))
	var b strings.Builder
	fmt.Fprintf(&b, "%s. The closest place is line %d", message, at+1)
	if to > at+1 {
		fmt.Fprintf(&b, " to %d", to)
	}
	b.WriteString(":\n")
	for n := at; n < min(to, at+maxShownLines); n++ {
		fmt.Fprintf(&b, "%d\t%s\n", n+1, brief.Clip(lines[n], maxShownLine))
	}
	if to-at > maxShownLines {
		fmt.Fprintf(&b, "[%d more lines]\n", to-at-maxShownLines)
	}
	b.WriteString(firstDifference(lines[at:to], old, at))
	return failed("no_match", b.String(), hint)
}

// splitLines returns the lines of text without their ends.
func splitLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// firstDifference says how the first line that differs does.
func firstDifference(have, want []string, at int) string {
	for i, line := range want {
		if i == len(have) {
			return fmt.Sprintf("The file ends before line %d of old_text.", i+1)
		}
		if line != have[i] {
			verb := "%q"
			if norm.NFC.String(have[i]) == norm.NFC.String(line) {
				verb = "%+q" // in ASCII, as they look the same
			}
			return fmt.Sprintf("Line %d differs in %s:\n  in the file: "+verb+"\n  in old_text: "+verb,
				at+i+1, difference(have[i], line), brief.Clip(have[i], maxShownLine), brief.Clip(line, maxShownLine))
		}
	}
	return "The lines are the same; old_text differs in how it begins or ends."
}

// difference names what two lines differ in.
func difference(a, b string) string {
	indent := func(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
	plain := strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201C", `"`, "\u201D", `"`, "\u2013", "-", "\u2014", "-", "\u00A0", " ")
	switch {
	case strings.TrimSpace(a) == strings.TrimSpace(b) && indent(a) != indent(b):
		return "indentation"
	case strings.TrimSpace(a) == strings.TrimSpace(b):
		return "white space at the end"
	case squashed(a) == squashed(b):
		return "white space"
	case norm.NFC.String(a) == norm.NFC.String(b):
		return "how characters are composed (Unicode NFC or NFD), which looks the same"
	case strings.EqualFold(a, b):
		return "upper and lower case"
	case plain.Replace(a) == plain.Replace(b):
		return "the kind of quotation marks, dashes or spaces"
	case strings.HasSuffix(b, a) && lineNumber().MatchString(strings.TrimSuffix(b, a)):
		return "a line number, which is not part of the file"
	}
	return "text"
}

var lineNumber = lazyregexp.New(`^\s*\d+\s*$`)

// squashed returns a line with its white space made alike.
func squashed(s string) string { return strings.Join(strings.Fields(s), " ") }

// closest returns the index of the line where the lines most like old begin, or -1 if
// there is nothing much like them. It compares the longest lines of old, which count for
// more the longer they are, with all lines.
func closest(lines, old []string) int {
	var anchors []*anchor
	for i, line := range old {
		if text := strings.TrimSpace(line); text != "" {
			anchors = append(anchors, &anchor{index: i, line: line, text: text})
		}
	}
	slices.SortStableFunc(anchors, func(a, b *anchor) int { return cmp.Compare(len(b.text), len(a.text)) })
	anchors = anchors[:min(len(anchors), maxAnchors)]
	all, scores := 0, make([]float64, len(lines))
	for _, a := range anchors {
		all += len(a.text)
		for i := 1; i < len(a.text); i++ {
			a.pairs[pair(a.text, i)] = true
		}
		size := 0
		for start := range lines[:max(len(lines)-a.index, 0)] {
			line := lines[start+a.index]
			if size += len(line); size > maxCompared {
				break
			}
			scores[start] += float64(len(a.text)) * a.like(line)
		}
	}
	best, at := enoughLikeness*float64(all), -1
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
	text  string        // line without white space around it
	pairs [1 << 16]bool // the pairs of bytes in text
}

// pair returns the bytes of s before and at i as a number.
func pair(s string, i int) uint16 { return uint16(s[i-1])<<8 | uint16(s[i]) }

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
		if a.pairs[pair(line, i)] {
			common++
		}
	}
	return min(0.98, 2*float64(common)/float64(max(1, len(line)+len(a.text)-2)))
}
