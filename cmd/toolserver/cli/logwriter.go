package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Bounds of a [logWriter].
const (
	flushInterval = 100 * time.Millisecond // that a line waits to be written, unless somebody flushes
	maxFlushWait  = 20 * time.Millisecond  // that flush waits for another goroutine's write
	quickWrite    = time.Millisecond       // what a write takes where the log is read
	maxCloseWait  = time.Second
	maxLogBatch   = 64 << 10  // bytes that are written without waiting for more
	maxLogPending = 512 << 10 // bytes that wait while as many are being written
)

// errWouldBlock is the error of a write that would have to wait.
var errWouldBlock = errors.New("the write would block")

// logWriter writes log lines, a batch at a time, and never makes those that log
// wait for a log that nobody reads: what does not fit into its buffer, or
// cannot be written, is dropped. A line says how many were once writing works
// again.
//
// At most one goroutine writes at a time. It is the one that flushes where
// direct can write without blocking, and else one that the logWriter starts,
// which ends with its write. Only a write that blocks forever outlives close.
type logWriter struct {
	out     io.Writer                   // may block
	direct  func(b []byte) (int, error) // writes what out accepts at once, and returns errWouldBlock if that is not all; nil if unsupported
	dropped func(lines int) []byte      // returns the line that reports dropped lines

	mu       sync.Mutex
	pending  []byte // lines that are not being written yet
	spare    []byte // memory for pending
	accepted uint64 // writes into pending
	settled  uint64 // of these, how many are in the log or dropped
	lost     int    // dropped lines that the log does not report yet
	torn     bool   // the log ends within a line
	busy     bool   // a batch is being written
	lagging  bool   // it blocks, or the last one failed: there is no use in waiting
	over     chan struct{}
	timer    *time.Timer
	armed    bool // timer runs
	closed   bool
}

func newLogWriter(out io.Writer, dropped func(lines int) []byte) *logWriter {
	w := &logWriter{out: out, dropped: dropped}
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
	return w
}

// Write takes over lines, to be written soon. It never fails.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.pending)+len(p) > maxLogPending {
		w.lost += lineCount(p)
		return len(p), nil
	}
	w.pending = append(w.pending, p...)
	w.accepted++
	if len(w.pending) >= maxLogBatch && !w.busy {
		w.start()
	} else if !w.armed {
		w.armed = true
		w.timer.Reset(flushInterval)
	}
	return len(p), nil
}

// Sync flushes.
func (w *logWriter) Sync() error {
	w.flush()
	return nil
}

// flush writes what has been logged until now. Where that might block, another
// goroutine does it, and flush waits a little. It does not wait for a log that
// is not being read, or cannot be written.
func (w *logWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for until := w.accepted; w.settled < until && !w.lagging && !w.closed; {
		if !w.busy {
			w.start()
		}
		if w.busy && !w.lagging && !w.await(maxFlushWait) {
			w.lagging = true
		}
	}
}

// close flushes and ends the use of w. It waits a second at most.
func (w *logWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	deadline := time.Now().Add(maxCloseWait)
	for until := w.accepted; w.settled < until; {
		if !w.busy {
			w.start()
		}
		if w.busy && !w.await(time.Until(deadline)) {
			break
		}
	}
	w.closed = true
	w.timer.Stop()
}

// tick writes what nobody has flushed, and tries again what has failed.
func (w *logWriter) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed = w.busy && !w.closed; w.armed {
		w.timer.Reset(flushInterval)
	} else if len(w.pending) > 0 && !w.closed {
		w.start()
	}
}

// await waits until the batch that is being written no longer is, or blocks,
// and reports whether that was in time. It lets go of the lock meanwhile.
func (w *logWriter) await(limit time.Duration) bool {
	if w.over == nil {
		w.over = make(chan struct{})
	}
	over := w.over
	w.mu.Unlock()
	defer w.mu.Lock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-over:
		return true
	case <-late.C:
		return false
	}
}

// wake ends every await.
func (w *logWriter) wake() {
	if w.over != nil {
		close(w.over)
		w.over = nil
	}
}

// logBatch is what one write writes.
type logBatch struct {
	bytes    []byte
	until    uint64 // accepted
	reported int    // lost, according to the last line
	start    int    // of the first line
}

// start begins to write what is pending. It lets go of the lock meanwhile.
func (w *logWriter) start() {
	w.busy = true
	b := logBatch{bytes: w.pending, until: w.accepted, reported: w.lost}
	w.pending, w.spare = w.spare[:0], nil
	if w.torn {
		b.bytes, b.start = slices.Insert(b.bytes, 0, '\n'), 1
	}
	if b.reported > 0 {
		b.bytes = append(b.bytes, w.dropped(b.reported)...)
	}
	if w.direct == nil {
		go w.writeRest(b, 0)
		return
	}
	w.mu.Unlock()
	n, err := w.direct(b.bytes)
	w.mu.Lock()
	if err == errWouldBlock {
		w.lagging = true
		w.wake()
		go w.writeRest(b, n)
		return
	}
	w.end(b, n, err)
}

// writeRest writes all of a batch but its first n bytes, however long that takes.
func (w *logWriter) writeRest(b logBatch, n int) {
	begun := time.Now()
	written, err := w.out.Write(b.bytes[n:])
	took := time.Since(begun)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(b, n+written, err)
	if w.direct == nil && took > quickWrite {
		w.lagging = true // until a write is quick: a slow reader must not slow down each flush
	}
	if err == nil && len(w.pending)+w.lost > 0 && !w.closed {
		w.start()
	}
}

// end notes that the first n bytes of a batch are in the log, and the others
// are not going to be.
func (w *logWriter) end(b logBatch, n int, err error) {
	w.busy, w.settled = false, b.until
	w.lagging = err != nil
	if err == nil {
		w.lost -= b.reported
		w.torn = false
	} else {
		w.lost += lineCount(b.bytes[max(n, b.start):])
		if b.reported > 0 {
			w.lost-- // the report
		}
		if n > 0 {
			w.torn = b.bytes[n-1] != '\n'
		}
	}
	if cap(b.bytes) <= 2*maxLogBatch {
		w.spare = b.bytes
	}
	w.wake()
}

func lineCount(p []byte) int { return bytes.Count(p, []byte{'\n'}) }

// isRegular reports whether f is a file whose writes do not wait for a reader.
func isRegular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
