package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// peer is the [domain.Client] of the call that a request makes: notifications of the
// call are sent before its answer, or not at all.
type peer struct {
	*incoming

	mu       sync.Mutex // guards what follows
	finished bool       // no notifications any more
	reported bool
	progress float64 // the last that was reported
	state    requestState
	agreed   bool // answers to sealed requests are used
}

// finish ends notifications, and reports whether they had not ended before.
func (p *peer) finish() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first = !p.finished
	p.finished = true
	return first
}

// WantsProgress reports whether the request has a progress token.
func (p *peer) WantsProgress() bool { return p.meta.progressToken != nil }

// Progress sends a progress notification, before it returns.
func (p *peer) Progress(now domain.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reported && now.Done <= p.progress {
		return // progress must increase with each notification
	}
	p.reported, p.progress = true, now.Done
	p.send(jsonrpc.Request(nil, "notifications/progress", struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{p.meta.progressToken, now.Done, now.Total, now.Message}))
}

// Log sends a log message, if the client asked for its level.
func (p *peer) Log(m domain.LogMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logs(m.Level) {
		p.send(jsonrpc.Request(nil, "notifications/message", struct {
			Level  string `json:"level"`
			Logger string `json:"logger,omitempty"`
			Data   any    `json:"data"`
		}{m.Level.String(), m.Logger, m.Data}))
	}
}

// send sends a notification, unless the request is answered or canceled. The
// caller holds mu.
func (p *peer) send(notification []byte) {
	if !p.finished && !p.canceled() {
		p.out.notify(notification)
	}
}

// logs reports whether the client asked for messages of a level. A modern client
// does so with each request, or gets none.
func (p *peer) logs(level domain.LogLevel) bool {
	if p.meta.modern {
		least, ok := domain.ParseLogLevel(p.meta.logLevel)
		return ok && level >= least
	}
	return level >= domain.LogLevel(p.session.logLevel.Load())
}

// Supports reports whether the client has declared that it supports a request
// by method.
func (p *peer) Supports(method string) bool {
	capabilities := p.meta.capabilities
	if !p.meta.modern {
		settled := p.session.handshake()
		if elicits := method == domain.AskElicitation || method == domain.AskURL; elicits && settled.version < mcp.ProtocolVersion20250618 {
			return false // whatever it declares, there is no such request
		}
		capabilities = settled.capabilities
	}
	declared := rawjson.Member(capabilities, domain.CapabilityOf(method))
	switch {
	case len(declared) == 0 || declared[0] != '{':
		return false
	case method == domain.AskElicitation: // in forms, which a client that lists modes must list
		return rawjson.Member(declared, "form") != nil || rawjson.Member(declared, "url") == nil
	case method == domain.AskURL:
		return rawjson.Member(declared, "url") != nil
	}
	return true
}

// Round returns what a modern client resumes.
func (p *peer) Round() (resume string, again bool) { return p.state.Resume, p.meta.modern }

// Ended is closed with the session.
func (p *peer) Ended() <-chan struct{} { return p.session.ctx.Done() }

// Complete notifies the client, on the stream of its session once the request is
// answered. The notification is one of protocol version 2025-11-25.
func (p *peer) Complete(elicitation string) {
	if p.meta.modern {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		p.session.changes.add(completed(elicitation))
		return
	}
	p.send(completed(elicitation).notification(nil))
}

// Ask sends requests to a client with a session, one after the other as people
// read them, and waits for the answers. A modern client must call again with them.
func (p *peer) Ask(ctx context.Context, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	if p.meta.modern {
		return p.answersSoFar(requests)
	}
	answers := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		result, err := p.session.ask(ctx, p.out, requests[name])
		if err != nil {
			return nil, err
		}
		answers[name] = result
	}
	return answers, nil
}

// clientAnswer is the response of a client: a result or an error.
type clientAnswer struct{ result, failure json.RawMessage }

// ask sends one request and waits for its answer.
func (s *session) ask(ctx context.Context, out sink, req domain.InputRequest) (json.RawMessage, error) {
	answer := make(chan clientAnswer, 1)
	s.mu.Lock()
	s.asked++
	id := strconv.Quote("server-" + strconv.Itoa(s.asked))
	s.asking[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asking, id)
	}()
	if !out.notify(jsonrpc.Request(json.RawMessage(id), req.Method, req.Params)) {
		return nil, domain.Errorf(domain.CodeMissingCapability, "the client cannot be asked by %s: its Accept header excludes event streams", req.Method)
	}
	select {
	case a := <-answer:
		switch {
		case len(a.failure) > 0:
			reason := cmp.Or(jsonrpc.ParseError(a.failure).Message, "it gave no reason")
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client could not answer %s: %s", req.Method, reason)
		case !validAnswer(req.Method, a.result):
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client's response to %s is invalid", req.Method)
		}
		return a.result, nil
	case <-ctx.Done():
		out.notify(jsonrpc.Request(nil, string(mcp.MethodNotificationCancelled), map[string]any{
			"requestId": json.RawMessage(id), "reason": fmt.Sprint(context.Cause(ctx))}))
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, errSessionEnded
	}
}

// answered takes in a response. One that nobody waits for is ignored.
func (s *session) answered(msg *jsonrpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(jsonrpc.IDKey(msg.ID))
	if answer, ok := s.asking[key]; ok {
		delete(s.asking, key)
		answer <- clientAnswer{slices.Clone(msg.Result), slices.Clone(msg.Failure)}
	}
}
