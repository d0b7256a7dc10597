package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// reader reads a client's lines on one goroutine. Requests that are known to be
// fast are served on that goroutine, so that they wake no other thread. For any
// other, another goroutine takes over reading first. It also does so when a
// request that was served inline turns out to be slow.
type reader struct {
	*stdio
	ctx context.Context

	state   atomic.Uint64            // goes up by one when serving a request inline begins, and when it ends
	current atomic.Pointer[exchange] // the request being served inline

	watch    *time.Timer // calls detachIfSlow
	watching atomic.Bool // the timer is running
	seen     uint64      // state when the timer last ran
}

// fastCall is the time within which calls of a tool must finish to be served by
// the goroutine that reads.
const fastCall = 200 * time.Microsecond

// watchInterval is how often a request that is served inline is checked. It is
// slow when it is still there at the second check.
const watchInterval = 5 * time.Millisecond

func newReader(c *stdio, ctx context.Context) *reader {
	r := &reader{stdio: c, ctx: ctx}
	r.watch = time.AfterFunc(time.Hour, r.detachIfSlow)
	r.watch.Stop()
	return r
}

// serveInline serves a request, and reports whether this goroutine goes on
// reading afterwards.
func (r *reader) serveInline(x *exchange, ctx context.Context) bool {
	r.inflight.add(1)
	defer r.inflight.add(-1)
	r.current.Store(x)
	begun := r.state.Add(1)
	if !r.watching.Load() && !r.watching.Swap(true) {
		r.watch.Reset(watchInterval)
	}
	x.timed(ctx)
	return r.state.CompareAndSwap(begun, begun+1)
}

// serveDetached has another goroutine read on, and serves a request. It returns
// false: this goroutine no longer reads.
func (r *reader) serveDetached(out *lineSink, serve func()) bool {
	r.inflight.add(1)
	defer r.inflight.add(-1)
	r.in = r.in.Detach()
	out.detach()
	go r.read(r.ctx) // ends with the input
	serve()
	return false
}

// detachIfSlow reads on in place of a goroutine that is still serving the request
// it was serving at the last check. The timer stops while nothing happens.
func (r *reader) detachIfSlow() {
	now := r.state.Load()
	if now == r.seen {
		if serving := now%2 == 1; serving && r.state.CompareAndSwap(now, now+1) {
			x := r.current.Load()
			r.server.pace.set(x.name, false) // so that further calls of this tool do not block the reader
			r.in = r.in.Detach()
			x.out.(*lineSink).detach()
			r.read(r.ctx)
			return
		}
		r.watching.Store(false)
		if r.state.Load() == now || r.watching.Swap(true) {
			return // unless something has begun just now
		}
	}
	r.seen = now
	r.watch.Reset(watchInterval)
}

// pace records which tools were fast when they were last called.
type pace struct {
	mu   sync.RWMutex
	fast map[string]bool // by name, as clients write it
}

// Bounds of what is recorded: clients can write a name in many ways, and names
// that no tool has.
const (
	maxPaced     = 1000
	maxPacedName = 256
)

func (p *pace) isFast(name []byte) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.fast[string(name)]
}

func (p *pace) set(name []byte, fast bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !fast {
		delete(p.fast, string(name))
		return
	}
	if p.fast == nil {
		p.fast = map[string]bool{}
	}
	if len(p.fast) < maxPaced && len(name) <= maxPacedName {
		p.fast[string(name)] = true
	}
}

// fast reports whether a request is expected to finish within [fastCall].
func (x *exchange) fast() bool {
	switch x.Method {
	case methodCall:
		return x.server.pace.isFast(x.name)
	case methodRead, methodPrompt, methodComplete, methodListen:
		return false
	}
	return true
}

// timed serves a request and notes whether its tool was fast.
func (x *exchange) timed(ctx context.Context) {
	begun := time.Now()
	x.serve(ctx)
	if x.Method != methodCall {
		return
	}
	if fast := time.Since(begun) < fastCall; fast != x.server.pace.isFast(x.name) {
		x.server.pace.set(x.name, fast)
	}
}
