package runner

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// A capture keeps the beginning and the end of a stream in memory, and its
// beginning up to a larger bound in a temporary file that is made only when
// memory does not suffice. It is safe for concurrent use: a job's output is read
// while it grows.
type capture struct {
	limits Limits

	mu      sync.Mutex
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // in the full ring, where its oldest byte is
	total   int64
	lines   int64 // newlines in all of it
	spill   *os.File
	spilled int64
	failed  bool // the spill file could not be made or written
	closed  bool
	ended   bool // nothing will be added
}

func newCapture(l Limits) *capture { return &capture{limits: l} }

func (c *capture) headMax() int { return c.limits.Inline - c.limits.Inline/2 }
func (c *capture) tailMax() int { return c.limits.Inline / 2 }

func (c *capture) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spillOver(p)
	c.total += int64(len(p))
	c.lines += int64(bytes.Count(p, []byte{'\n'}))
	if n := min(len(p), c.headMax()-len(c.head)); n > 0 {
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	c.writeTail(p)
}

func (c *capture) writeTail(p []byte) {
	size := c.tailMax()
	if len(p) > size { // only its end can remain
		p = p[len(p)-size:]
	}
	if n := min(len(p), size-len(c.tail)); n > 0 {
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % size
		p = p[n:]
	}
}

// spillOver is called before p is added to what is in memory.
func (c *capture) spillOver(p []byte) {
	if c.limits.Spill <= 0 || c.failed || c.closed || c.spilled >= c.limits.Spill {
		return
	}
	if c.spill == nil {
		if c.total+int64(len(p)) <= int64(c.limits.Inline) {
			return
		}
		f, err := newSpillFile()
		if err != nil {
			c.failed = true
			return
		}
		c.spill = f
		c.appendSpill(c.head)
		c.appendSpill(c.tail) // nothing was lost so far, so the ring is in order
	}
	c.appendSpill(p)
}

func (c *capture) appendSpill(p []byte) {
	p = p[:min(int64(len(p)), c.limits.Spill-c.spilled)]
	if len(p) == 0 || c.failed {
		return
	}
	n, err := c.spill.Write(p)
	c.spilled += int64(n)
	c.failed = err != nil // a full disk costs the rest of the copy, not the call
}

// available is how many bytes from the beginning of the stream can be read.
func (c *capture) available() int64 {
	switch {
	case c.total <= int64(c.limits.Inline):
		return c.total
	case c.spilled > int64(len(c.head)) && !c.closed:
		return c.spilled
	default:
		return int64(len(c.head))
	}
}

// orderedTail returns a copy of the end of the stream.
func (c *capture) orderedTail() []byte {
	b := make([]byte, 0, len(c.tail))
	return append(append(b, c.tail[c.next:]...), c.tail[:c.next]...)
}

func (c *capture) readAt(p []byte, off int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readLocked(p, off)
}

func (c *capture) readLocked(p []byte, off int64) (int, error) {
	end := c.available()
	if off < 0 || off >= end {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), end-off)]
	n := 0
	switch {
	case c.total > int64(c.limits.Inline) && end > int64(len(c.head)):
		var err error
		if n, err = c.spill.ReadAt(want, off); err != nil {
			return n, err
		}
	default:
		if off < int64(len(c.head)) {
			n = copy(want, c.head[off:])
		}
		if n < len(want) {
			n += copy(want[n:], c.tail[off+int64(n)-int64(len(c.head)):])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (c *capture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// read reads from off or, where what comes there was not kept, from the beginning
// of the end that was. It returns where that is, and whether nothing will follow.
func (c *capture) read(p []byte, off int64) (n int, start int64, last bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.total - int64(len(c.tail)) // from here on the end is in memory
	start = off
	if off < c.available() {
		if n, err = c.readLocked(p, off); err == io.EOF {
			err = nil
		}
	} else {
		start = max(off, min(kept, c.total))
	}
	end := start + int64(n)
	if err == nil && n < len(p) && end >= kept && end < c.total { // the file ends, the memory goes on
		n += copy(p[n:], c.orderedTail()[end-kept:])
		end = start + int64(n)
	}
	gap := end == c.available() && end < kept // and it will stay one
	return n, start, gap || c.ended && end >= c.total, err
}

func (c *capture) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.spill == nil {
		c.closed = true
		return nil
	}
	c.closed = true
	return c.spill.Close()
}
