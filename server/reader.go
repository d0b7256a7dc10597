package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// reader is a turn to read a client's lines. Requests that are known to be fast
// are served on the goroutine that reads, so that they wake no other thread.
// Any other ends the turn: another goroutine reads on meanwhile. So does one
// that turns out to be slow after all, when it is noticed.
type reader struct {
	*stdio
	ctx context.Context

	state   atomic.Uint64            // goes up by one when serving a request begins, and when it ends
	current atomic.Pointer[exchange] // the request being served

	watch    *time.Timer // looks at state
	watching atomic.Bool // the timer is running
	seen     uint64      // state when it was last looked at
}

// fastCall is what a request may take that is served by the goroutine that
// reads.
const fastCall = 200 * time.Microsecond

// lookInterval is how often one looks at whether a request that should be fast
// still runs. It does so at the second look.
const lookInterval = 5 * time.Millisecond

// read reads and serves until the input ends or the turn does.
func (c *stdio) read(ctx context.Context) {
	r := &reader{stdio: c, ctx: ctx}
	r.watch = time.AfterFunc(time.Hour, r.look)
	r.watch.Stop()
	for {
		line, err := c.in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			c.refuse(nil, invalidRequest(fmt.Sprintf("the message is longer than %d bytes", c.in.max)))
		case err != nil:
			c.ended <- err
			return
		case len(bytes.TrimSpace(line)) == 0:
		case !r.serve(line):
			return
		}
		if !c.in.buffered() {
			c.out.flush()
		}
	}
}

// serve serves one line, and reports whether the turn goes on.
func (r *reader) serve(line []byte) bool {
	release, ok := r.hold(line)
	if bytes.TrimLeft(line, " \t")[0] == '[' {
		return r.serveBatch(line, release, ok)
	}
	msg, err := parseMessage(line)
	if err != nil {
		if release != nil {
			release()
		}
		r.refuse(msg.id, err)
		return true
	}
	out := &lineSink{w: r.stdio.out}
	x, ctx := r.server.open(r.ctx, r.session, r.caller(), &msg, out)
	switch {
	case x == nil:
		if release != nil {
			release()
		}
		return true
	case msg.method == methodInitialize:
		x.serve(ctx) // the turn does not end here: what follows is read by what this settles
		return true
	case !ok:
		x.fail(busyWith("long messages"))
		x.end()
		return true
	case release != nil:
		return r.apart(out, func() {
			defer release()
			x.serve(ctx)
		})
	case !x.fast():
		return r.apart(out, func() { x.paced(ctx) })
	}
	return r.here(x, ctx)
}

// hold counts a long line against what all long messages may have together; the
// reader does not wait for that. Release is nil if there is nothing to give back.
func (r *reader) hold(line []byte) (release func(), ok bool) {
	n := int64(len(line))
	if n <= longMessage {
		return nil, true
	}
	owner := r.session.owner
	if !r.server.held.TryAcquire(owner, n) {
		return nil, false
	}
	return func() { r.server.held.Release(owner, n) }, true
}

// here serves a request within the turn.
func (r *reader) here(x *exchange, ctx context.Context) bool {
	r.serving.add()
	defer r.serving.done()
	r.current.Store(x)
	begun := r.state.Add(1)
	if !r.watching.Load() && !r.watching.Swap(true) {
		r.watch.Reset(lookInterval)
	}
	x.paced(ctx)
	return r.state.CompareAndSwap(begun, begun+1)
}

// apart serves a request after the turn.
func (r *reader) apart(out *lineSink, serve func()) bool {
	r.serving.add()
	defer r.serving.done()
	r.in = r.in.detach()
	out.detach()
	go r.read(r.ctx) // as this one, ends with the input
	serve()
	return false
}

// look ends the turn if the request that was being served when it last looked
// still is. While nothing happens it does not look.
func (r *reader) look() {
	now := r.state.Load()
	if now == r.seen {
		if serving := now%2 == 1; serving && r.state.CompareAndSwap(now, now+1) {
			x := r.current.Load()
			r.server.pace.set(x.params.name, false) // or its like, if there are more, would each take as long
			r.in = r.in.detach()
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
	r.watch.Reset(lookInterval)
}

// pace knows which tools have been fast when they were last called.
type pace struct {
	mu   sync.RWMutex
	fast map[string]bool // by name, as clients write it
}

// Bounds of what is remembered: there are many ways to write a name, and long
// ones that no tool has.
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

// fast reports whether a request is expected to take next to no time.
func (x *exchange) fast() bool {
	switch x.msg.method {
	case methodCall:
		return x.server.pace.isFast(x.params.name)
	case methodRead, methodPrompt, methodComplete, methodListen:
		return false
	}
	return true
}

// paced serves a request and notes how fast its tool was.
func (x *exchange) paced(ctx context.Context) {
	if x.msg.method != methodCall {
		x.serve(ctx)
		return
	}
	begun := time.Now()
	x.serve(ctx)
	if fast := time.Since(begun) < fastCall; fast != x.server.pace.isFast(x.params.name) {
		x.server.pace.set(x.params.name, fast)
	}
}
