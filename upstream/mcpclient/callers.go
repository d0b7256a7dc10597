package mcpclient

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

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

// asks reports whether a server may ask the user something while it serves method.
func asks(method string) bool {
	switch mcp.MCPMethod(method) {
	case mcp.MethodServerDiscover, mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLogLevel, mcp.MethodSubscriptionsListen,
		mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return false
	}
	return true
}

// leave keeps a call that nobody waits for any more as one that the server may
// still serve.
func (c *Client) leave(x *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range x.handlers {
		cancel(errEnded)
	}
	x.handlers = nil
	if !x.asks || x.done.Load() {
		delete(c.calls, x.id)
		return
	}
	now := time.Now()
	x.left = now.Add(leftTime)
	if c.dropLeft(now) > maxLeft {
		delete(c.calls, x.id)
		c.unknown = x.left
	}
}

// dropLeft drops the calls that were left long ago and returns how many remain.
func (c *Client) dropLeft(now time.Time) (left int) {
	for id, x := range c.calls {
		switch {
		case x.left.IsZero():
		case x.left.Before(now):
			delete(c.calls, id)
		default:
			left++
		}
	}
	return left
}

// serves returns a context for what the server sent: with from, on the stream of
// that call's response.
func (c *Client) serves(from *call) context.Context {
	if from != nil {
		return withCallers(from.ctx, from.ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.unknown) {
		return c.ctx
	}
	c.dropLeft(now)
	var callers []context.Context
	var one *call
	for _, x := range c.calls {
		if x.asks {
			callers, one = append(callers, x.ctx), x
		}
	}
	if len(callers) == 1 && one.left.IsZero() {
		return withCallers(context.WithoutCancel(one.ctx), callers...)
	}
	return withCallers(c.ctx, callers...)
}

func withCallers(ctx context.Context, callers ...context.Context) context.Context {
	return context.WithValue(ctx, callersKey{}, callers)
}
