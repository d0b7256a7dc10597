package mcpclient

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// calls are the calls of a connection that wait for their responses or, left by those who made them, may still be served.
type calls struct {
	mu      sync.Mutex
	last    int64 // ID
	byID    map[int64]*call
	unknown time.Time // until then, calls may be served that byID does not have
}

// add gives a call its ID.
func (cs *calls) add(x *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.last++
	x.id = cs.last
	cs.byID[x.id] = x
}

// with returns the call of an ID or progress token, or nil.
func (cs *calls) with(id []byte) *call {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		if n, err = strconv.ParseInt(string(jsonrpc.IDKey(id)), 10, 64); err != nil {
			return nil
		}
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.byID[n]
}

// fail ends all calls.
func (cs *calls) fail(err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, x := range cs.byID {
		x.end(outcome{err: err})
	}
}

// answered removes a call that was left, as the server has answered it after all.
func (cs *calls) answered(x *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !x.left.IsZero() {
		delete(cs.byID, x.id)
	}
}

// attach has a request of the server that came with a call end with it.
func (cs *calls) attach(x *call, cancel context.CancelCauseFunc) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.byID[x.id] == x && x.left.IsZero() {
		x.handlers = append(x.handlers, cancel)
	} else {
		cancel(errEnded)
	}
}

// forget removes a call that has its outcome, and ends what it made the client do.
func (cs *calls) forget(x *call) {
	close(x.over)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.byID, x.id)
	for _, cancel := range x.handlers {
		cancel(errEnded)
	}
}

// leave keeps a call that nobody waits for any more as one that the server may
// still serve.
func (cs *calls) leave(x *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, cancel := range x.handlers {
		cancel(errEnded)
	}
	x.handlers = nil
	if !x.asks || x.done.Load() {
		delete(cs.byID, x.id)
		return
	}
	now := time.Now()
	x.left = now.Add(leftTime)
	if cs.dropLeft(now) > maxLeft {
		delete(cs.byID, x.id)
		cs.unknown = x.left
	}
}

// dropLeft drops the calls that were left long ago and returns how many remain.
func (cs *calls) dropLeft(now time.Time) (left int) {
	for id, x := range cs.byID {
		switch {
		case x.left.IsZero():
		case x.left.Before(now):
			delete(cs.byID, id)
		default:
			left++
		}
	}
	return left
}

// callersKey is the key of the contexts of the calls that the server may serve.
type callersKey struct{}

// Callers returns the contexts of the calls that what the server sent may belong
// to, of the context of a [Handler] or of [Options].Notify:
//
//   - With one, that is the call, and ctx has its values. Over HTTP the server said
//     so, by the stream of the response. Over stdio, HTTP+SSE and the stream of a
//     session, it was the only one in flight.
//   - With several, nobody knows which one it is, and ctx has the values of none. A
//     gateway may only tell users of it, or ask them, if all calls are theirs.
//   - With none, it belongs to no call, or too many have been canceled lately.
//
// A call that was canceled or has timed out counts for a while, as the server may
// still serve it. Calls that concern the connection, such as lists and pings, do
// not count. Nothing keeps a server from sending late what belongs to a call that
// it has answered.
func Callers(ctx context.Context) []context.Context {
	callers, _ := ctx.Value(callersKey{}).([]context.Context)
	return callers
}

// Calls that nobody waits for any more.
const (
	leftTime = 30 * time.Second // how long the server may still serve one
	maxLeft  = 1000
)

// serves returns a context for what the server sent, with the values of around: with from, on the stream of that call's response.
func (cs *calls) serves(around context.Context, from *call) context.Context {
	if from != nil {
		return withCallers(from.ctx, from.ctx)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	now := time.Now()
	if now.Before(cs.unknown) {
		return around
	}
	cs.dropLeft(now)
	var callers []context.Context
	var one *call
	for _, x := range cs.byID {
		if x.asks {
			callers, one = append(callers, x.ctx), x
		}
	}
	if len(callers) == 1 && one.left.IsZero() {
		return withCallers(context.WithoutCancel(one.ctx), callers...)
	}
	return withCallers(around, callers...)
}

func withCallers(ctx context.Context, callers ...context.Context) context.Context {
	return context.WithValue(ctx, callersKey{}, callers)
}
