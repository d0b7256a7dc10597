package server

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// errLineTooLong says that a line was longer than allowed, and was skipped.
var errLineTooLong = errors.New("line too long")

// lineReader reads lines without copying them. A line is valid until the next
// is asked for.
type lineReader struct {
	r        io.Reader
	max      int // bytes of a line
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

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, max: limit, buf: make([]byte, firstLineBuffer)}
}

// next returns the next line without its end. The last line needs none.
func (l *lineReader) next() ([]byte, error) {
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
			if len(line) > l.max {
				return nil, errLineTooLong
			}
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		scanned = l.end
		if l.skipping {
			l.pos, l.end, scanned = 0, 0, 0
		} else if l.end-l.pos > l.max {
			l.pos, l.end, l.skipping = 0, 0, true
			return nil, errLineTooLong
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
func (l *lineReader) fill() (moved int) {
	if l.end == len(l.buf) {
		moved = l.makeRoom()
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.err = err
	return moved
}

func (l *lineReader) makeRoom() (moved int) {
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

// buffered reports whether a whole line is there already.
func (l *lineReader) buffered() bool { return bytes.IndexByte(l.buf[l.pos:l.end], '\n') >= 0 }

// detach returns a reader that goes on where l is, and leaves the line that l
// last handed out alone.
func (l *lineReader) detach() *lineReader {
	d := *l
	d.buf = make([]byte, max(firstLineBuffer, l.end-l.pos))
	d.pos, d.end = 0, copy(d.buf, l.buf[l.pos:l.end])
	return &d
}

// lineWriter writes lines, several at a time if they come fast.
type lineWriter struct {
	w      io.Writer
	before func() // called before lines are written
	broken func() // called when the other end is gone; more than once does no harm

	mu      sync.Mutex
	buf     []byte
	err     error
	stalled *time.Timer // gives the other end up
}

// stallTime is how long the other end may leave what is written unread. It is
// long, since a person may have stopped the client for a while.
const stallTime = 5 * time.Minute

var errStalled = errors.New("the client has stopped reading")

// maxUnflushed is how much may gather before it is written.
const maxUnflushed = 64 << 10

// write writes a line: at once if flush is nil or set, else with a later one.
func (w *lineWriter) write(line []byte, flush *atomic.Bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(line) >= maxUnflushed { // too long to be worth copying
		w.flushLocked()
		w.writeLocked(line)
	} else {
		w.buf = append(w.buf, line...)
	}
	w.buf = append(w.buf, '\n')
	// Read under the lock: whoever sets flush flushes afterwards, and so either
	// this line is there by then or it sees flush set.
	if flush == nil || flush.Load() || len(w.buf) >= maxUnflushed || len(line) >= maxUnflushed {
		w.flushLocked()
	}
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
}

func (w *lineWriter) flushLocked() {
	w.writeLocked(w.buf)
	w.buf = w.buf[:0]
}

func (w *lineWriter) writeLocked(b []byte) {
	if len(b) == 0 || w.err != nil {
		return
	}
	w.before()
	if w.stalled == nil {
		w.stalled = time.AfterFunc(stallTime, w.broken)
	} else {
		w.stalled.Reset(stallTime)
	}
	_, err := w.w.Write(b)
	if !w.stalled.Stop() { // the other end has been given up
		err = cmp.Or(err, errStalled)
	}
	if w.err = err; err != nil {
		w.broken()
	}
}

// lineSink is what one request says on a lineWriter. While the request is
// served by the goroutine that reads, that one flushes when it runs out of
// lines; later each line goes out at once.
type lineSink struct {
	w        *lineWriter
	detached atomic.Bool
}

func (s *lineSink) answer(msg []byte, _ int) { s.w.write(msg, &s.detached) }

func (s *lineSink) notify(msg []byte) bool {
	s.w.write(msg, &s.detached)
	return true
}

// detach makes s flush. What it has said so far goes out now.
func (s *lineSink) detach() {
	s.detached.Store(true)
	s.w.flush()
}
