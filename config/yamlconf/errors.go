package yamlconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors is how many mistakes one Decode reports before it gives up.
const maxErrors = 20

// Error is one mistake in a configuration file.
type Error struct {
	File    string // as given to [Decode]
	Line    int    // counted from 1; 0 where the mistake has no place
	Column  int    // counted from 1, in characters
	Message string // one line, complete without the place
}

// maxMessage bounds a message in bytes, whatever the input it quotes.
const maxMessage = 1000

func newError(file string, line, column int, message string) *Error {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
	}
	return &Error{file, line, column, message}
}

// Error returns FILE:LINE:COL: message, which editors and terminals turn into
// a link.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are the mistakes of one file in the order of the file: at least one
// and at most 20.
type Errors []*Error

// Error returns the mistakes, one to a line. The first alone is fit for an
// output of one line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives [errors.As] and [errors.Is] the single mistakes.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// or returns e sorted by place, or nil as an error when there are none.
func (e Errors) or() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// oneLine makes text from elsewhere fit for a message of one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

// clip shortens text that is quoted in a message.
func clip(s string) string {
	const limit = 60
	count := 0
	for i := range s {
		if count == limit {
			return s[:i] + "..."
		}
		count++
	}
	return s
}
