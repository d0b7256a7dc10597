package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/mcpshape"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Bounds of what one server may have callers wait for.
const (
	maxParked      = 200
	maxCompletions = 1000
	completionAge  = time.Hour
	maxLinked      = 2_000
	maxStatus      = 1_000 // bytes of what it says of a task
	linkedAge      = 24 * time.Hour
)

// calls are the requests that callers make at a server.
type calls struct {
	*entry
	links       *links
	watches     watches
	parked      share.Store[string, *pending]
	completions share.Store[string, func(string)]
	linked      share.Store[string, struct{}] // addresses in results, by the ID of the principal who got them
}

func newCalls(e *entry, ls *links) *calls {
	c := &calls{entry: e, links: ls, watches: watches{entry: e, main: ls.main}}
	c.parked.MaxEntries, c.parked.Dropped = maxParked, func(p *pending) { p.cancel(errGone) }
	c.completions.MaxEntries, c.completions.MaxAge = maxCompletions, completionAge
	c.linked.MaxEntries, c.linked.MaxAge, c.linked.Renew = maxLinked, linkedAge, true
	return c
}

// do sends a request for the caller whose context is given, who signs in if the server
// requires that.
func (c *calls) do(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	var result json.RawMessage
	err := c.links.signingIn(ctx, func() (err error) {
		result, err = c.relayed(ctx, req)
		return err
	})
	return result, err
}

// relayed sends a request, and passes on what the server says and asks meanwhile.
func (c *calls) relayed(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	if resume := call.Resumed(ctx); resume != "" {
		return c.resume(ctx, resume)
	}
	l := c.links.of(call.SessionOf(ctx).Principal.ID)
	if err := c.await(ctx, l); err != nil {
		return nil, err
	}
	r := l.relays.begin(ctx)
	if call.WantsProgress(ctx) {
		req.Progress = func(p mcpclient.Progress) {
			message := redact.Text(p.Message, c.secrets())
			call.ReportProgress(r.listening(), call.Progress{Done: p.Done, Total: p.Total, Message: message})
			r.done = p.Done
		}
	}
	if call.AsksInRounds(ctx) {
		return c.inRounds(ctx, l, r, req)
	}
	result, err := c.finish(context.WithValue(ctx, relayKey{}, r), l, r, req)
	l.relays.end(r)
	return result, err
}

// finish sends a request and, if the server answers with a task, waits for that: the caller
// gets a task, too, or the outcome.
func (c *calls) finish(ctx context.Context, l *link, r *relay, req mcpclient.Request) (result json.RawMessage, err error) {
	params, _ := req.Params.(json.RawMessage) // all have such
	params, ended := r.owner.Operation.Call(c.name, req.Method, params)
	defer func() { ended(errorType(err)) }()
	req.Params = params
	result, err = l.send(ctx, req)
	if err != nil || !mcpclient.IsTask(result) {
		return result, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, maxRounds, &mcpclient.TaskError{Problem: "has not finished its task in time"})
	defer stop()
	said := func(message string) { // which is progress
		if message = brief.Clip(message, maxStatus); req.Progress != nil {
			req.Progress(mcpclient.Progress{Done: r.done + 1, Message: message})
		}
	}
	message, _ := rawjson.String(rawjson.Member(result, "statusMessage"))
	call.Detach(r.current(), cmp.Or(brief.Clip(message, maxStatus), "Server "+c.name+" works on it."))
	ask := func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return l.ask(ctx, r, method, params)
	}
	return (&mcpclient.Task{Created: result, Send: l.send, Ask: ask, Said: said}).Wait(ctx)
}

// request sends a request that is no call of a tool.
func (c *calls) request(ctx context.Context, what string, method mcp.MCPMethod, params any) (json.RawMessage, error) {
	b, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, mcpclient.Request{Method: string(method), Params: withMeta(ctx, b)})
	if err != nil {
		return nil, c.failure(ctx, what, err)
	}
	return result, nil
}

// errorType returns what kind of error a request ended with, as a label.
func errorType(err error) string {
	said, answered := errors.AsType[*jsonrpc.Error](err)
	_, unavailable := errors.AsType[*unavailableError](err)
	switch {
	case err == nil:
		return ""
	case answered && said.Code <= jsonrpc.CodeInvalidRequest && said.Code >= jsonrpc.CodeInternalError:
		return strconv.Itoa(said.Code)
	case unavailable:
		return "unavailable"
	}
	return telemetry.Other
}

// withMeta returns parameters with what the caller wrote in _meta that is not meant for this
// server: traces that are valid, without baggage, and keys of vendors.
func withMeta(ctx context.Context, params json.RawMessage) json.RawMessage {
	meta := call.SessionOf(ctx).Meta
	parent := telemetry.Parent(meta)
	_ = rawjson.Object(meta, func(name, _ []byte) error {
		switch key := string(name); {
		case key == "progressToken", key == "baggage", key == "traceparent" && !parent.IsValid(), strings.HasPrefix(key, "io.modelcontextprotocol/"),
			strings.HasPrefix(key, "toolserver/"), key == "tracestate" && !(parent.IsValid() && parent.TraceState().Len() > 0):
			meta = rawjson.Without(meta, key)
		}
		return nil
	})
	if len(meta) <= len("{}") {
		return params
	}
	return rawjson.With(params, "_meta", meta)
}

// read reads a document of the server, by its own address. A client has asked for uri.
func (c *calls) read(ctx context.Context, own, uri string) (r domain.ToolResult, err error) {
	result, err := c.request(ctx, "resource "+uri, mcp.MethodResourcesRead, map[string]string{"uri": own})
	if err != nil {
		return r, err
	}
	if r, err = contents(result, own, uri); err != nil {
		return r, domain.Errorf(domain.CodeExecutionFailed, "resource %s: server %s returned no valid result: %w", uri, c.name, err)
	}
	c.noteLinks(ctx, r.Content)
	return r, nil
}

// get fills in a prompt of the server.
func (c *calls) get(ctx context.Context, name string, args map[string]string) (domain.PromptResult, error) {
	params := map[string]any{"name": name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	result, err := c.request(ctx, "prompt "+name, mcp.MethodPromptsGet, params)
	if err != nil {
		return domain.PromptResult{}, err
	}
	p, err := promptResult(result)
	if err != nil {
		return p, domain.Errorf(domain.CodeExecutionFailed, "prompt %s: server %s returned no valid result: %w", name, c.name, err)
	}
	for _, m := range p.Messages {
		c.noteLinks(ctx, []domain.Content{m.Content})
	}
	return p, nil
}

// completer asks the server for completions of a prompt or template.
func (c *calls) completer(kind, member, name string) domain.Completer {
	return func(ctx context.Context, argument, typed string, given map[string]string) (found domain.Completions, err error) {
		params := map[string]any{
			"ref": map[string]string{"type": kind, member: name}, "argument": map[string]string{"name": argument, "value": typed},
		}
		if len(given) > 0 {
			params["context"] = map[string]any{"arguments": given}
		}
		result, err := c.request(ctx, "completion of "+name, mcp.MethodCompletionComplete, params)
		if e, ok := err.(*domain.Error); ok && e.Verbatim { // it completes nothing
			return found, nil
		}
		if err != nil {
			return found, err
		}
		completion := rawjson.Member(result, "completion")
		_ = json.Unmarshal(rawjson.Member(completion, "values"), &found.Values) // what is no list of texts completes nothing
		found.Extra = mcpshape.Completion(completion)
		return found, nil
	}
}

// noteLinks notes which documents a caller has learnt of, by addresses of a usual length.
func (c *calls) noteLinks(ctx context.Context, content []domain.Content) {
	for i := range content {
		if uri := content[i].URI; uri != "" && len(uri) <= 2<<10 {
			c.linked.Put(call.SessionOf(ctx).Principal.ID, uri, struct{}{}, 0)
		}
	}
}

// unavailableError says why a server cannot be used.
type unavailableError struct {
	server string
	reason error  // a clause
	next   string // what happens next, as a sentence
}

func (e *unavailableError) Error() string {
	return "server " + e.server + " is unavailable: " + e.reason.Error() + ". " + e.next
}

// Unwrap returns the reason.
func (e *unavailableError) Unwrap() error { return e.reason }

// The kinds of failures, by what can be done about them.
const (
	retryable = "retryable" // later, or again
	permanent = "permanent" // not with this call
	noAuth    = "auth"      // after somebody has signed in
)

// failure returns the error of a call as callers get it.
func (c *calls) failure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if _, ok := err.(*call.InputRequired); ok {
		return err
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		data, _ := e.Data.(json.RawMessage)
		return &domain.Error{Code: domain.Code(e.Code), Message: e.Message, Verbatim: true, RawData: data, Err: err}
	}
	if e, ok := errors.AsType[*signInError](err); ok {
		return &domain.Error{
			Code: domain.CodeExecutionFailed, Message: what + ": " + e.Message + ". " + e.Remedy, Hint: e.Remedy,
			Data: map[string]any{"server": c.name, "failure": noAuth}, Err: err,
		}
	}
	e := &domain.Error{Code: domain.CodeExecutionFailed, Err: err, Data: map[string]any{"server": c.name, "failure": retryable}}
	status, isHTTP := errors.AsType[*mcpclient.HTTPError](err)
	unavailable, isUnavailable := errors.AsType[*unavailableError](err)
	ended, isTask := errors.AsType[*mcpclient.TaskError](err)
	switch {
	case isUnavailable:
		e.Message, e.Hint = what+": "+unavailable.Error(), "Call it again later, or use another tool."
	case isHTTP && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		e.Message = what + ": server " + c.name + " does not accept the credentials: " + err.Error()
		e.Hint, e.Data["failure"] = "Ask the operator to check the credentials of mcp_servers."+c.name+".", noAuth
	case isHTTP && status.Status < 500 && status.Status != http.StatusTooManyRequests && status.Status != http.StatusRequestTimeout:
		e.Message = what + ": server " + c.name + " rejected the request: " + err.Error()
		e.Hint, e.Data["failure"] = "Do not repeat the call; ask the operator to check mcp_servers."+c.name+".", permanent
	case notReached(err):
		e.Message, e.Hint = what+": server "+c.name+" cannot be reached: "+err.Error(), "Call it again later, or use another tool."
	case isTask:
		e.Message = what + ": server " + c.name + " " + ended.Problem + ". Whether the call had an effect is unknown."
		e.Hint = "Find out whether the call had its effect before you repeat it."
	case errors.Is(err, errGone):
		e.Message, e.Hint = what+": "+err.Error(), "Make the call again."
	case errors.Is(err, mcpclient.ErrTooLong):
		e.Message = what + ": server " + c.name + " sent a message that is too long"
		e.Hint, e.Data["failure"] = "Ask for less in one call.", permanent
	default:
		e.Message = what + ": server " + c.name + " failed during the call: " + c.links.of(call.SessionOf(ctx).Principal.ID).cause(err) +
			". Whether the call had an effect is unknown; the server is started again when it is needed."
		e.Hint = "Find out whether the call had its effect before you repeat it."
	}
	return e
}

// notReached reports whether a request has not left this machine.
func notReached(err error) bool {
	dialing, ok := errors.AsType[*net.OpError](err)
	return ok && dialing.Op == "dial"
}
