// Package rawjson reads and writes JSON (RFC 8259) in one pass and without
// reflection, for the paths on which a message may be a mebibyte of text: the
// wire, tool arguments and tool results.
//
// It accepts exactly what encoding/json accepts, except that values may nest
// at most [MaxDepth] deep. Of a key given twice the last value counts. Text
// that is not UTF-8 is read with U+FFFD in place of each wrong byte.
package rawjson

import (
	"fmt"
	"iter"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1000

// A Value is a value at which [Read] has arrived. It can be read once, and only before
// the visit of it has returned; what is not read is stepped over.
type Value struct {
	s     *scanner
	start int
}

// Read calls visit for the one value that data consists of. Values that contain others
// can be visited in turn, so that nested ones are read in one pass.
func Read(data []byte, visit func(Value) error) error {
	s := scanner{data: data}
	return s.whole(func() error {
		v := Value{&s, s.pos}
		return v.end(visit(v))
	})
}

// end steps over what the visit, which has returned err, has not read.
func (v Value) end(err error) error {
	if err != nil || v.s.pos > v.start {
		return err
	}
	return v.s.skip()
}

// Kind returns the first byte of the value, or 0 if there is none.
func (v Value) Kind() byte {
	if v.start < len(v.s.data) {
		return v.s.data[v.start]
	}
	return 0
}

// Raw returns the bytes of the value, which point into the data. It can be called after
// the value was read, too.
func (v Value) Raw() ([]byte, error) {
	if v.s.pos == v.start {
		if err := v.s.skip(); err != nil {
			return nil, err
		}
	}
	return v.s.data[v.start:v.s.pos], nil
}

// String returns the string that the value is.
func (v Value) String() (string, error) {
	raw, escaped, err := v.s.string()
	return text(raw, escaped), err
}

// Object calls visit for each member of the object that the value is. The name points
// into the data, unless it is written with escapes. It stops at the first error, visit's
// included.
func (v Value) Object(visit func(name []byte, value Value) error) error {
	s := v.s
	if s.next() != '{' {
		return s.fail("an object")
	}
	return s.elements('}', func() error {
		name, escaped, err := s.name()
		if err != nil {
			return err
		}
		if escaped {
			name = []byte(text(name, true))
		}
		value := Value{s, s.pos}
		return value.end(visit(name, value))
	})
}

// Members is [Value.Object] with the bytes of the members' values, which are checked to be
// JSON before visit sees them.
func (v Value) Members(visit func(name, value []byte) error) error {
	return v.Object(func(name []byte, value Value) error {
		raw, err := value.Raw()
		if err != nil {
			return err
		}
		return visit(name, raw)
	})
}

// Array calls visit for each element of the array that the value is, as [Value.Object]
// does for members.
func (v Value) Array(visit func(Value) error) error {
	s := v.s
	if s.next() != '[' {
		return s.fail("an array")
	}
	return s.elements(']', func() error {
		element := Value{s, s.pos}
		return element.end(visit(element))
	})
}

// Object calls visit for each member of the object in data, as [Value.Members] does.
func Object(data []byte, visit func(name, value []byte) error) error {
	return Read(data, func(v Value) error { return v.Members(visit) })
}

// Member returns the value of a member of the object in data, or nil if there is
// none or data is no object.
func Member(data []byte, member string) (found []byte) {
	if len(data) == 0 {
		return nil
	}
	err := Object(data, func(name, value []byte) error {
		if string(name) == member {
			found = value
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// Array calls visit for each element of the array in data, as [Object] does for
// members.
func Array(data []byte, visit func(value []byte) error) error {
	return Read(data, func(v Value) error {
		return v.Array(func(element Value) error {
			raw, err := element.Raw()
			if err != nil {
				return err
			}
			return visit(raw)
		})
	})
}

// Valid returns what keeps data from being one JSON value, or nil.
func Valid(data []byte) error {
	s := scanner{data: data}
	return s.whole(s.skip)
}

// Strings yields where each string literal of data, names included, starts and
// ends. It stops where data is not JSON.
func Strings(data []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		s := scanner{data: data}
		for ; s.pos < len(data); s.pos++ {
			if data[s.pos] != '"' {
				continue
			}
			start := s.pos
			if _, _, err := s.string(); err != nil || !yield(start, s.pos) {
				return
			}
			s.pos--
		}
	}
}

// scanner walks over one JSON text.
type scanner struct {
	data   []byte
	pos    int
	depth  int // of open arrays and objects
	values int // that may still be decoded
}

// fail says where data stops being JSON, and what was expected there.
func (s *scanner) fail(want string) error { return &syntaxError{s.pos, want} }

// syntaxError says where data stops being JSON. Its text is made when somebody reads it: many
// calls ask only whether there is a value.
type syntaxError struct {
	offset int    // of the offending byte, from 0
	want   string // what was expected there
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: expected %s", e.offset, e.want)
}

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
	switch {
	case len(b) >= 2 && escapes[b[1]] != 0:
		return 2
	case len(b) >= 6 && b[1] == 'u' && hex4(b[2:6]) >= 0:
		return 6
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

// ReplaceStrings returns JSON with some of its strings replaced, each of which ends somewhere.
func ReplaceStrings(raw []byte, replace func(s string, end int) (by string, ok bool)) (out []byte) {
	copied := 0 // what of raw is in out
	for start, end := range Strings(raw) {
		if s, err := String(raw[start:end]); err == nil {
			if by, ok := replace(s, end); ok {
				out = AppendString(append(out, raw[copied:start]...), by)
				copied = end
			}
		}
	}
	return append(out, raw[copied:]...)
}
