package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/sse"
)

// serveHTTP serves Streamable HTTP, and prints the URL.
func (u *upstream) serveHTTP(ctx context.Context) int {
	listener, err := net.Listen("tcp", u.http)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, &endpoint{upstream: u, base: ctx, sessions: map[string]*session{}}))
	return 1
}

// endpoint serves requests of HTTP.
type endpoint struct {
	upstream *upstream
	base     context.Context

	mu       sync.Mutex
	sessions map[string]*session
}

// stream is a response that consists of messages: of one, as JSON, or several, as
// events.
type stream struct {
	upstream *upstream

	mu     sync.Mutex
	w      http.ResponseWriter
	begun  bool // with an event
	ended  bool
	events bool // even if there is one message only
}

// send sends a message. The answer is the last one, and is sent as JSON if it is
// also the first.
func (s *stream) send(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	var head struct{ Method *string }
	if json.Unmarshal(line, &head) == nil && head.Method == nil && !s.begun && !s.events {
		s.ended = true
		s.w.Header().Set("Content-Type", "application/json")
		s.upstream.write(s.w, line)
		return
	}
	if !s.begun {
		s.begin()
	}
	s.upstream.write(s.w, sse.Append(nil, line))
	s.w.(http.Flusher).Flush()
}

func (s *stream) begin() {
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.WriteHeader(http.StatusOK)
	s.w.(http.Flusher).Flush()
}

// end has later messages dropped: the response is over.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.upstream.start == "hang" {
		if _, err := os.Stat(e.upstream.until); err != nil {
			<-r.Context().Done()
			return
		}
	}
	if status := e.upstream.status; status != 0 {
		http.Error(w, `{"error":"`+http.StatusText(status)+`"}`, status)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	e.mu.Lock()
	s := e.sessions[id]
	e.mu.Unlock()
	switch {
	case id != "" && s == nil:
		http.Error(w, "no such session", http.StatusNotFound)
	case r.Method == http.MethodPost:
		e.post(w, r, s)
	case r.Method == http.MethodGet && s != nil:
		out := &stream{upstream: e.upstream, w: w}
		out.begin()
		s.mu.Lock()
		s.out = out.send
		s.mu.Unlock()
		<-r.Context().Done()
		out.end()
	case r.Method == http.MethodDelete && s != nil:
		e.mu.Lock()
		delete(e.sessions, id)
		e.mu.Unlock()
		e.upstream.close(s)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// post serves a message.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request, s *session) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return
	}
	msg, bad := jsonrpc.Parse(body, nil)
	if bad == nil && (msg.Response || msg.IsNotification()) {
		if s != nil {
			s.take(e.base, body, func([]byte) {}, func(f func()) { f() })
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var about struct{ TaskID string }
	if _ = json.Unmarshal(msg.Params, &about); strings.HasPrefix(msg.Method, "tasks/") && r.Header.Get("Mcp-Name") != about.TaskID {
		http.Error(w, "Mcp-Name is not the ID of the task", http.StatusBadRequest)
		return
	}
	out := &stream{upstream: e.upstream, w: w, events: msg.Method == "subscriptions/listen"}
	defer out.end()
	if s == nil { // the client of one request
		s = e.upstream.open(func([]byte) {})
		if msg.Method == "initialize" {
			e.mu.Lock()
			e.upstream.last++
			id := fmt.Sprintf("session-%d", e.upstream.last)
			e.sessions[id] = s
			e.mu.Unlock()
			w.Header().Set("Mcp-Session-Id", id)
		} else {
			defer e.upstream.close(s)
		}
	}
	s.take(r.Context(), body, out.send, func(f func()) { f() })
}
