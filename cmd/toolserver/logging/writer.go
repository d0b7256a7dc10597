package logging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Bounds of a [writer].
const (
	flushInterval = 100 * time.Millisecond // that a line waits to be written, unless there is a flush
	maxFlushWait  = 10 * time.Millisecond  // that a flush waits for a write that may block
	maxCloseWait  = time.Second
	maxLogBatch   = 64 << 10  // bytes that are written without waiting for more
	maxLogPending = 512 << 10 // bytes that wait for a log that is not being read
)

// errWouldBlock is the error of a write that would have to wait.
var errWouldBlock = errors.New("the write would block")

// writer writes log lines and never makes the callers of the logger wait for
// a log that is not being read: what does not fit into its buffer, or cannot be
// written, is dropped. A line reports how many were, once writing works again.
type writer struct {
	write   func(b []byte) (int, error) // writes what is accepted at once, and returns errWouldBlock if that is not all
	dropped func(lines int) []byte      // returns the line that reports dropped lines
	timer   *time.Timer                 // calls Sync; runs while something is to be written

	mu      sync.Mutex
	pending []byte // not written yet
	lost    int    // dropped lines that the log does not report yet
	torn    bool   // the log ends within a line whose end is lost
	closed  bool
}

func newWriter(write func(b []byte) (int, error), dropped func(lines int) []byte) *writer {
	w := &writer{write: write, dropped: dropped}
	w.timer = time.AfterFunc(time.Hour, func() { _ = w.Sync() })
	w.timer.Stop()
	return w
}

// Write accepts lines, to be written soon. It never fails.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.pending)+len(p) > maxLogPending {
		w.lost += lineCount(p)
		return len(p), nil
	}
	if len(w.pending) == 0 {
		w.timer.Reset(flushInterval)
	}
	if w.pending = append(w.pending, p...); len(w.pending) >= maxLogBatch {
		w.drain()
	}
	return len(p), nil
}

// Sync writes what has been logged until now, as far as the log accepts it. It
// never fails.
func (w *writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.drain()
	}
	return nil
}

// close flushes and ends the use of w. It waits a second at most.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for deadline := time.Now().Add(maxCloseWait); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.drain()
		if _, err := w.write(nil); len(w.pending) == 0 && err != errWouldBlock {
			break
		}
	}
	w.closed = true
	w.timer.Stop()
}

// drain writes pending lines and the report of dropped ones.
func (w *writer) drain() {
	if w.torn && len(w.pending) > 0 {
		n, err := w.write([]byte{'\n'})
		w.torn = n == 0
		w.wrote(0, err)
	}
	if len(w.pending) > 0 && !w.torn {
		w.wrote(w.write(w.pending))
	}
	if w.lost > 0 && len(w.pending) == 0 && !w.torn {
		report := w.dropped(w.lost)
		if n, err := w.write(report); n > 0 {
			w.pending, w.lost = append(w.pending, report...), 0
			w.wrote(n, err)
		}
	}
	if len(w.pending) > 0 || w.lost > 0 {
		w.timer.Reset(flushInterval)
	} else if cap(w.pending) > 2*maxLogBatch {
		w.pending = nil
	}
}

// wrote removes the first n bytes of the pending lines, which are in the log,
// and after an error the others too, which are not going to be.
func (w *writer) wrote(n int, err error) {
	if err != nil && err != errWouldBlock {
		if n > 0 {
			w.torn = w.pending[n-1] != '\n'
		}
		w.lost += lineCount(w.pending[n:])
		n = len(w.pending)
	}
	w.pending = w.pending[:copy(w.pending, w.pending[n:])]
}

func lineCount(p []byte) int { return bytes.Count(p, []byte{'\n'}) }

// output returns what writes to out without blocking, and what frees it.
func output(out io.Writer) (write func(b []byte) (int, error), free func()) {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f.Write, func() {}
		}
		if write, free, ok := nonblocking(f); ok {
			return write, free
		}
	}
	return inBackground(out), func() {}
}

// inBackground returns what writes to something that may block, a batch at a
// time. It waits a little for the end of the write; an error later than that is
// the next write's. Only a write that blocks forever leaves a goroutine behind.
func inBackground(out io.Writer) func(b []byte) (int, error) {
	results := make(chan error, 1) // of the write in progress
	busy := false                  // there is one
	return func(b []byte) (int, error) {
		if busy {
			select {
			case err := <-results:
				if busy = false; err != nil {
					return 0, err
				}
			default:
				return 0, errWouldBlock
			}
		}
		if len(b) == 0 {
			return 0, nil
		}
		batch := bytes.Clone(b)
		go func() {
			_, err := out.Write(batch)
			results <- err
		}()
		select {
		case err := <-results:
			if err != nil {
				return 0, err
			}
		case <-time.After(maxFlushWait):
			busy = true
		}
		return len(b), nil
	}
}
