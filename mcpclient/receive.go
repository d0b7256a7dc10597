package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/jsonrpc"
)

// receive takes in a message of the server, whose bytes it does not keep. From is
// the call whose response stream it came on, or nil if that is not known. What is
// no message is ignored.
func (c *Client) receive(from *call, raw []byte) {
	if jsonrpc.IsBatch(raw) { // of protocol version 2025-03-26
		batch, _ := jsonrpc.ParseBatch(raw, 1000)
		for _, msg := range batch {
			if !jsonrpc.IsBatch(msg) {
				c.receive(from, msg)
			}
		}
		return
	}
	msg, err := jsonrpc.Parse(raw, nil)
	switch {
	case msg.Response && msg.ID == nil && msg.Failure != nil:
		if from != nil { // the server could not read the ID
			from.end(outcome{err: cloneError(msg.Failure)})
		}
	case err != nil:
	case msg.Response:
		c.answered(&msg)
	case msg.IsNotification():
		c.notified(&msg)
	default:
		c.serve(from, &msg)
	}
}

func (c *Client) callByID(id []byte) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[string(jsonrpc.IDKey(id))]
}

// answered ends the call that a response belongs to. Nobody may wait for it any
// more.
func (c *Client) answered(msg *jsonrpc.Message) {
	x := c.callByID(msg.ID)
	switch {
	case x == nil:
	case msg.Failure != nil:
		x.end(outcome{err: cloneError(msg.Failure)})
	default:
		x.end(outcome{result: slices.Clone(msg.Result)})
	}
}

func cloneError(failure json.RawMessage) *jsonrpc.Error {
	return jsonrpc.ParseError(slices.Clone(failure))
}

func (c *Client) notified(msg *jsonrpc.Message) {
	switch msg.Method {
	case "notifications/progress":
		var p struct {
			Token json.RawMessage `json:"progressToken"`
			Progress
		}
		if json.Unmarshal(msg.Params, &p) != nil {
			return
		}
		if x := c.callByID(p.Token); x != nil {
			select {
			case x.progress <- p.Progress:
			default: // the caller does not keep up
			}
		}
	case string(mcp.MethodNotificationCancelled):
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(msg.Params, &p) != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if cancel := c.serving[string(jsonrpc.IDKey(p.ID))]; cancel != nil {
			cancel(errCanceled)
		}
	default:
		if c.opts.Notify != nil {
			c.opts.Notify(msg.Method, slices.Clone(msg.Params))
		}
	}
}

// errCanceled is the cause of the context of a handler whose request the server
// has canceled.
var errCanceled = errors.New("canceled by the server")

// serve has a handler answer a request of a server with a handshake. From is the
// call it came with. If that is not known, as over stdio, and there is only one
// call, the handler gets the values of its context, but does not end with it.
func (c *Client) serve(from *call, msg *jsonrpc.Message) {
	id, params := slices.Clone(msg.ID), slices.Clone(msg.Params)
	handler := c.opts.Handlers[msg.Method]
	if msg.Method == string(mcp.MethodPing) {
		handler = func(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }
	}
	base := c.ctx
	c.mu.Lock()
	if from != nil {
		base = from.ctx
	} else if len(c.calls) == 1 {
		for _, only := range c.calls {
			base = context.WithoutCancel(only.ctx)
		}
	}
	ctx, cancel := context.WithCancelCause(base)
	key := string(jsonrpc.IDKey(id))
	busy := len(c.serving) >= maxHandlers || c.serving[key] != nil
	if !busy {
		c.serving[key] = cancel
	}
	c.mu.Unlock()
	_ = c.start(func() {
		defer cancel(nil)
		defer context.AfterFunc(c.ctx, func() { cancel(c.Err()) })()
		var result any
		var err error
		switch {
		case busy:
			err = jsonrpc.Errorf(jsonrpc.CodeInternalError, "the client is busy with other requests")
		case handler == nil:
			err = jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "the client does not support %s", msg.Method)
		default:
			limited, stop := context.WithTimeout(ctx, c.opts.Timeout)
			result, err = handler(limited, params)
			stop()
		}
		if !busy {
			c.mu.Lock()
			delete(c.serving, key)
			c.mu.Unlock()
		}
		if context.Cause(ctx) != errCanceled {
			sending, stop := context.WithTimeout(c.ctx, stopTime)
			defer stop()
			_ = c.transport.send(sending, &outgoing{msg: response(id, result, err)}, nil)
		}
	})
}

func response(id json.RawMessage, result any, err error) []byte {
	if err == nil {
		return append(jsonrpc.AppendValue(jsonrpc.AppendResultHead(nil, id), result), '}')
	}
	e, ok := err.(*jsonrpc.Error)
	if !ok {
		e = jsonrpc.Errorf(jsonrpc.CodeInternalError, "%v", err)
	}
	return jsonrpc.ErrorResponse(id, e)
}

// inputRequest is what a modern server requires before it serves a request.
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// provideInput has the handlers answer what the server requires, one after the
// other, and returns their answers.
func (c *Client) provideInput(ctx context.Context, requests map[string]inputRequest) (map[string]any, error) {
	answers := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		method := requests[name].Method
		handler := c.opts.Handlers[method]
		if handler == nil {
			return nil, fmt.Errorf("the server requires input by %s, which the client does not support", method)
		}
		answer, err := handler(ctx, requests[name].Params)
		if err != nil {
			return nil, fmt.Errorf("input by %s: %w", method, err)
		}
		answers[name] = answer
	}
	return answers, nil
}

// params returns the parameters of a request: those that were given, the input
// that was required, and what the protocol version and progress need in _meta.
func (c *Client) params(req Request, id json.RawMessage, input map[string]any) (json.RawMessage, error) {
	given := jsonrpc.AppendValue(nil, req.Params)
	if req.Params == nil {
		given = []byte("{}")
	}
	meta := map[string]any{}
	if c.modern() {
		meta[mcp.MetaKeyProtocolVersion] = c.Server().Protocol
		meta[mcp.MetaKeyClientInfo] = c.info()
		meta[mcp.MetaKeyClientCapabilities] = c.capabilities()
		if c.opts.LogLevel != "" {
			meta[mcp.MetaKeyLogLevel] = c.opts.LogLevel
		}
	}
	if req.Progress != nil {
		meta["progressToken"] = id
	}
	if len(meta) == 0 && input == nil {
		return given, nil
	}
	all := map[string]json.RawMessage{}
	err := json.Unmarshal(given, &all)
	if own := all["_meta"]; err == nil && own != nil {
		err = json.Unmarshal(own, &meta)
	}
	if err != nil {
		return nil, fmt.Errorf("the parameters of %s: %w", req.Method, err)
	}
	for name, value := range input {
		all[name] = jsonrpc.AppendValue(nil, value)
	}
	all["_meta"] = jsonrpc.AppendValue(nil, meta)
	return jsonrpc.AppendValue(nil, all), nil
}
