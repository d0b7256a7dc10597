package httpcall_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox/netguard"
)

// TestExplain fails in every way there is, with a key in the query, which no
// explanation may have.
func TestExplain(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	plain, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			<-hold
		case "/half":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, r.URL.RawQuery)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat(r.URL.RawQuery, 1000))
		case "/location":
			w.Header().Set("Location", "http://%zz/?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, r.URL.RawQuery+strings.Repeat(" ", 100))
		case "/429", "/503", "/529", "/404":
			var status int
			fmt.Sscanf(r.URL.Path, "/%d", &status)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, r.URL.RawQuery)
		}
	})
	secure := encrypted(t, nil)
	old := encrypted(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10})
	for _, tt := range []struct {
		name, url           string
		kind, message, hint string
		prepare             func(*httpcall.Service, context.CancelFunc)
		open                string // instead of the URL's host
		doOnly              bool   // Stream leaves it to its caller
	}{
		{name: "refused", url: "http://" + unused(t) + "/", kind: "unreachable", message: "connection refused", hint: "Check the host and port"},
		{name: "echo", url: "http://" + echo(t) + "/", kind: "unreachable", message: "malformed HTTP"},
		{name: "unknown authority", url: secure + "/", kind: "unreachable", message: "no secure connection: tls: failed to verify certificate: x509", hint: "certificate"},
		{name: "old TLS", url: old + "/", kind: "unreachable", message: "no secure connection: ", hint: "TLS is at fault"},
		{name: "no TLS", url: strings.Replace(plain, "http:", "https:", 1) + "/", kind: "unreachable", message: "no secure connection: http: server gave HTTP response to HTTPS client"},
		{name: "time out", url: plain + "/hang", kind: "timed_out", message: "no answer in time", prepare: func(c *httpcall.Service, _ context.CancelFunc) { c.Timeout = 20 * time.Millisecond }, doOnly: true},
		{name: "canceled", url: plain + "/hang", kind: "canceled", message: "the call was canceled", prepare: func(_ *httpcall.Service, cancel context.CancelFunc) { cancel() }},
		{name: "half", url: plain + "/half", kind: "unreachable", message: "unexpected EOF", doOnly: true},
		{name: "too large", url: plain + "/large", kind: "too_large", message: "the answer has more than 1000 bytes", hint: "Ask for less.", doOnly: true},
		{name: "not gzip", url: plain + "/gzip", kind: "unreachable", message: "gzip: invalid header", doOnly: true},
		{name: "Location", url: plain + "/location", kind: "http_status", message: "HTTP 302 from Test API"},
		{name: "404", url: plain + "/404", kind: "http_status", message: "HTTP 404 from Test API"},
		{name: "429", url: plain + "/429", kind: "rate_limited", message: "HTTP 429 from Test API"},
		{name: "503", url: plain + "/503", kind: "overloaded", message: "HTTP 503 from Test API"},
		{name: "529", url: plain + "/529", kind: "overloaded", message: "HTTP 529 from Test API"},
		{name: "denied", url: plain + "/", open: "10.0.0.1", kind: "denied", message: "is denied by network.loopback: it is this machine",
			hint: "unless the person who runs the server names " + strings.TrimPrefix(plain, "http://") + " in tools.test.private_hosts or, for every tool, in sandbox.private_hosts."},
		{name: "denied for good", url: "http://metadata.google.internal/", kind: "denied", message: "is denied by network.metadata", hint: "Use another URL."},
		{name: "denied user", url: "http://key=secret:secret@example.com/", kind: "denied", message: "is denied by network.userinfo", hint: "Use another URL."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			open := tt.open
			if open == "" {
				u, err := url.Parse(tt.url)
				if err != nil {
					t.Fatal(err)
				}
				open = u.Host
			}
			c := caller(t, open)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.prepare != nil {
				tt.prepare(c, cancel)
			}
			send := both
			if tt.doOnly {
				send = func(ctx context.Context, c *httpcall.Service, r httpcall.Request) map[string]error {
					_, err := do(ctx, c, r)
					return map[string]error{"Do": err}
				}
			}
			for way, err := range send(ctx, c, request(tt.url+"?key=secret", "")) {
				if err == nil {
					t.Fatalf("%s does not fail", way)
				}
				for _, err := range []error{err, fmt.Errorf("wrapped: %w", err)} {
					got := httpcall.Explain(err)
					if got.Type != tt.kind || !strings.Contains(got.Message, tt.message) || !strings.Contains(got.Hint, tt.hint) {
						t.Errorf("%s: got %+v", way, got)
					}
					if strings.Contains(fmt.Sprint(got), "secret") || strings.Contains(got.Message, "http://") {
						t.Errorf("%s: tells the key: %+v", way, got)
					}
				}
			}
		})
	}
}

// encrypted starts a server with a certificate that nobody knows.
func encrypted(t *testing.T, config *tls.Config) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.TLS = config
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

// unused returns an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// echo starts a server that says what it is told.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestExplainNames has what no server of a test can bring about.
func TestExplainNames(t *testing.T) {
	for name, tt := range map[string]struct {
		err           error
		kind, message string
	}{
		"no host":        {&net.DNSError{Err: "no such host", Name: "nobody.test", IsNotFound: true}, "unreachable", "there is no host nobody.test"},
		"no answer":      {&net.DNSError{Err: "i/o timeout", Name: "name.test", IsTimeout: true}, "timed_out", "no answer in time"},
		"server failure": {&net.DNSError{Err: "server misbehaving", Name: "name.test", IsTemporary: true}, "unreachable", "the name name.test cannot be resolved now"},
		"canceled":       {&net.OpError{Op: "dial", Err: &net.DNSError{UnwrapErr: context.Canceled, Name: "name.test"}}, "canceled", "the call was canceled"},
		"deadline":       {context.DeadlineExceeded, "timed_out", "no answer in time"},
	} {
		got := httpcall.Explain(&url.Error{Op: "Get", URL: "http://h/?key=secret", Err: tt.err})
		if got.Type != tt.kind || got.Message != tt.message {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }}
	c := &httpcall.Service{Client: netguard.New(netguard.Options{Resolver: broken}).Client(), Timeout: time.Minute}
	_, err := do(t.Context(), c, request("http://name.test/?key=secret", ""))
	if got := httpcall.Explain(err); got.Type != "unreachable" || got.Message != "the name name.test cannot be resolved now" {
		t.Errorf("got %+v", got)
	}
}
