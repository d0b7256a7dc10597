package anthropic

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An event is one server-sent event.
type event struct {
	name string // empty if it has none
	data []byte // its data lines, joined by newlines; valid until the next event is read
}

// events reads an event stream (HTML standard, section 9.2.6). It returns an
// event as soon as the line that ends it has come, however the bytes arrive. An
// event that the stream ends in the middle of is dropped, as the standard says.
type events struct {
	in     *bufio.Reader
	left   int64 // bytes that may still come
	most   int   // bytes of an event
	begun  bool
	skipLF bool // the last line ended in CR: a LF that follows belongs to it
	line   []byte
	data   []byte
}

// Bounds of a stream. An answer has a few hundred kilobytes, and the longest of
// its events a few.
const (
	maxEvent  = 1 << 20
	maxStream = 32 << 20
)

// errEventTooLong is the error of a stream that breaks its bounds.
var errEventTooLong = errors.New("the stream of the answer is longer than any answer")

func newEvents(r io.Reader) *events {
	return &events{in: bufio.NewReader(r), left: maxStream, most: maxEvent}
}

// next returns the next event that has data. The error is io.EOF if the stream
// has ended.
func (s *events) next() (event, error) {
	name, some := "", false
	s.data = s.data[:0]
	for {
		line, err := s.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if some {
				return event{name, s.data}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) { // a comment has an empty one
		case "event":
			name = string(value)
		case "data":
			if some {
				s.data = append(s.data, '\n')
			}
			some = true
			if s.data = append(s.data, value...); len(s.data) > s.most {
				return event{}, errEventTooLong
			}
		}
	}
}

// readLine returns a line without what ends it: CR, LF or both. It does not wait
// for a LF after a CR.
func (s *events) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if s.left--; s.left < 0 || len(s.line) > s.most {
			return nil, errEventTooLong
		}
		after := s.skipLF
		s.skipLF = c == '\r'
		switch {
		case c == '\n' && after:
		case c == '\n' || c == '\r':
			return s.withoutMark(), nil
		default:
			s.line = append(s.line, c)
		}
	}
}

// withoutMark returns the line, the first of a stream without a byte order mark.
func (s *events) withoutMark() []byte {
	line := s.line
	if !s.begun {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	s.begun = true
	return line
}
