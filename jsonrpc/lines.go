package jsonrpc

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLineTooLong is the error of a line that exceeds the limit. It is skipped.
var ErrLineTooLong = errors.New("line too long")

// A LineReader reads lines without copying them. A line is valid until the next
// is read.
type LineReader struct {
	Max      int // bytes of a line
	r        io.Reader
	buf      []byte
	pos, end int  // what is read and not yet handed out
	skipping bool // the rest of a line that is too long
	err      error
}

// A buffer begins small, since most clients send one short line at a time, and
// grows while there is more to read than it holds.
const (
	firstLineBuffer = 4 << 10
	lineBufferSize  = 64 << 10
)

// NewLineReader returns a reader of r whose lines may have limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{Max: limit, r: r, buf: make([]byte, firstLineBuffer)}
}

// Next returns the next line without its end, which the last line need not have.
func (l *LineReader) Next() ([]byte, error) {
	scanned := l.pos
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.pos : scanned+i]
			l.pos = scanned + i + 1
			if l.skipping {
				l.skipping = false
				scanned = l.pos
				continue
			}
			if len(line) > l.Max {
				return nil, ErrLineTooLong
			}
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		scanned = l.end
		if l.skipping {
			l.pos, l.end, scanned = 0, 0, 0
		} else if l.end-l.pos > l.Max {
			l.pos, l.end, l.skipping = 0, 0, true
			return nil, ErrLineTooLong
		}
		if l.err != nil {
			if line := l.buf[l.pos:l.end]; len(line) > 0 {
				l.pos = l.end
				return line, nil
			}
			return nil, l.err
		}
		scanned -= l.fill()
	}
}

// fill reads more, and returns by how much it moved what is there.
func (l *LineReader) fill() (moved int) {
	if l.end == len(l.buf) {
		moved = l.makeRoom()
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.err = err
	return moved
}

func (l *LineReader) makeRoom() (moved int) {
	held := l.end - l.pos
	to := l.buf
	if held > len(l.buf)/2 || len(l.buf) < lineBufferSize {
		to = make([]byte, 2*len(l.buf))
	} else if held == 0 && len(l.buf) > 16*lineBufferSize {
		to = make([]byte, lineBufferSize)
	}
	copy(to, l.buf[l.pos:l.end])
	moved = l.pos
	l.buf, l.pos, l.end = to, 0, held
	return moved
}

// Buffered reports whether a whole line is there already.
func (l *LineReader) Buffered() bool { return bytes.IndexByte(l.buf[l.pos:l.end], '\n') >= 0 }

// Detach returns a reader that goes on where l is, and leaves the line that l
// last handed out alone.
func (l *LineReader) Detach() *LineReader {
	d := *l
	d.buf = make([]byte, max(firstLineBuffer, l.end-l.pos))
	d.pos, d.end = 0, copy(d.buf, l.buf[l.pos:l.end])
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
	if len(line) >= maxUnflushed { // too long to be worth copying
		w.flushLocked()
		w.writeLocked(line)
	} else {
		w.buf = append(w.buf, line...)
	}
	w.buf = append(w.buf, '\n')
	// Read under the lock: who sets flush calls Flush afterwards, which either finds
	// this line or comes before flush is seen here.
	if flush == nil || flush.Load() || len(w.buf) >= maxUnflushed || len(line) >= maxUnflushed {
		w.flushLocked()
	}
}

// Flush writes the lines that wait.
func (w *LineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
}

func (w *LineWriter) flushLocked() {
	w.writeLocked(w.buf)
	w.buf = w.buf[:0]
}

func (w *LineWriter) writeLocked(b []byte) {
	if len(b) == 0 || w.err != nil {
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
	_, err := w.w.Write(b)
	if !w.stalled.Stop() {
		err = cmp.Or(err, ErrStalled)
	}
	if w.err = err; err != nil {
		w.broken()
	}
}
