package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// oldServer is a server of HTTP+SSE.
type oldServer struct {
	endpoint string        // what it names
	end      chan struct{} // ends the stream
	seen     chan string   // method and user of each POST

	mu  sync.Mutex
	out http.ResponseWriter
}

func (s *oldServer) event(name, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "event: %s\ndata: "+format+"\n\n", append([]any{name}, args...)...)
	_ = http.NewResponseController(s.out).Flush()
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "GET" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		s.mu.Lock() // a request of an earlier connection may not have ended
		s.out = w
		s.mu.Unlock()
		s.event("endpoint", "%s", s.endpoint)
		select {
		case <-s.end:
		case <-r.Context().Done():
		}
		s.mu.Lock() // an event that has arrived may not be flushed yet
		defer s.mu.Unlock()
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	s.seen <- m.Method + string(m.Result) + " " + r.Header.Get("User") + " " + r.URL.String()
	if m.Method == "refused" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	switch m.Method {
	case "initialize":
		s.event("message", `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, strings.Replace(initialized, "2025-11-25", "2024-11-05", 1))
	case "tools/call":
		s.event("message", `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
		s.event("other", `{"jsonrpc":"2.0","id":%s,"result":{"not":"this"}}`, m.ID)
		s.event("message", `{"jsonrpc":"2.0","id":%s,"result":{"a": 1.0}}`, m.ID)
	}
}

// userHeader puts the user of the context of a request into its header.
type userHeader struct{ http.RoundTripper }

func (h userHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User", fmt.Sprint(r.Context().Value(userKey{})))
	return h.RoundTripper.RoundTrip(r)
}

// TestSSE uses a server of HTTP+SSE.
func TestSSE(t *testing.T) {
	s := &oldServer{endpoint: "/messages?session=1", end: make(chan struct{}), seen: make(chan string, 10)}
	ts := httptest.NewServer(s)
	defer ts.Close()
	client := ts.Client()
	client.Transport = userHeader{client.Transport}
	c, err := mcpclient.ConnectSSE(as(t.Context(), "operator"), client, ts.URL+"/sse", nil, mcpclient.Options{
		Handlers: map[string]mcpclient.Handler{"roots/list": func(ctx context.Context, _ json.RawMessage) (any, error) { return users(ctx), nil }},
	})
	if err != nil || c.Server().Protocol != "2024-11-05" {
		t.Fatal(err)
	}
	defer c.Close()
	see := func(want ...string) {
		t.Helper()
		all := map[string]bool{}
		for range want {
			all[<-s.seen] = true
		}
		for _, want := range want {
			if !all[want+" /messages?session=1"] {
				t.Errorf("%q is not among %v", want, all)
			}
		}
	}
	see("initialize operator", "notifications/initialized operator")
	if got, err := c.Call(as(t.Context(), "ann"), "tools/call", nil); string(got) != `{"a": 1.0}` {
		t.Errorf("%s, error %v", got, err)
	}
	see("tools/call ann", `"[ann] ann" ann`)
	if _, err := c.Call(as(t.Context(), "ann"), "refused", nil); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("error %v", err)
	}
	see("refused ann")
	ctx, cancel := context.WithCancel(as(t.Context(), "ann"))
	go func() { see("silence ann"); cancel() }()
	if _, err := c.Call(ctx, "silence", nil); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	see("notifications/cancelled ann")
	close(s.end)
	<-c.Done()
	if _, err := c.Call(t.Context(), "tools/call", nil); err == nil || !strings.Contains(err.Error(), "has ended the stream") {
		t.Errorf("error %v", err)
	}
}

// TestSSERefused connects to what is no server of HTTP+SSE, or one that wants tokens
// sent elsewhere.
func TestSSERefused(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://elsewhere.test/messages": "not of the origin", "//elsewhere.test/": "not of the origin", "https:": "not of the origin", "%zz": "not of the origin",
	} {
		ts := httptest.NewServer(&oldServer{endpoint: endpoint, seen: make(chan string, 10)})
		if _, err := mcpclient.ConnectSSE(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", endpoint, err)
		}
		ts.Close()
	}
	ts := httptest.NewServer(http.NotFoundHandler())
	defer ts.Close()
	if _, err := mcpclient.ConnectSSE(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v", err)
	}
}

// TestContexts checks which values the contexts of HTTP requests have.
func TestContexts(t *testing.T) {
	seen := make(chan string, 20)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		seen <- strings.TrimSpace(r.Method+" "+m.Method) + " " + r.Header.Get("User")
		event := func(format string, args ...any) {
			fmt.Fprintf(w, "data: "+format+"\n\n", args...)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Mcp-Session-Id", "s1")
		switch {
		case m.Method == "initialize":
			event(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized)
		case m.Method == "tools/call":
			event(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
			fallthrough
		case r.Method == "GET":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer ts.Close()
	client := ts.Client()
	client.Transport = userHeader{client.Transport}
	ctx, cancel := context.WithCancel(as(t.Context(), "ann"))
	c, err := mcpclient.ConnectHTTP(as(t.Context(), "operator"), client, ts.URL, nil, mcpclient.Options{Protocol: "2025-11-25",
		Handlers: map[string]mcpclient.Handler{"roots/list": func(ctx context.Context, _ json.RawMessage) (any, error) { return 1, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want ...string) {
		t.Helper()
		for _, want := range want {
			if got := <-seen; got != want {
				t.Errorf("%q; want %q", got, want)
			}
		}
	}
	expect("POST initialize operator", "POST notifications/initialized operator", "GET operator")
	done := make(chan error)
	go func() {
		_, err := c.Call(ctx, "tools/call", nil)
		done <- err
	}()
	expect("POST tools/call ann", "POST ann") // the answer
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	expect("POST notifications/cancelled ann")
	c.Close()
	expect("DELETE operator")
}
