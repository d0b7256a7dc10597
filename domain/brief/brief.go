// Package brief shortens and writes names and numbers for messages.
package brief

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a name that came with a request, in bytes.
const maxName = 100

// Name shortens a name that came with a request, for a message or the log.
func Name(name string) string { return Clip(name, maxName) }

// Clip cuts s to at most n bytes, between runes.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// Thousands writes n with separators, as people read it: 12,345.
func Thousands[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// OneLine quotes a name that would not look like one, for a line of text.
func OneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
