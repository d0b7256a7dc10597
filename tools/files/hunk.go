package files

import (
	"fmt"
	"strings"
)

// hunk is a run of changes whose context touches.
type hunk struct {
	changes  []change
	from, to int // old lines, with context
}

// hunks groups changes to a text of n lines.
func hunks(list []change, n int) (grouped []hunk) {
	for _, c := range list {
		from, to := max(0, c.a0-diffContext), min(n, c.a1+diffContext)
		if k := len(grouped); k > 0 && from <= grouped[k-1].to {
			h := &grouped[k-1]
			h.changes, h.to = append(h.changes, c), to
			continue
		}
		grouped = append(grouped, hunk{[]change{c}, from, to})
	}
	return grouped
}

// format writes the hunk as POSIX diff -u does.
func (h hunk) format(old, new []string) string {
	var b strings.Builder
	first, last := h.changes[0], h.changes[len(h.changes)-1]
	newFrom := first.b0 - (first.a0 - h.from)
	newTo := last.b1 + (h.to - last.a1)
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.from, h.to), span(newFrom, newTo))
	at := h.from
	for _, c := range h.changes {
		writeLines(&b, ' ', old[at:c.a0])
		writeLines(&b, '-', old[c.a0:c.a1])
		writeLines(&b, '+', new[c.b0:c.b1])
		at = c.a1
	}
	writeLines(&b, ' ', old[at:h.to])
	return b.String()
}

// span writes a range of lines: its first line, or the one before an empty one,
// and its length unless that is 1.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(b *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		b.WriteByte(mark)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
