package files

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxShownLines = 20  // of the closest place
	maxShownLine  = 200 // bytes of each
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
		fmt.Fprintf(&b, "%d\t%s\n", n+1, clipped(lines[n]))
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
			return fmt.Sprintf("Line %d differs in %s:\n  in the file: %q\n  in old_text: %q",
				at+i+1, difference(have[i], line), clipped(have[i]), clipped(line))
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
	case strings.EqualFold(a, b):
		return "upper and lower case"
	case plain.Replace(a) == plain.Replace(b):
		return "the kind of quotation marks, dashes or spaces"
	case strings.HasSuffix(b, a) && lineNumbered(strings.TrimSuffix(b, a)):
		return "a line number, which is not part of the file"
	}
	return "text"
}

func lineNumbered(prefix string) bool {
	digits := strings.TrimSpace(prefix)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// squashed returns a line with its white space made alike.
func squashed(s string) string { return strings.Join(strings.Fields(s), " ") }

// clipped cuts a line that is long, between characters.
func clipped(s string) string {
	if len(s) <= maxShownLine {
		return s
	}
	n := maxShownLine
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
