package mcpclient

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// call is a request in flight.
type call struct {
	ctx     context.Context
	id      int64
	asks    bool            // the server may ask its user something meanwhile
	ended   chan outcome    // has room for one
	done    atomic.Bool     // there is an outcome
	http    context.Context // of the request; nil over stdio
	abandon func()          // ends http
	over    chan struct{}   // closed when there is an outcome, or the server knows that nobody waits for it
	unread  bool            // http goes on until what is left of the response has been read

	progress chan *Progress // not yet passed on; nil if nobody asked for it

	// Guarded by the mutex of calls:
	left     time.Time                 // nobody waits for it any more, but the server may still serve it
	handlers []context.CancelCauseFunc // of requests of the server that came with it
}

type outcome struct {
	result json.RawMessage
	err    error
}

// end ends a call. Only the first outcome counts.
func (x *call) end(o outcome) {
	if !x.done.Swap(true) {
		x.ended <- o
	}
}

// report has the caller told of progress. It drops the oldest report if the caller does
// not keep up.
func (x *call) report(p *Progress) {
	for {
		select {
		case x.progress <- p:
			return
		default:
		}
		select {
		case <-x.progress:
		default:
		}
	}
}

// roundTrip sends a request once and waits for its response.
func (c *Client) roundTrip(ctx context.Context, req *Request) (json.RawMessage, error) {
	x := &call{ctx: ctx, asks: asks(req.Method), ended: make(chan outcome, 1), over: make(chan struct{})}
	if _, stdio := c.transport.(*stdioTransport); !stdio {
		x.http, x.abandon = requestContext(ctx)
	}
	if req.Progress != nil {
		x.progress = make(chan *Progress, maxProgress)
	}
	c.calls.add(x)
	out := outgoing{method: req.Method, schema: req.InputSchema}
	err := c.peer.Load().compose(&out, req, x.id)
	if err == nil {
		err = c.transport.send(ctx, &out, x)
	}
	if err != nil {
		c.calls.forget(x)
		if x.abandon != nil {
			x.abandon()
		}
		return nil, err
	}
	closed := c.ctx.Done()
	for {
		select {
		case p := <-x.progress:
			req.Progress(*p)
		case o := <-x.ended:
			if o.err != nil && ctx.Err() != nil { // which may be why
				return nil, c.giveUp(x, req.Method)
			}
			for len(x.progress) > 0 {
				req.Progress(*<-x.progress)
			}
			c.calls.forget(x)
			return o.result, o.err
		case <-ctx.Done():
			return nil, c.giveUp(x, req.Method)
		case <-closed:
			x.end(outcome{err: c.Err()}) // unless the response was the last message of the connection
			closed = nil
		}
	}
}

// giveUp ends the wait for a response whose context has ended, and returns why.
func (c *Client) giveUp(x *call, method string) error {
	cause := context.Cause(x.ctx)
	c.calls.leave(x)
	if x.abandon != nil {
		x.abandon()
	}
	c.cancelCall(x, method, cause)
	return cause
}

// requestContext returns a context for the HTTP request of a call. It may last
// longer than the call, as the stream of the response has to be read to its end.
func requestContext(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline.Add(drainTime))
	}
	return context.WithCancel(free)
}

// cancelCall tells the server that nobody waits for a call any more. Of initialize the
// protocol has no way to say it, and to a modern HTTP server the end of the request does.
func (c *Client) cancelCall(x *call, method string, cause error) {
	if _, http := c.transport.(*httpTransport); method == string(mcp.MethodInitialize) || http && c.modern() {
		close(x.over)
		return
	}
	_ = c.start(func() {
		defer close(x.over)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), stopTime)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		id := json.RawMessage(strconv.AppendInt(nil, x.id, 10))
		_ = c.Notify(ctx, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": cause.Error()})
	})
}

// asks reports whether a server may ask the user something while it serves method.
func asks(method string) bool {
	switch mcp.MCPMethod(method) {
	case mcp.MethodServerDiscover, mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLogLevel, mcp.MethodSubscriptionsListen,
		mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodTasksGet, methodTasksUpdate, mcp.MethodTasksCancel, MethodSkillsList:
		return false
	}
	return true
}
