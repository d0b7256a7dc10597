package jsonrpc

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// TooLongError is the error of a line that exceeds the limit. It has been skipped.
type TooLongError struct {
	ID json.RawMessage // of the request that it was; nil if that is not known
}

func (e *TooLongError) Error() string { return "line too long" }

// A LineReader reads lines, which belong to who reads them.
type LineReader struct {
	Max int // bytes of a line
	in  *bufio.Reader
	err error
}

const (
	lineBufferSize = 16 << 10
	maxKeptLine    = 1 << 20 // bytes of a buffer that is kept for the next long line
)

// NewLineReader returns a reader of r whose lines may have limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{Max: limit, in: bufio.NewReaderSize(r, lineBufferSize)}
}

// Next returns the next line without its end, which the last line need not have,
// or, after a line that is too long, a [*TooLongError].
func (l *LineReader) Next() ([]byte, error) {
	var read []byte
	for l.err == nil {
		part, err := l.in.ReadSlice('\n')
		more := err == bufio.ErrBufferFull
		if !more {
			l.err = err
		}
		if cap(read)-len(read) < len(part) { // append would leave five times the size of a long line as garbage
			read = slices.Grow(read, max(len(part), cap(read)))
		}
		read = append(read, part...)
		line, whole := bytes.CutSuffix(read, []byte{'\n'})
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
		var err error
		line, err = l.in.ReadSlice('\n')
		if more = err == bufio.ErrBufferFull; !more {
			l.err = err
		}
	}
	return &TooLongError{s.ID()}
}

// A LineWriter writes lines. It is safe for concurrent use.
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

// Write writes a line.
func (w *LineWriter) Write(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
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
	w.buf = append(append(w.buf[:0], line...), '\n')
	_, err := w.w.Write(w.buf)
	if !w.stalled.Stop() {
		err = cmp.Or(err, ErrStalled)
	}
	if cap(w.buf) > maxKeptLine {
		w.buf = nil
	}
	if w.err = err; err != nil {
		w.broken()
	}
}
