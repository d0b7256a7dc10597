package jsonrpc

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// TooLongError is the error of a line that exceeds the limit. It has been skipped.
type TooLongError struct {
	ID       json.RawMessage // of the request that it was; nil if that is not known
	Response bool            // it may have been a response
	Answers  json.RawMessage // the id of the response; nil if that is not known
}

func (e *TooLongError) Error() string { return "line too long" }

// A LineReader reads lines, short ones without copying them. A line is valid until
// the next is read.
type LineReader struct {
	Max    int // bytes of a line
	source io.Reader
	in     *bufio.Reader
	long   bytes.Buffer // a line that does not fit into the buffer of in
	err    error
}

const (
	lineBufferSize = 16 << 10
	maxKeptLine    = 1 << 20 // bytes of a buffer that is kept for the next long line
)

// NewLineReader returns a reader of r whose lines may have limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{Max: limit, source: r, in: bufio.NewReaderSize(r, lineBufferSize)}
}

// Next returns the next line without its end, which the last line need not have,
// or, after a line that is too long, a [*TooLongError].
func (l *LineReader) Next() ([]byte, error) {
	if l.long.Reset(); l.long.Cap() > maxKeptLine {
		l.long = bytes.Buffer{}
	}
	for l.err == nil {
		line, err := l.in.ReadSlice('\n')
		more := err == bufio.ErrBufferFull
		if !more {
			l.err = err
		}
		if more || l.long.Len() > 0 {
			l.long.Write(line) // doubles the buffer, where append would leave five times its size as garbage
			line = l.long.Bytes()
		}
		line, whole := bytes.CutSuffix(line, []byte{'\n'})
		switch {
		case len(line) > l.Max:
			return nil, l.skip(line, more)
		case whole:
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		case !more && len(line) > 0:
			return line, nil
		}
	}
	return nil, l.err
}

// skip reads to the end of a line that is too long, and returns what became of it.
func (l *LineReader) skip(line []byte, more bool) error {
	var s Skimmer
	for s.Write(line); more; s.Write(line) {
		l.long = bytes.Buffer{}
		var err error
		line, err = l.in.ReadSlice('\n')
		if more = err == bufio.ErrBufferFull; !more {
			l.err = err
		}
	}
	answers, maybe := s.Response()
	return &TooLongError{s.ID(), maybe, answers}
}

// Buffered reports whether a whole line has been read already.
func (l *LineReader) Buffered() bool {
	read, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(read, '\n') >= 0
}

// Detach returns a reader that continues where l is, and leaves the line that l
// last returned alone.
func (l *LineReader) Detach() *LineReader {
	read, _ := l.in.Peek(l.in.Buffered())
	d := *l
	d.long = bytes.Buffer{}
	d.in = bufio.NewReaderSize(l.source, lineBufferSize)
	if len(read) > 0 {
		d.in.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(read)), l.source))
		_, _ = d.in.Peek(len(read)) // so that a reader detached from d finds it in the buffer
	}
	return &d
}

// A LineWriter writes lines, several at a time if they come fast. It is safe for
// concurrent use.
type LineWriter struct {
	w      io.Writer
	stall  time.Duration
	before func()
	broken func()

	mu      sync.Mutex
	buf     []byte
	err     error
	stalled *time.Timer // calls broken
}

// ErrStalled is the error of an other end that does not read.
var ErrStalled = errors.New("the other end has stopped reading")

// NewLineWriter returns a writer to w. It calls before, which may be nil, before
// it writes, and broken, perhaps more than once, when w fails or has not taken
// for the time of stall what is written.
func NewLineWriter(w io.Writer, stall time.Duration, before, broken func()) *LineWriter {
	return &LineWriter{w: w, stall: stall, before: before, broken: broken}
}

// maxUnflushed is how many bytes may wait for a flush.
const maxUnflushed = 64 << 10

// Write writes a line: at once if flush is nil or set, else with a later one.
func (w *LineWriter) Write(line []byte, flush *atomic.Bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(append(w.buf, line...), '\n')
	// Read under the lock: who sets flush calls Flush afterwards, which either finds
	// this line or comes before flush is seen here.
	if flush == nil || flush.Load() || len(w.buf) >= maxUnflushed {
		w.flush()
	}
}

// Flush writes the lines that wait.
func (w *LineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

func (w *LineWriter) flush() {
	if w.err != nil {
		w.buf = nil
	}
	if len(w.buf) == 0 {
		return
	}
	if w.before != nil {
		w.before()
	}
	if w.stalled == nil {
		w.stalled = time.AfterFunc(w.stall, w.broken)
	} else {
		w.stalled.Reset(w.stall)
	}
	_, err := w.w.Write(w.buf)
	if !w.stalled.Stop() {
		err = cmp.Or(err, ErrStalled)
	}
	if w.buf = w.buf[:0]; cap(w.buf) > maxKeptLine {
		w.buf = nil
	}
	if w.err = err; err != nil {
		w.broken()
	}
}

// A Skimmer is written a message that is too long to be kept, and finds the id of
// the request or response that it is. It remembers no more than a key and a value.
type Skimmer struct {
	depth   int  // of open arrays and objects
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	token   []byte
	key     string // of the member of the message that is read
	object  bool   // the message is one
	request bool   // it has a method
	first   byte   // that is no blank
	id      json.RawMessage
}

// maxSkimmed bounds the id, and the keys of a message.
const maxSkimmed = 4 << 10

// Write reads on. It never fails.
func (s *Skimmer) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		default:
			s.structure(c)
			continue
		}
		s.keep(c)
	}
	return len(p), nil
}

// structure reads a byte that is not in a string.
func (s *Skimmer) structure(c byte) {
	if s.first <= ' ' {
		s.first = c
	}
	switch c {
	case '{', '[':
		s.object = s.object || s.depth == 0 && c == '{'
		s.depth++
	case '}', ']':
		s.endMember()
		s.depth--
	case ',':
		s.endMember()
	case ':':
		if s.depth == 1 {
			s.key, _ = rawjson.String(s.token)
			s.token = s.token[:0]
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.quoted = c == '"'
		s.keep(c)
	}
}

// keep notes a byte of a key or a value of the message itself. What is longer than
// the bound loses its end, and is then nothing.
func (s *Skimmer) keep(c byte) {
	if s.depth == 1 && len(s.token) < maxSkimmed {
		s.token = append(s.token, c)
	}
}

func (s *Skimmer) endMember() {
	if s.depth != 1 {
		return
	}
	switch s.key {
	case "id":
		s.id = append(json.RawMessage(nil), s.token...)
	case "method":
		s.request = true
	}
	s.key, s.token = "", s.token[:0]
}

// ID returns the id of the request that was written, or nil if there is none.
func (s *Skimmer) ID() json.RawMessage {
	if !s.request {
		return nil
	}
	return s.known()
}

// Response reports whether a response may have been written, and returns its id, or nil if there is none.
func (s *Skimmer) Response() (id json.RawMessage, maybe bool) {
	if s.request || s.first != '{' && s.first != '[' {
		return nil, false
	}
	return s.known(), true
}

func (s *Skimmer) known() json.RawMessage {
	if !s.object || s.depth != 0 || len(s.id) == 0 || !ValidID(s.id) || rawjson.Valid(s.id) != nil {
		return nil
	}
	return s.id
}
