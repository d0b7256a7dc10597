package yamlconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Source is what [Decode] remembers of a file when [Options] hold one: where
// each key stands, and which values must not be shown. The zero value is ready
// to use. It is filled by one Decode and only read afterwards.
type Source struct {
	file   string
	places map[string]place
	masked map[string]bool // keys, such as server.tokens[0].hash
	values map[string]bool // texts that are secret wherever they turn up
}

type place struct{ line, column int }

// Errorf returns an [*Error] about the key at path, for rules that only the
// caller knows. The path is written as in messages: server.tokens[0].hash. A
// key that is not in the file takes the place of its nearest parent. The
// message starts with the path.
func (s *Source) Errorf(path, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	at, known := s.places[path]
	for p := path; !known && p != ""; {
		p = p[:max(strings.LastIndexAny(p, ".["), 0)]
		at, known = s.places[p]
	}
	return newError(s.file, at.line, at.column, oneLine(text))
}

// Secrets returns, sorted, the texts that a redactor should remove from logs:
// the values of fields tagged secret, and what references stood for outside
// fields tagged path. Texts shorter than 6 bytes are left out, since removing
// them would spoil ordinary output.
func (s *Source) Secrets() []string {
	all := make([]string, 0, len(s.values))
	for v := range s.values {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// minSecret is the length from which a text is recognised as a secret by
// itself, without its key.
const minSecret = 6

func (s *Source) remember(value string) {
	if s == nil || len(value) < minSecret {
		return
	}
	if s.values == nil {
		s.values = map[string]bool{}
	}
	s.values[value] = true
}

func (s *Source) mask(path string) {
	if s == nil {
		return
	}
	if s.masked == nil {
		s.masked = map[string]bool{}
	}
	s.masked[path] = true
}

func (s *Source) locate(path string, line, column int) {
	if s == nil {
		return
	}
	if s.places == nil {
		s.places = map[string]place{}
	}
	s.places[path] = place{line, column}
}

// hides reports whether the text at path must not be shown.
func (s *Source) hides(path, text string) bool {
	return s != nil && (s.masked[path] || s.values[text])
}

// maxWord bounds the keys that stand in a path as they are.
const maxWord = 64

// join appends a key to a path. Keys that would make the path ambiguous or
// break its line are quoted.
func join(path, key string) string {
	odd := func(r rune) bool {
		return r == '.' || r == '[' || r == ']' || r == '"' || r == ' ' || !unicode.IsPrint(r)
	}
	if key == "" || len(key) > maxWord || strings.ContainsFunc(key, odd) {
		key = strconv.Quote(clip(key))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}
