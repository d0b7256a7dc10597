package server

import (
	"hash/crc32"
	"sync/atomic"
	"time"
)

// A client's lines are read on one goroutine at a time. Requests that are
// expected to be fast are served on that goroutine, so that they wake no other
// thread. For any other, another goroutine takes over reading first. It also
// does so when a request that was served inline turns out to be slow.

const (
	fastCall = 200 * time.Microsecond // within which calls of a tool must finish to be served by the goroutine that reads
	slowCall = 5 * time.Millisecond   // after which another goroutine takes over reading
)

// serveInline serves a request, and reports whether this goroutine goes on
// reading afterwards.
func (c *stdio) serveInline(x *exchange) bool {
	c.inflight.add(1)
	defer c.inflight.add(-1)
	c.current.Store(x)
	c.watch.Reset(slowCall)
	x.timed()
	return c.current.CompareAndSwap(x, nil)
}

// serveDetached has another goroutine read on, and serves a request. It returns
// false: this goroutine no longer reads.
func (c *stdio) serveDetached(out *lineSink, serve func()) bool {
	c.inflight.add(1)
	defer c.inflight.add(-1)
	c.in = c.in.Detach()
	out.detach()
	go c.read() // ends with the input
	serve()
	return false
}

// detachIfSlow reads on in place of a goroutine that is still serving a request
// inline.
func (c *stdio) detachIfSlow() {
	x := c.current.Load()
	if x == nil || !c.current.CompareAndSwap(x, nil) {
		return
	}
	c.server.pace.of(x.name).Store(false) // so that further calls of this tool do not block the reader
	c.in = c.in.Detach()
	x.out.(*lineSink).detach()
	c.read()
}

// pace records which tools were fast when they were last called, by a hash of
// the name as clients write it.
type pace [4096]atomic.Bool

func (p *pace) of(name []byte) *atomic.Bool { return &p[crc32.ChecksumIEEE(name)%uint32(len(p))] }

// fast reports whether a request is expected to finish within [fastCall].
func (x *exchange) fast() bool {
	switch x.Method {
	case methodCall:
		return x.server.pace.of(x.name).Load()
	case methodRead, methodPrompt, methodComplete, methodListen:
		return false
	}
	return true
}

// timed serves a request and records whether its tool was fast.
func (x *exchange) timed() {
	begun := time.Now()
	x.serve()
	if x.Method != methodCall {
		return
	}
	if fast, known := time.Since(begun) < fastCall, x.server.pace.of(x.name); fast != known.Load() {
		known.Store(fast)
	}
}
