// Package mcpclient is an MCP client: over stdio, Streamable HTTP and HTTP+SSE, in
// protocol versions with a handshake (2024-11-05 to 2025-11-25) and in 2026-07-28,
// which has none and is called modern here.
//
// It keeps what callers and servers send byte for byte: parameters, results, error
// data, items of lists and notifications are raw JSON. Every wait ends with its
// context or a deadline, every message is bounded, and [Client.Close] leaves no
// goroutine behind. What a server does wrong costs the calls that it belongs to.
package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Options say how a client presents itself, what it answers, and its limits.
type Options struct {
	Name, Version string

	// Protocol is the one protocol version to speak. If it is empty, the newest
	// one that the server supports is negotiated. There are servers that end when the
	// first message over stdio is none of their version: whoever has started such a
	// server starts it again, with one that has a handshake.
	Protocol string
	// Handshake begins with a handshake, and does not try whether the server speaks 2026-07-28:
	// some end when they are asked, or never answer.
	Handshake bool

	// Handlers answer requests of the server by their method, such as
	// elicitation/create, sampling/createMessage and roots/list, with a value that
	// marshals to the result. They run concurrently. The context has the values of that
	// of the call which the server serves, if that is known: see [Callers]. A handler
	// returns when its context ends. An error reaches the server as it is if it is a
	// [*jsonrpc.Error]. Without a handler for elicitation, sampling or roots, the client
	// does not declare the capability.
	Handlers map[string]Handler

	// OpensURLs says that the handler of elicitation/create also has its user open
	// addresses (mode url).
	OpensURLs bool

	// Notify takes the server's notifications, except those of progress. It is called
	// in their order by the goroutine that reads, so it must return soon. The context
	// is as that of a handler.
	Notify func(ctx context.Context, method string, params json.RawMessage)

	LogLevel        string        // the least level of log messages to ask for; empty asks for none
	MaxMessageBytes int           // of one message that is received; 16 MiB by default
	ConnectTimeout  time.Duration // until the client is connected; 30 s by default
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

// ErrTooLong is the error of a call whose response exceeds the limit. Over stdio, a
// message that does not say which call it answers ends all calls in flight.
var ErrTooLong = errors.New("a message of the server exceeds the limit")

// ErrEndless is the error of a list whose pages repeat themselves or are too many.
var ErrEndless = errors.New("does not end")

// Bounds of what a server can make the client do.
const (
	maxAnswers    = 64 // to requests of the server, in work or on their way
	maxRounds     = 20 // of one call that requires input
	maxProgress   = 256
	maxListItems  = 100_000
	maxListPages  = 2_000
	maxStalePages = 10 // in a row, without an item that is new
	maxListBytes  = 64 << 20
	stopTime      = 5 * time.Second // for the last messages of a connection
)

// transport carries messages. What it receives it gives to [Client.receive].
type transport interface {
	// send sends a message, whose bytes are the transport's from then on. With a call
	// it returns as soon as possible; what fails later, it reports to the call.
	send(ctx context.Context, out *outgoing, x *call) error
	// connected is called after the handshake.
	connected()
	// close ends the connection, and with it the goroutines of the transport.
	close()
}

// outgoing is a message to the server.
type outgoing struct {
	msg    []byte // has room for the end of a line
	method string // empty for a response
	params []byte
	schema json.RawMessage // of the tool that is called; may be nil
}

// Client is a connection to one server. It is safe for concurrent use.
type Client struct {
	opts      Options
	transport transport
	peer      atomic.Pointer[peer]
	both      bool // see Both

	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // goroutines of the connection

	mu     sync.Mutex // held to end the connection, or to start a goroutine
	calls  calls      // in flight
	served served     // requests of the server
}

// peer is what is known of the server.
type peer struct {
	Server
	modern bool

	// What the modern version requires in _meta:
	about        []byte // the members of the version and the client's information
	capabilities json.RawMessage
	taking       json.RawMessage // the same with tasks; nil if the server has none
	logLevel     []byte          // nil if none is asked for
}

func newClient(opts Options) *Client {
	opts.MaxMessageBytes = cmp.Or(opts.MaxMessageBytes, 16<<20)
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, 30*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Minute)
	c := &Client{opts: opts, calls: calls{byID: map[int64]*call{}}, served: served{cancel: map[string]context.CancelCauseFunc{}}}
	c.setServer(Server{})
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

func (c *Client) setServer(s Server) {
	p := &peer{Server: s, modern: mcp.IsModernProtocol(s.Protocol)}
	if p.modern {
		p.about = rawjson.AppendString(appendMember([]byte{'{'}, []byte(mcp.MetaKeyProtocolVersion), nil), s.Protocol)
		p.about = appendMember(p.about, []byte(mcp.MetaKeyClientInfo), jsonrpc.AppendValue(nil, c.opts.info()))[1:]
		declared := c.opts.capabilities()
		p.capabilities = jsonrpc.AppendValue(nil, declared)
		if rawjson.Member(rawjson.Member(s.Capabilities, "extensions"), tasksExtension) != nil {
			declared["extensions"] = map[string]any{tasksExtension: struct{}{}}
			p.taking = jsonrpc.AppendValue(nil, declared)
		}
		if c.opts.LogLevel != "" {
			p.logLevel = rawjson.AppendString(nil, c.opts.LogLevel)
		}
	}
	c.peer.Store(p)
}

// Server returns what the server says about itself.
func (c *Client) Server() Server { return c.peer.Load().Server }

// Both reports whether a server with which there was a handshake has answered, too late, that
// it speaks the modern version.
func (c *Client) Both() bool { return c.both }

func (c *Client) modern() bool { return c.peer.Load().modern }

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
	Method string

	// Params marshals to an object; nil is none. A json.RawMessage must be valid and is
	// sent as it is, its _meta too, except for what the client itself has to set there:
	// progressToken and, in 2026-07-28, the version, the client's information and its
	// capabilities.
	Params any

	// Progress takes notifications of progress, on the goroutine of the caller. Without
	// it, none are asked for.
	Progress func(Progress)

	// InputSchema is that of the tool which tools/call calls. It is needed if it has
	// x-mcp-header.
	InputSchema json.RawMessage

	// RelayInput returns a result that requires input (resultType input_required) as it
	// is, instead of having the handlers provide the input.
	RelayInput bool

	// Tasks accepts a task as the answer to tools/call, for [Task] to wait for. The requests
	// about that task have it, too.
	Tasks bool
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
	ctx, cancel := c.opts.bounded(ctx)
	defer cancel()
	return c.do(ctx, req)
}

// bounded returns a context that ends after the time for calls, unless it has a deadline.
func (o *Options) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, o.Timeout)
}

func (c *Client) do(ctx context.Context, req Request) (json.RawMessage, error) {
	for range maxRounds {
		result, err := c.roundTrip(ctx, &req)
		if err == nil && IsTask(result) && !(req.Tasks && c.modern()) {
			err = fmt.Errorf("invalid result of %s: a task, which the request cannot be answered with", req.Method)
		}
		if err != nil || req.RelayInput || !c.modern() || !requiresInput(result) {
			return result, err
		}
		var required struct {
			Requests map[string]inputRequest `json:"inputRequests"`
			State    json.RawMessage         `json:"requestState"`
		}
		if err := json.Unmarshal(result, &required); err != nil {
			return nil, fmt.Errorf("invalid result of %s: %w", req.Method, err)
		}
		answers, err := c.provideInput(ctx, required.Requests)
		if err != nil {
			return nil, err
		}
		given, err := givenParams(req.Params)
		if err != nil {
			return nil, err
		}
		given = rawjson.With(given, "inputResponses", jsonrpc.AppendValue(nil, answers))
		if given = rawjson.Without(given, "requestState"); required.State != nil {
			given = rawjson.With(given, "requestState", required.State)
		}
		req.Params = json.RawMessage(given)
	}
	return nil, fmt.Errorf("the server still requires input after %d rounds of %s", maxRounds, req.Method)
}

// requiresInput looks at the result type only if the text of a result suggests it.
func requiresInput(result json.RawMessage) bool {
	return bytes.Contains(result, []byte("input_required")) && string(rawjson.Member(result, "resultType")) == `"input_required"`
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.transport.send(ctx, &outgoing{msg: jsonrpc.Request(nil, method, params), method: method}, nil)
}

// The member of the result that has the items of a list.
var listMembers = map[string]string{
	string(mcp.MethodToolsList): "tools", string(mcp.MethodPromptsList): "prompts",
	string(mcp.MethodResourcesList): "resources", string(mcp.MethodResourcesTemplatesList): "resourceTemplates", MethodSkillsList: "skills",
}

// The methods of skills, and the extension that they belong to (SEP-2640).
const (
	MethodSkillsList    = "skills/list"
	MethodSkillsGet     = "skills/get"
	MethodDirectoryRead = "resources/directory/read"
	ExtensionSkills     = "io.modelcontextprotocol/skills"
)

// List returns the items of all pages of a list such as tools/list, each as the
// server sent it. With an error it returns those that came before.
func (c *Client) List(ctx context.Context, method string) (items []json.RawMessage, err error) {
	member, ok := listMembers[method]
	if !ok {
		return nil, fmt.Errorf("%s is not a list", method)
	}
	ctx, cancel := c.opts.bounded(ctx)
	defer cancel()
	params := map[string]any{}
	seen, have, seed := map[string]bool{}, map[uint64]bool{}, maphash.MakeSeed() // cursors, items
	size, stale := 0, 0
	for {
		result, err := c.Call(ctx, method, params)
		if err != nil {
			return items, err
		}
		var cursor string
		before := len(items)
		err = rawjson.Object(result, func(name, value []byte) error {
			switch string(name) {
			case member:
				if string(value) == "null" { // an empty list in Go
					return nil
				}
				return rawjson.Array(value, func(item []byte) error {
					items = append(items, item)
					return nil
				})
			case "nextCursor":
				return json.Unmarshal(value, &cursor)
			}
			return nil
		})
		if err == nil && rawjson.Member(result, member) == nil {
			err = fmt.Errorf("it has no %s", member)
		}
		if err != nil {
			return items, fmt.Errorf("invalid result of %s: %w", method, err)
		}
		if size += len(result); cursor == "" && before == 0 {
			return items, nil
		}
		known := len(have)
		for _, item := range items[before:] {
			have[maphash.Bytes(seed, item)] = true
		}
		if stale++; len(have) > known {
			stale = 0
		} else { // it has been there, as from a server that overlooks the cursor
			items = items[:before]
		}
		switch {
		case cursor == "":
			return items, nil
		case seen[cursor] || stale > maxStalePages || len(items) > maxListItems || len(seen) > maxListPages || size > maxListBytes:
			return items, fmt.Errorf("%s %w: after %d pages, %d items and %d bytes the server returned the cursor %.100q",
				method, ErrEndless, len(seen)+1, len(items), size, cursor)
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
