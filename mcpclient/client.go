// Package mcpclient is an MCP client: over stdio and Streamable HTTP, in protocol
// versions with a handshake (2024-11-05 to 2025-11-25) and in 2026-07-28, which
// has none and is called modern here.
//
// It keeps what servers send byte for byte: results, error data, items of lists
// and notifications are raw JSON. Every wait ends with its context or a deadline,
// every message is bounded, and [Client.Close] leaves no goroutine behind.
package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/jsonrpc"
)

// Options say how a client presents itself, what it answers, and its limits.
type Options struct {
	Name, Version string

	// Protocol is the one protocol version to speak. If it is empty, the newest
	// one that the server supports is negotiated.
	Protocol string

	// Handlers answer requests of the server by their method, such as
	// elicitation/create, sampling/createMessage and roots/list, with a value that
	// marshals to the result. They run concurrently. The context is that of the call
	// which the server serves, if that is known; a handler returns when it ends. An error
	// reaches the server as it is if it is a [*jsonrpc.Error]. Without a handler for
	// elicitation, sampling or roots, the client does not declare the capability.
	Handlers map[string]Handler

	// OpensURLs says that the handler of elicitation/create also has its user open
	// addresses (mode url).
	OpensURLs bool

	// Notify takes the server's notifications, except those of progress. It is called
	// in their order by the goroutine that reads, so it must return soon.
	Notify func(method string, params json.RawMessage)

	LogLevel        string        // the least level of log messages to ask for; empty asks for none
	MaxMessageBytes int           // of one message that is received; 16 MiB by default
	ConnectTimeout  time.Duration // for each step until the client is connected; 10 s by default
	Timeout         time.Duration // for calls whose context has no deadline, and for handlers; 5 min by default
}

// A Handler answers a request of the server.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// Server is what a server says about itself.
type Server struct {
	Protocol     string          // the version that was negotiated
	Info         json.RawMessage // name and version; nil if it does not say
	Capabilities json.RawMessage
	Instructions string
}

// ErrClosed is the cause of failures after [Client.Close].
var ErrClosed = errors.New("the client is closed")

// ErrTooLong is the error of calls that were in flight when a message arrived
// which exceeds the limit: over stdio it may be the response to any of them.
var ErrTooLong = errors.New("a message of the server exceeds the limit")

// Bounds of what a server can make the client do.
const (
	maxHandlers  = 16
	maxRounds    = 20 // of one call that requires input
	maxProgress  = 256
	maxListItems = 100_000
	stopTime     = 5 * time.Second // for the last messages of a connection
)

// transport carries messages. What it receives it gives to [Client.receive].
type transport interface {
	// send sends a message. With a call it returns as soon as possible; what fails
	// later, it reports to the call.
	send(ctx context.Context, out *outgoing, c *call) error
	// connected is called after the handshake.
	connected()
	// close ends the connection, and with it the goroutines of the transport.
	close()
}

// outgoing is a message to the server.
type outgoing struct {
	msg    []byte
	method string // empty for a response
	params json.RawMessage
	schema json.RawMessage // of the tool that is called; may be nil
}

// Client is a connection to one server. It is safe for concurrent use.
type Client struct {
	opts      Options
	transport transport
	server    atomic.Pointer[Server]

	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // goroutines of the connection

	mu      sync.Mutex
	lastID  int
	calls   map[string]*call                   // in flight, by ID
	serving map[string]context.CancelCauseFunc // requests of the server, by ID
}

func newClient(opts Options) *Client {
	opts.MaxMessageBytes = cmp.Or(opts.MaxMessageBytes, 16<<20)
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, 10*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Minute)
	c := &Client{opts: opts, calls: map[string]*call{}, serving: map[string]context.CancelCauseFunc{}}
	c.server.Store(&Server{})
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Server returns what the server says about itself.
func (c *Client) Server() Server { return *c.server.Load() }

func (c *Client) modern() bool { return mcp.IsModernProtocol(c.server.Load().Protocol) }

// Done is closed when the connection has ended; [Client.Err] then returns why.
func (c *Client) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection has ended, or nil.
func (c *Client) Err() error { return context.Cause(c.ctx) }

// Close ends the connection and all calls, and waits until its goroutines have
// ended.
func (c *Client) Close() {
	c.transport.close()
	c.fail(ErrClosed)
	c.running.Wait()
}

// fail ends the connection. Only the first cause counts.
func (c *Client) fail(cause error) {
	c.mu.Lock() // so that nothing is started afterwards
	defer c.mu.Unlock()
	c.cancel(cause)
}

// start runs f on a goroutine of the connection, unless that has ended.
func (c *Client) start(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Err(); err != nil {
		return err
	}
	c.running.Go(f)
	return nil
}

// Request is a request to the server.
type Request struct {
	Method      string
	Params      any             // marshals to an object; nil for none. A json.RawMessage is sent as it is
	Progress    func(Progress)  // if not nil, progress is asked for and passed to it, on the goroutine of the caller
	InputSchema json.RawMessage // of the tool that tools/call calls; needed if it has x-mcp-header
}

// Progress is how far a call has got.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"` // 0 if it is not known
	Message string  `json:"message"`
}

// Call is [Client.Do] with a method and parameters only.
func (c *Client) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return c.Do(ctx, Request{Method: method, Params: params})
}

// CallTool calls a tool. Arguments marshal to an object; nil is none.
func (c *Client) CallTool(ctx context.Context, name string, arguments any, progress func(Progress)) (json.RawMessage, error) {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	return c.Do(ctx, Request{Method: string(mcp.MethodToolsCall), Params: params, Progress: progress})
}

// Do sends a request and returns the result as the server sent it. An error that
// the server answered with is a [*jsonrpc.Error], whose Data is raw. If ctx ends
// first, the server is asked to cancel the request and the error is the cause of
// ctx. When a modern server requires input, the handlers provide it.
func (c *Client) Do(ctx context.Context, req Request) (json.RawMessage, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.Timeout)
		defer cancel()
	}
	return c.do(ctx, req)
}

func (c *Client) do(ctx context.Context, req Request) (json.RawMessage, error) {
	var input map[string]any
	for range maxRounds {
		result, err := c.roundTrip(ctx, req, input)
		if err != nil || !c.modern() {
			return result, err
		}
		var required struct {
			Type     string                  `json:"resultType"`
			Requests map[string]inputRequest `json:"inputRequests"`
			State    json.RawMessage         `json:"requestState"`
		}
		if json.Unmarshal(result, &required) != nil || required.Type != "input_required" {
			return result, nil
		}
		answers, err := c.provideInput(ctx, required.Requests)
		if err != nil {
			return nil, err
		}
		input = map[string]any{"inputResponses": answers}
		if required.State != nil {
			input["requestState"] = required.State
		}
	}
	return nil, fmt.Errorf("the server still requires input after %d rounds of %s", maxRounds, req.Method)
}

// call is a request in flight.
type call struct {
	ctx      context.Context
	id       json.RawMessage
	ended    chan outcome  // has room for one
	done     atomic.Bool   // there is an outcome
	progress chan Progress // not yet passed on; nil if nobody asked for it
}

type outcome struct {
	result json.RawMessage
	err    error
}

// end ends a call. Only the first outcome counts.
func (c *call) end(o outcome) {
	if !c.done.Swap(true) {
		c.ended <- o
	}
}

// roundTrip sends a request once and waits for its response.
func (c *Client) roundTrip(ctx context.Context, req Request, input map[string]any) (json.RawMessage, error) {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &call{ctx: callCtx, ended: make(chan outcome, 1)}
	if req.Progress != nil {
		x.progress = make(chan Progress, maxProgress)
	}
	c.mu.Lock()
	c.lastID++
	x.id = strconv.AppendInt(nil, int64(c.lastID), 10)
	c.calls[string(x.id)] = x
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, string(x.id))
	}()
	out := &outgoing{method: req.Method, schema: req.InputSchema}
	var err error
	if out.params, err = c.params(req, x.id, input); err != nil {
		return nil, err
	}
	out.msg = jsonrpc.Request(x.id, req.Method, out.params)
	if err := c.transport.send(ctx, out, x); err != nil {
		return nil, err
	}
	for {
		select {
		case p := <-x.progress:
			req.Progress(p)
		case o := <-x.ended:
			for len(x.progress) > 0 {
				req.Progress(<-x.progress)
			}
			return o.result, o.err
		case <-ctx.Done():
			if req.Method != string(mcp.MethodInitialize) {
				c.cancelCall(x, context.Cause(ctx))
			}
			return nil, context.Cause(ctx)
		case <-c.ctx.Done():
			x.end(outcome{err: c.Err()}) // unless the response was the last message of the connection
		}
	}
}

// cancelCall tells the server that nobody waits for a call any more. To a modern
// HTTP server, the end of the request says so.
func (c *Client) cancelCall(x *call, cause error) {
	if _, http := c.transport.(*httpTransport); http && c.modern() {
		return
	}
	_ = c.start(func() {
		ctx, cancel := context.WithTimeout(c.ctx, stopTime)
		defer cancel()
		_ = c.Notify(ctx, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": x.id, "reason": cause.Error()})
	})
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.transport.send(ctx, &outgoing{msg: jsonrpc.Request(nil, method, params), method: method}, nil)
}

// The member of the result that has the items of a list.
var listMembers = map[string]string{
	string(mcp.MethodToolsList): "tools", string(mcp.MethodPromptsList): "prompts",
	string(mcp.MethodResourcesList): "resources", string(mcp.MethodResourcesTemplatesList): "resourceTemplates",
}

// List returns the items of all pages of a list such as tools/list, each as the
// server sent it.
func (c *Client) List(ctx context.Context, method string) (items []json.RawMessage, err error) {
	member, ok := listMembers[method]
	if !ok {
		return nil, fmt.Errorf("%s is not a list", method)
	}
	params := map[string]any{}
	seen := map[string]bool{}
	for {
		result, err := c.Call(ctx, method, params)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var list []json.RawMessage
		var cursor string
		err = json.Unmarshal(result, &page)
		if err == nil {
			err = json.Unmarshal(page[member], &list)
		}
		if err == nil && page["nextCursor"] != nil {
			err = json.Unmarshal(page["nextCursor"], &cursor)
		}
		if err != nil {
			return nil, fmt.Errorf("invalid result of %s: %w", method, err)
		}
		items = append(items, list...)
		switch {
		case cursor == "":
			return items, nil
		case seen[cursor] || len(items) > maxListItems:
			return nil, fmt.Errorf("%s does not end: it returned %d items and the cursor %.100q", method, len(items), cursor)
		}
		seen[cursor] = true
		params["cursor"] = cursor
	}
}

// Filter says which changes the server is to notify of. List changes of servers
// with a handshake are notified of in any case.
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// Listen subscribes to changes, which arrive at Options.Notify, until ctx ends or
// the server ends the subscription.
func (c *Client) Listen(ctx context.Context, f Filter) error {
	if c.modern() {
		_, err := c.do(ctx, Request{Method: string(mcp.MethodSubscriptionsListen), Params: map[string]any{"notifications": f}})
		return err
	}
	for i, uri := range f.URIs {
		if _, err := c.Call(ctx, string(mcp.MethodResourcesSubscribe), map[string]any{"uri": uri}); err != nil {
			f.URIs = f.URIs[:i]
			c.unsubscribe(f.URIs)
			return err
		}
	}
	select {
	case <-ctx.Done():
		c.unsubscribe(f.URIs)
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return c.Err()
	}
}

func (c *Client) unsubscribe(uris []string) {
	ctx, cancel := context.WithTimeout(c.ctx, stopTime)
	defer cancel()
	for _, uri := range slices.Backward(uris) {
		_, _ = c.Call(ctx, string(mcp.MethodResourcesUnsubscribe), map[string]any{"uri": uri})
	}
}
