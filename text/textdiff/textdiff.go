// Package textdiff says what differs between two texts, as diff -u does.
package textdiff

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// context is how many unchanged lines a diff has around a change.
const context = 3

// Unified returns the changes from before to after as a unified diff of at most room
// bytes. Lines that do not fit are left out, which a last line says.
func Unified(path, before, after string, room int) string {
	skipped, before, after := changedLines(before, after)
	lines := bytes.SplitAfter(diff.Diff(path, []byte(before), path, []byte(after)), []byte("\n"))
	var out bytes.Buffer
	for i, line := range lines[1:] { // the first is "diff path path"
		if bytes.HasPrefix(line, []byte("@@")) {
			var a, n, b, m int
			fmt.Sscanf(string(line), "@@ -%d,%d +%d,%d @@", &a, &n, &b, &m)
			line = fmt.Appendf(nil, "@@ -%s +%s @@\n", span(a+skipped, n), span(b+skipped, m))
		}
		if out.Len()+len(line) > room {
			fmt.Fprintf(&out, "[%d more lines of the diff]\n", len(lines)-2-i)
			break
		}
		out.Write(line)
	}
	return out.String()
}

// span writes a range of lines as diff -u does, without a length of 1.
func span(from, length int) string {
	if length == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, length)
}

// changedLines returns the part of both texts that differs, in whole lines with their
// context, and how many lines are before it. A small edit of a large file then costs
// little more than to find it.
func changedLines(a, b string) (skipped int, _, _ string) {
	head, tail, least := 0, 0, min(len(a), len(b))
	for head < least && a[head] == b[head] {
		head++
	}
	for tail < least-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for i := 0; i <= context && head > 0; i++ {
		head = strings.LastIndexByte(a[:head-1], '\n') + 1
	}
	for i := 0; i <= context && tail > 0; i++ {
		_, rest, _ := strings.Cut(a[len(a)-tail:], "\n")
		tail = len(rest)
	}
	return strings.Count(a[:head], "\n"), a[head : len(a)-tail], b[head : len(b)-tail]
}
