// Package rawjson reads and writes JSON (RFC 8259) in one pass and without
// reflection, for the paths on which a message may be a mebibyte of text: the
// wire, tool arguments and tool results.
//
// It accepts exactly what encoding/json accepts, except that values may nest
// at most [MaxDepth] deep. Of a key given twice the last value counts. Text
// that is not UTF-8 is read with U+FFFD in place of each wrong byte.
package rawjson

import "fmt"

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1000

// A SyntaxError says where data stops being JSON.
type SyntaxError struct {
	Offset int    // of the offending byte, from 0
	Want   string // what was expected there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: expected %s", e.Offset, e.Want)
}

// scanner walks over one JSON text.
type scanner struct {
	data   []byte
	pos    int
	depth  int // of open arrays and objects
	values int // that may still be decoded
}

func (s *scanner) fail(want string) error { return &SyntaxError{s.pos, want} }

// whole steps over the one value that data consists of.
func (s *scanner) whole(value func() error) error {
	s.space()
	if err := value(); err != nil {
		return err
	}
	if s.space(); s.pos < len(s.data) {
		return s.fail("the end")
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return
		}
	}
}

// next returns the byte at the position, or 0 at the end.
func (s *scanner) next() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// take steps over c if it comes next.
func (s *scanner) take(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// elements steps over an array or object, from its opening bracket to the
// closing one; each steps over an element or member.
func (s *scanner) elements(closing byte, each func() error) error {
	if s.depth++; s.depth > MaxDepth {
		return s.fail("less nesting")
	}
	s.pos++
	s.space()
	for first := true; !s.take(closing); first = false {
		if !first {
			if !s.take(',') {
				return s.fail("',' or '" + string(closing) + "'")
			}
			s.space()
		}
		if err := each(); err != nil {
			return err
		}
		s.space()
	}
	s.depth--
	return nil
}

// name steps over a member's name and its colon and stops at the value.
func (s *scanner) name() (raw []byte, escaped bool, err error) {
	if raw, escaped, err = s.string(); err != nil {
		return nil, false, err
	}
	s.space()
	if !s.take(':') {
		return nil, false, s.fail("':'")
	}
	s.space()
	return raw, escaped, nil
}

// skip steps over one value.
func (s *scanner) skip() (err error) {
	switch s.next() {
	case '"':
		_, _, err = s.string()
	case '{':
		err = s.elements('}', func() error {
			if _, _, err := s.name(); err != nil {
				return err
			}
			return s.skip()
		})
	case '[':
		err = s.elements(']', s.skip)
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		_, err = s.number()
	}
	return err
}

func (s *scanner) literal(word string) error {
	if end := s.pos + len(word); end <= len(s.data) && string(s.data[s.pos:end]) == word {
		s.pos = end
		return nil
	}
	return s.fail("a value")
}

// string steps over a string literal and returns what is between its quotes.
func (s *scanner) string() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, s.fail("a string")
	}
	start := s.pos
	for {
		s.pos += plainLen(s.data[s.pos:])
		switch s.next() {
		case '"':
			s.pos++
			return s.data[start : s.pos-1], escaped, nil
		case '\\':
			n := escapeLen(s.data[s.pos:])
			if n == 0 {
				return nil, false, s.fail("an escape sequence")
			}
			escaped = true
			s.pos += n
		default:
			if s.pos == len(s.data) {
				return nil, false, s.fail("the end of a string")
			}
			return nil, false, s.fail("no control character in a string")
		}
	}
}

// escapeLen returns the length of the escape sequence b starts with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// number steps over a number and returns it.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	s.take('-')
	if !s.take('0') && !s.digits() {
		s.pos = start
		return nil, s.fail("a value")
	}
	if s.take('.') && !s.digits() {
		return nil, s.fail("a digit")
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return nil, s.fail("a digit")
		}
	}
	return s.data[start:s.pos], nil
}

// digits steps over digits, and reports whether there are any.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}
