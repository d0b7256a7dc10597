package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// receive takes in a message of the server, whose bytes it keeps only if it owns
// them. From is the call whose response stream it came on, or nil if that is not
// known. What is no message is ignored.
func (c *Client) receive(from *call, raw []byte, owned bool) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) // a byte order mark, as some programs begin with
	if jsonrpc.IsBatch(raw) {                           // of protocol version 2025-03-26
		batch, _ := jsonrpc.ParseBatch(raw, 1000)
		for _, msg := range batch {
			if !jsonrpc.IsBatch(msg) {
				c.receive(from, msg, false)
			}
		}
		return
	}
	msg, err := jsonrpc.Parse(raw, nil)
	switch {
	case msg.Response && msg.ID == nil && msg.Failure != nil:
		if from != nil { // the server could not read the ID
			from.end(outcome{err: jsonrpc.ParseError(slices.Clone(msg.Failure))})
		}
	case err != nil:
	case msg.Response:
		c.answered(from, &msg, owned)
	case msg.IsNotification():
		c.notified(from, &msg)
	default:
		c.serve(from, &msg)
	}
}

// answered ends the call that a response belongs to. Nobody may wait for it any
// more.
func (c *Client) answered(from *call, msg *jsonrpc.Message, owned bool) {
	x := c.calls.with(msg.ID)
	switch {
	case x == nil:
		return
	case msg.Failure != nil:
		x.end(outcome{err: jsonrpc.ParseError(slices.Clone(msg.Failure))})
	case owned:
		x.end(outcome{result: msg.Result})
	default:
		x.end(outcome{result: slices.Clone(msg.Result)})
	}
	if x.abandon != nil && x != from { // it came on another stream
		x.abandon()
	}
	if x.asks {
		c.calls.answered(x)
	}
}

func (c *Client) notified(from *call, msg *jsonrpc.Message) {
	switch msg.Method {
	case "notifications/progress":
		var p struct {
			Token json.RawMessage `json:"progressToken"`
			Progress
		}
		if json.Unmarshal(msg.Params, &p) != nil {
			return
		}
		if x := c.calls.with(p.Token); x != nil && x.progress != nil {
			x.report(&p.Progress)
		}
	case string(mcp.MethodNotificationCancelled):
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(msg.Params, &p) == nil {
			c.served.end(p.ID)
		}
	default:
		if c.opts.Notify != nil {
			c.opts.Notify(c.calls.serves(c.ctx, from), msg.Method, slices.Clone(msg.Params))
		}
	}
}

// Causes of the end of a handler's context.
var (
	errCanceled = errors.New("canceled by the server")
	errEnded    = errors.New("the call has ended")
)

// served are the requests of the server that are served.
type served struct {
	mu      sync.Mutex
	cancel  map[string]context.CancelCauseFunc // by ID
	answers int                                // on their way
}

// begin adds a request, and returns its key: empty if another with that ID is served. It is not taken if the server does not take
// the answers either.
func (s *served) begin(id json.RawMessage, cancel context.CancelCauseFunc) (key string, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers >= maxAnswers {
		return "", false
	}
	s.answers++
	if key = string(jsonrpc.IDKey(id)); s.cancel[key] != nil {
		return "", true
	}
	s.cancel[key] = cancel
	return key, true
}

// end ends a request that the server has canceled.
func (s *served) end(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancel[string(jsonrpc.IDKey(id))]; cancel != nil {
		cancel(errCanceled)
	}
}

// forget removes a request whose handler has returned.
func (s *served) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cancel, key)
}

// answered notes that an answer has been sent.
func (s *served) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers--
}

// serve has a handler answer a request of a server with a handshake. From is the
// call it came with; with it the handler's context ends.
func (c *Client) serve(from *call, msg *jsonrpc.Message) {
	id, params := slices.Clone(msg.ID), slices.Clone(msg.Params)
	handler := c.opts.Handlers[msg.Method]
	if msg.Method == string(mcp.MethodPing) {
		handler = func(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }
	}
	ctx, cancel := context.WithCancelCause(c.calls.serves(c.ctx, from))
	key, taken := c.served.begin(id, cancel)
	if !taken {
		cancel(nil)
		return
	}
	busy := key == ""
	if !busy && from != nil {
		c.calls.attach(from, cancel)
	}
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
		c.served.forget(key)
		if context.Cause(ctx) != errCanceled {
			sending, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
			defer context.AfterFunc(c.ctx, stop)()
			defer stop()
			if from != nil && from.ctx.Err() != nil { // or the server goes on with the answer of a call that is canceled
				select {
				case <-from.over:
				case <-sending.Done():
				}
			}
			_ = c.transport.send(sending, &outgoing{msg: response(id, result, err)}, nil)
		}
		c.served.answered()
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
		answer, err := handler(withCallers(ctx, ctx), requests[name].Params)
		if err != nil {
			return nil, fmt.Errorf("input by %s: %w", method, err)
		}
		answers[name] = answer
	}
	return answers, nil
}
