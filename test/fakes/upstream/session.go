package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	metaPrefix    = "io.modelcontextprotocol/"
)

// session is one client: that of stdio, one of HTTP, or of the modern generation
// the client of one request.
type session struct {
	upstream *upstream
	out      func(line []byte) // takes what belongs to no call

	mu       sync.Mutex
	lastID   int
	asked    map[string]chan jsonrpc.Message // questions to the client
	cancels  map[string]context.CancelFunc   // of calls
	listens  map[string]*call                // subscriptions of the modern generation
	watching map[string]bool                 // resources, of the legacy one
	legacy   bool                            // it has begun with initialize
}

// open begins a session.
func (u *upstream) open(out func([]byte)) *session {
	s := &session{upstream: u, out: out, asked: map[string]chan jsonrpc.Message{}, cancels: map[string]context.CancelFunc{}, listens: map[string]*call{}, watching: map[string]bool{}}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sessions[s] = true
	return s
}

// apart returns what takes messages that belong to no call.
func (s *session) apart() func([]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

func (u *upstream) close(s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sessions, s)
}

// call is a request of the client that is being served.
type call struct {
	session *session
	ctx     context.Context
	id      json.RawMessage
	method  string
	params  map[string]json.RawMessage
	meta    map[string]json.RawMessage
	modern  bool
	out     func(line []byte) // takes what belongs to the call
}

// take takes a message, whose bytes it keeps. Requests are served by what spawn
// does with the function.
func (s *session) take(ctx context.Context, raw []byte, out func([]byte), spawn func(func())) {
	msg, err := jsonrpc.Parse(raw, nil)
	switch {
	case err != nil:
		out(jsonrpc.ErrorResponse(msg.ID, err))
	case msg.Response:
		s.mu.Lock()
		defer s.mu.Unlock()
		if asked := s.asked[string(msg.ID)]; asked != nil {
			delete(s.asked, string(msg.ID))
			asked <- msg
		}
	case msg.IsNotification():
		s.heed(msg)
	default:
		c := &call{session: s, id: msg.ID, method: msg.Method, out: out}
		_ = json.Unmarshal(msg.Params, &c.params)
		_ = json.Unmarshal(c.params["_meta"], &c.meta)
		c.modern = c.meta[metaPrefix+"protocolVersion"] != nil
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithCancel(ctx)
		key := string(jsonrpc.IDKey(msg.ID))
		s.mu.Lock()
		s.cancels[key] = cancel
		s.mu.Unlock()
		spawn(func() {
			defer cancel()
			c.serve()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.cancels, key)
		})
	}
}

// heed takes a notification.
func (s *session) heed(msg jsonrpc.Message) {
	if msg.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(msg.Params, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[string(jsonrpc.IDKey(p.ID))]; cancel != nil {
		cancel()
	}
}

// serve answers a request.
func (c *call) serve() {
	result, err := c.result()
	failed, isError := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errSilent):
	case isError:
		c.out(jsonrpc.ErrorResponse(c.id, failed))
	case err != nil:
		c.out(jsonrpc.ErrorResponse(c.id, jsonrpc.Errorf(jsonrpc.CodeInternalError, "%v", err)))
	default:
		c.out(c.answer(result))
	}
}

// answer makes a response of the members of a result.
func (c *call) answer(result string) []byte {
	if c.modern && !member(result, "resultType") {
		result = join(result, `"resultType":"complete"`)
	}
	return append(append(jsonrpc.AppendResultHead(nil, c.id), "{"+result+"}"...), '}')
}

// errSilent is the error of a call that gets no answer, or has it already.
var errSilent = errors.New("no answer")

// notify sends a notification that belongs to the call.
func (c *call) notify(method string, params any) {
	c.out(jsonrpc.Request(nil, method, params))
}

// announce sends a notification to everybody who wants to hear of such: those of
// the modern generation have subscribed to it.
func (u *upstream) announce(method, wanted string, params map[string]any) {
	u.mu.Lock()
	sessions := slices.Collect(maps.Keys(u.sessions))
	u.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		listens := slices.Collect(maps.Values(s.listens))
		legacy := s.legacy && (params == nil || s.watching[fmt.Sprint(params["uri"])])
		s.mu.Unlock()
		for _, c := range listens {
			var filter map[string]json.RawMessage
			_ = json.Unmarshal(c.params["notifications"], &filter)
			if filter[wanted] == nil {
				continue
			}
			all := map[string]any{"_meta": map[string]any{metaPrefix + "subscriptionId": c.id}}
			maps.Copy(all, params)
			c.notify(method, all)
		}
		if legacy {
			var all any
			if params != nil {
				all = params
			}
			s.apart()(jsonrpc.Request(nil, method, all))
		}
	}
}
