// Package sse reads and writes streams of server-sent events (HTML standard,
// section 9.2).
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// An Event is one server-sent event.
type Event struct {
	Name string // empty if it has none
	Data []byte // its data lines, joined by newlines; valid until the next event is read
}

// ErrTooLong is the error of a stream that exceeds a limit.
var ErrTooLong = errors.New("the event stream is too long")

// A Reader reads a stream. It returns an event as soon as the line that ends it
// has arrived.
type Reader struct {
	// LastID and Retry are what the stream said last of the ID to resume after and
	// of the time to wait before that. Zero if it said nothing.
	LastID string
	Retry  time.Duration

	in        *bufio.Reader
	maxEvent  int
	maxStream int64
	read      int64
	begun     bool
	skipLF    bool // the last line ended in CR: a LF that follows belongs to it
	line      []byte
	data      []byte
}

// NewReader returns a reader of r whose lines and events may have maxEvent
// bytes and which as a whole may have maxStream; zero is no limit for the whole.
func NewReader(r io.Reader, maxEvent int, maxStream int64) *Reader {
	return &Reader{in: bufio.NewReader(r), maxEvent: maxEvent, maxStream: maxStream}
}

// Next returns the next event that has data. The error is [io.EOF] at the end of
// the stream. An event that is incomplete there, which the standard has dropped, comes
// with the error: some servers leave out the line that ends the last one.
func (r *Reader) Next() (Event, error) {
	name, hasData := "", false
	r.data = r.data[:0]
	for {
		line, err := r.readLine()
		if err != nil {
			if rest, ok := bytes.CutPrefix(r.line, []byte("data:")); ok && !errors.Is(err, ErrTooLong) {
				r.data = append(r.data, rest...)
			}
			return Event{name, r.data}, err
		}
		if len(line) == 0 {
			if hasData {
				return Event{name, r.data}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) { // that of a comment is empty
		case "event":
			name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				r.LastID = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.Retry = time.Duration(ms) * time.Millisecond
			}
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			hasData = true
			if r.data = append(r.data, value...); len(r.data) > r.maxEvent {
				return Event{}, ErrTooLong
			}
		}
	}
}

// readLine returns a line without its end: CR, LF or both. It does not wait for
// a LF after a CR.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return nil, err
		}
		there, _ := r.in.Peek(r.in.Buffered())
		if r.skipLF {
			if r.skipLF = false; there[0] == '\n' {
				r.discard(1)
			}
			continue
		}
		end := bytes.IndexAny(there, "\r\n")
		ended := end >= 0
		if !ended {
			end = len(there)
		}
		r.line = append(r.line, there[:end]...)
		r.skipLF = ended && there[end] == '\r'
		if ended {
			end++
		}
		if r.discard(end); len(r.line) > r.maxEvent || r.maxStream > 0 && r.read > r.maxStream {
			return nil, ErrTooLong
		}
		if ended {
			line := r.line
			if !r.begun { // the stream may have a byte order mark
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			r.begun = true
			return line, nil
		}
	}
}

func (r *Reader) discard(n int) {
	r.in.Discard(n) // never fails: n bytes are buffered
	r.read += int64(n)
}

// Append appends an event with one line of data to a stream.
func Append(b, data []byte) []byte {
	b = append(b, "event: message\ndata: "...)
	return append(append(b, data...), "\n\n"...)
}
