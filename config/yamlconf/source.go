package yamlconf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Error is one mistake in a configuration file.
type Error struct {
	File    string
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

// Source is what [Decode] remembers of a file: where each key stands, and which
// values must not be shown. The zero value is ready to use. It is filled by one
// Decode and only read afterwards.
type Source struct {
	file    string
	places  map[string]place
	masked  map[string]bool   // keys, such as server.tokens[0].hash
	written map[string]string // by key, texts with references that may be shown
	values  map[string]bool   // texts that are secret wherever they turn up

	// Formatted are the texts whose fields have the tag format, for the caller to
	// check.
	Formatted []Formatted

	// Warnings are about what is accepted, but probably not meant, each with its place.
	Warnings []string
}

// Formatted is a text at a path that has to be in a notation.
type Formatted struct{ Path, Format, Text string }

type place struct{ line, column int }

// Errorf returns an [*Error] about the key at path, for rules that only the
// caller knows. The path is written as in messages: server.tokens[0].hash. A
// key that is not in the file takes the place of its nearest parent. The
// message starts with the path.
func (s *Source) Errorf(path, format string, args ...any) error {
	at, known := s.places[path]
	for p := path; !known && p != ""; {
		p = p[:max(strings.LastIndexAny(p, ".["), 0)]
		at, known = s.places[p]
	}
	return newError(s.file, at.line, at.column, path+": "+oneLine(fmt.Sprintf(format, args...)))
}

// Line returns the line of a key, or of the entry with a text in its list. It is 0 if the file does not have it.
func (s *Source) Line(path, entry string) int {
	for _, f := range s.Formatted {
		if entry != "" && f.Text == entry && strings.HasPrefix(f.Path, path+"[") {
			return s.places[f.Path].line
		}
	}
	return s.places[path].line
}

// Secrets returns, sorted, the texts that a redactor should remove from logs:
// the values of fields tagged secret, and what references stood for outside
// fields tagged path. Texts shorter than 6 bytes are left out, since removing
// them would spoil ordinary output.
func (s *Source) Secrets() []string { return slices.Sorted(maps.Keys(s.values)) }

// minSecret is the length from which a text is recognised as a secret by
// itself, without its key.
const minSecret = 6

// AddSecret has a text count as a secret that no tag or reference marks as one.
func (s *Source) AddSecret(value string) { s.remember(value) }

// Refer has the value at a path shown as the reference that it comes from.
func (s *Source) Refer(path, reference string) {
	if s.written == nil {
		s.written = map[string]string{}
	}
	s.written[path] = reference
}

func (s *Source) remember(value string) {
	if len(value) >= minSecret {
		s.values[value] = true
	}
}

// maxWord bounds the keys that stand in a path as they are.
const maxWord = 64

// join appends a key to a path. Keys that would make the path ambiguous or
// break its line are quoted.
func join(path, key string) string {
	odd := func(r rune) bool { return strings.ContainsRune(`.[]" `, r) || !unicode.IsPrint(r) }
	if key == "" || len(key) > maxWord || strings.ContainsFunc(key, odd) {
		key = strconv.Quote(clip(key))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// oneLine makes text from elsewhere fit for a message of one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

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
