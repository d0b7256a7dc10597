package files

import (
	"fmt"
	"strconv"
	"strings"
)

// maxPlaces bounds the line numbers in a message.
const maxPlaces = 10

// applyEdits makes the edits in order. It returns the new text and how many
// pieces were replaced. The error is a [*failedCall].
func applyEdits(path, text string, edits []edit) (after string, replacements int, err error) {
	for i, e := range edits {
		old, new := e.inLineEnds(text)
		places := occurrences(text, old)
		if len(places) == 0 {
			return "", 0, noMatch(path, text, i, e)
		}
		if len(places) > 1 && !e.ReplaceAll {
			return "", 0, ambiguous(path, text, i, places)
		}
		n := 1
		if e.ReplaceAll {
			n = strings.Count(text, old)
		}
		if len(text)+n*(len(new)-len(old)) > maxContent {
			return "", 0, failed("too_large", fmt.Sprintf("edits[%d] would make %s larger than %d bytes; nothing was written", i, path, maxContent),
				"Replace fewer occurrences, or with less.")
		}
		text = strings.Replace(text, old, new, n)
		replacements += n
	}
	return text, replacements, nil
}

// inLineEnds returns the texts of the edit with the line ends of a file whose
// text is given: a caller who writes LF means whatever the file has. One who
// writes CR means what it says.
func (e edit) inLineEnds(text string) (old, new string) {
	if strings.Contains(e.OldText, "\r") {
		return e.OldText, e.NewText
	}
	crlf := hasCRLF(text)
	if !crlf && strings.Contains(e.OldText, "\n") && !strings.Contains(text, e.OldText) {
		crlf = strings.Contains(text, toCRLF(e.OldText)) // one with mixed line ends
	}
	if !crlf {
		return e.OldText, e.NewText
	}
	return toCRLF(e.OldText), toCRLF(e.NewText)
}

// occurrences returns where old is in text, also where it overlaps itself: the
// first few places.
func occurrences(text, old string) (places []int) {
	for from := 0; len(places) <= maxPlaces; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		places = append(places, from+i)
		from += i + 1
	}
	return places
}

func ambiguous(path, text string, i int, places []int) error {
	lines := make([]string, 0, len(places))
	for _, at := range places[:min(len(places), maxPlaces)] {
		line := strconv.Itoa(1 + strings.Count(text[:at], "\n"))
		if n := len(lines); n == 0 || lines[n-1] != line {
			lines = append(lines, line)
		}
	}
	where := "line " + lines[0] + " several times"
	if len(lines) > 1 {
		where = "lines " + strings.Join(lines, ", ")
	}
	if len(places) > maxPlaces {
		where += " and more"
	}
	return failed("ambiguous_match",
		fmt.Sprintf("edits[%d].old_text occurs more than once in %s, at %s%s; nothing was written", i, path, where, afterEdits(i)),
		"Include lines before or after it in old_text until it is unique, or set replace_all to true.")
}

// afterEdits says what line numbers refer to from the second edit on.
func afterEdits(i int) string {
	if i == 0 {
		return ""
	}
	return " (counted after the edits before it)"
}

// hasCRLF reports whether text has lines, and each ends in CR LF.
func hasCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

// toCRLF makes the line ends of text CR LF.
func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
