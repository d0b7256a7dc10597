package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// moody accepts everybody, until it accepts nobody.
type moody struct{ closed atomic.Bool }

func (m *moody) Authenticate(c Credentials) (domain.Principal, *Challenge) {
	if m.closed.Load() {
		return domain.Principal{}, &Challenge{}
	}
	return everybody{}.Authenticate(c)
}

// subscription is one over HTTP, of a server of its own.
type subscription struct {
	server   *Server
	handler  *httpHandler
	registry *domain.Registry
	moody    moody
	shutdown func()
	leave    func() // closes the client's end
	response *http.Response
	lines    *bufio.Scanner
}

// subscribed begins a subscription to the list of tools with the ID "s".
func subscribed(t *testing.T, overTLS, http2 bool) *subscription {
	s := &subscription{}
	s.server, s.registry = fixture(t)
	var stopping, request context.Context
	stopping, s.shutdown = context.WithCancel(t.Context())
	request, s.leave = context.WithCancel(t.Context())
	s.handler = s.server.Handler(stopping, HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: &s.moody}).(*httpHandler)
	ts := httptest.NewUnstartedServer(s.handler)
	if ts.EnableHTTP2 = http2; overTLS {
		ts.StartTLS()
	} else {
		ts.Start()
	}
	t.Cleanup(ts.Close)
	t.Cleanup(s.leave)
	req, _ := http.NewRequestWithContext(request, "POST", ts.URL+"/mcp", strings.NewReader(listening))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	var err error
	if s.response, err = ts.Client().Do(req); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewScanner(s.response.Body)
	return s
}

// listening asks for it.
var listening = request(`"s"`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, true)

// reads checks the data of the next event; "" is the end.
func (s *subscription) reads(t *testing.T, want string) {
	t.Helper()
	got := ""
	for got == "" && s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			got = strings.TrimPrefix(data, `{"jsonrpc":"2.0",`)
		}
	}
	if got != want || s.lines.Err() != nil {
		t.Errorf("%q, %v; want %q", got, s.lines.Err(), want)
	}
}

// released checks that nothing is held any more.
func (s *subscription) released(t *testing.T) {
	t.Helper()
	s.handler.waitForStreams()
	s.server.hub.mu.Lock()
	defer s.server.hub.mu.Unlock()
	if s.server.streams.InUse() != 0 || s.server.requests.InUse() != 0 || len(s.server.hub.listeners) != 0 {
		t.Errorf("%d streams, %d requests and %d listeners are counted in the end", s.server.streams.InUse(), s.server.requests.InUse(), len(s.server.hub.listeners))
	}
}

// toggle changes the list of tools.
func (s *subscription) toggle(t *testing.T, on bool) {
	change := s.registry.Disable
	if on {
		change = s.registry.Enable
	}
	if err := change("nap"); err != nil {
		t.Fatal(err)
	}
}

// TestListen checks what a subscription promises, on connections that net/http gives away and on
// those it does not, however it ends.
func TestListen(t *testing.T) {
	const (
		tagged = `{"io.modelcontextprotocol/subscriptionId":"s"}`
		result = `"id":"s","result":{"resultType":"complete","_meta":` + tagged + `}}`
	)
	for _, transport := range []struct {
		name           string
		overTLS, http2 bool
	}{{"HTTP/1.1", false, false}, {"HTTP/1.1 over TLS", true, false}, {"HTTP/2", true, true}} {
		for _, end := range []struct {
			name string
			do   func(s *subscription)
			last string
		}{
			{"the server stops", func(s *subscription) { s.shutdown() }, result},
			{"the principal is revoked", func(s *subscription) { s.server.Revoke("user:anonymous") }, result},
			{"the credentials are refused", func(s *subscription) { s.moody.closed.Store(true); s.server.Publish("", domain.Change{}) }, result},
			{"the client leaves", nil, ""},
		} {
			t.Run(transport.name+", "+end.name, func(t *testing.T) {
				s := subscribed(t, transport.overTLS, transport.http2)
				if r := s.response; r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" || (r.ProtoMajor == 2) != transport.http2 {
					t.Fatalf("%s %s, %v", r.Proto, r.Status, r.Header)
				}
				s.reads(t, `"method":"notifications/subscriptions/acknowledged","params":{"_meta":`+tagged+`,"notifications":{"toolsListChanged":true}}}`)
				for _, on := range []bool{false, true} {
					s.toggle(t, on)
					s.reads(t, `"method":"notifications/tools/list_changed","params":{"_meta":`+tagged+`}}`)
				}
				if held, owners := s.server.requests.InUse(), fmt.Sprint(s.server.Principals()); held != 1 || owners != "[user:anonymous]" {
					t.Errorf("%d requests are in flight, of %s", held, owners)
				}
				if end.do == nil {
					s.leave()
					for on := false; s.server.streams.InUse() > 0; on = !on { // a change makes the server look
						s.toggle(t, on)
					}
				} else {
					end.do(s)
					s.reads(t, end.last)
					s.reads(t, "")
				}
				s.released(t)
			})
		}
	}
}

// TestListenMemory checks that little is kept of a subscription: neither its request, which
// may be long, nor what net/http needs for one.
func TestListenMemory(t *testing.T) {
	const streams, bound = 200, 4 << 10
	server, _ := fixture(t)
	stopping, stop := context.WithCancel(t.Context())
	h := server.Handler(stopping, HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: everybody{}}).(*httpHandler)
	ts := httptest.NewServer(h)
	defer ts.Close()
	body := listening + strings.Repeat(" ", 50_000)
	message := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
		"Mcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	open := func() {
		for range streams {
			c, err := net.Dial("tcp", ts.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			go io.WriteString(c, message)
			if status, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil || status != "HTTP/1.1 200 OK\r\n" {
				t.Fatalf("%q, %v", status, err)
			}
		}
	}
	alive := func() int64 {
		var m runtime.MemStats
		for range 4 { // pools keep what is idle for two collections
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	open() // what the first ones take is not theirs alone
	before := alive()
	open()
	if each := (alive() - before) / streams; each > bound {
		t.Errorf("a subscription takes %d bytes; want at most %d", each, bound)
	}
	stop()
	h.waitForStreams()
}
