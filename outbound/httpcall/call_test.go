package httpcall_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
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

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox/netguard"
)

// serve starts a server and returns its address, and a caller that may reach it.
func serve(t *testing.T, h http.HandlerFunc) (url string, c *httpcall.Service) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL, caller(t, srv.Listener.Addr().String())
}

// caller returns a caller that may reach hosts that are not public.
func caller(t *testing.T, hosts ...string) *httpcall.Service {
	t.Helper()
	o := netguard.Options{Setting: "tools.test.private_hosts"}
	for _, text := range hosts {
		h, err := netguard.ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Open = append(o.Open, h)
	}
	return &httpcall.Service{Client: netguard.New(o).Client(), Name: "Test API", Timeout: time.Minute, MaxBody: 1000}
}

// request returns a request for a URL; with a body, a POST.
func request(url, body string) httpcall.Request {
	if body == "" {
		return httpcall.Request{URL: url}
	}
	return httpcall.Request{URL: url, Body: []byte(body)}
}

// do sends a request and returns the answer.
func do(ctx context.Context, c *httpcall.Service, r httpcall.Request) (res *httpcall.Response, err error) {
	err = c.Do(ctx, r, func(answer *httpcall.Response) error { res = answer; return nil })
	return res, err
}

func TestBounds(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	body := bytes.Repeat(bomb.Bytes(), 64)
	url, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			_, _ = io.WriteString(w, strings.Repeat("x", 1000))
		case "/over":
			_, _ = io.WriteString(w, strings.Repeat("x", 1001))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		case "/error":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, strings.Repeat("e", 1<<20))
		}
	})
	res, err := do(t.Context(), c, request(url+"/fits", ""))
	if err != nil || len(res.Body) != 1000 || res.Status != 200 || res.Header.Get("Content-Length") != "1000" {
		t.Errorf("got %+v, %v", res, err)
	}
	for _, path := range []string{"/over", "/endless", "/bomb"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := do(t.Context(), c, request(url+path, ""))
		runtime.ReadMemStats(&after)
		if large, ok := errors.AsType[*httpcall.TooLargeError](err); !ok || large.Max != 1000 || res != nil {
			t.Errorf("%s: got %v", path, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%s: %d bytes allocated", path, n)
		}
	}
	var read []byte
	c.Fail = func(e *httpcall.StatusError) error { read = e.Body; return httpcall.Rules(nil).Failure(e, "") }
	_, err = do(t.Context(), c, request(url+"/error", ""))
	if f, ok := errors.AsType[*httpcall.Failure](err); !ok || f.Status != 400 || len(read) != 64<<10 {
		t.Errorf("%d bytes read: %v", len(read), err)
	}
}

func TestRedirectsAreErrors(t *testing.T) {
	var elsewhere atomic.Int64
	other, _ := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", other+"/?"+r.URL.RawQuery)
		w.WriteHeader(len(r.URL.Path) + 299) // by the length of the path
	})
	c := caller(t, strings.TrimPrefix(url, "http://"), strings.TrimPrefix(other, "http://"))
	for _, status := range []int{301, 302, 303, 307, 308, 300, 304} {
		for _, body := range []string{"", "body"} {
			for name, err := range both(t.Context(), c, request(url+"/"+strings.Repeat("x", status-300)+"?key=secret", body)) {
				if got, ok := errors.AsType[*httpcall.Failure](err); !ok || got.Status != status || !strings.HasPrefix(got.Error(), fmt.Sprintf("HTTP %d from Test API: it redirects", status)) {
					t.Errorf("%s %d: %v", name, status, err)
				}
			}
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("followed")
	}
}

// both makes a call with Do and with Stream, and returns the errors.
func both(ctx context.Context, c *httpcall.Service, r httpcall.Request) map[string]error {
	_, do := do(ctx, c, r)
	res, stream := c.Stream(ctx, r)
	if res != nil {
		res.Body.Close()
	}
	return map[string]error{"Do": do, "Stream": stream}
}

// TestSentOnce has a server read requests and close the connection without a
// word: they may have done something, and only GETs are repeated, once.
func TestSentOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var requests atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				b, read := make([]byte, 4096), ""
				for !strings.Contains(read, "\r\n\r\n") || strings.HasPrefix(read, "POST") && !strings.HasSuffix(read, "the end") {
					n, err := conn.Read(b)
					if err != nil {
						return
					}
					read += string(b[:n])
				}
				requests.Add(1)
				if strings.Contains(read, "/half") {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
				}
			}()
		}
	}()
	c := caller(t, l.Addr().String())
	c.Retries = 3
	for _, path := range []string{"/", "/half"} {
		for _, body := range []string{"", "to the end"} {
			before := requests.Load()
			_, err := do(t.Context(), c, request("http://"+l.Addr().String()+path, body))
			want := int64(1)
			if body == "" { // a GET is sent once more
				want = 2
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || requests.Load() != before+want {
				t.Errorf("%s %q: %d requests, %v", path, body, requests.Load()-before, err)
			}
		}
	}
}

// TestStreamBody reads a body as it comes, and ends the request by closing it.
func TestStreamBody(t *testing.T) {
	more, gone := make(chan struct{}), make(chan struct{})
	url, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, "second")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	c.MaxBody = 1 // is for Do
	res, err := c.Stream(t.Context(), request(url, ""))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := io.ReadAtLeast(res.Body, b, 5)
	if err != nil || string(b[:n]) != "first" {
		t.Errorf("got %q, %v", b[:n], err)
	}
	close(more)
	if n, err := io.ReadAtLeast(res.Body, b, 6); err != nil || string(b[:n]) != "second" {
		t.Errorf("got %q, %v", b[:n], err)
	}
	res.Body.Close()
	<-gone
}

func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example.com": "https://api.example.com", "https://api.example.com/": "https://api.example.com",
		"http://h:8080/v1/": "http://h:8080/v1", "HTTPS://h/v1": "https://h/v1",
		"https://h/a%2Fb/": "https://h/a%2Fb", "http://[::1]:8080": "http://[::1]:8080",
	} {
		u, err := httpcall.ParseBase(text)
		if err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v", text, u, err)
		}
	}
	for text, want := range map[string]string{
		"": "must start with https:// or http://", "api.example.com": "must start with", "ftp://h": "must start with", "//h": "must start with",
		"https://": "has no host", "https:h": "has no host",
		"http://:8080": "has no host", "https://me:secret@h": "do not belong in a base URL", "https://h?key=secret": "do not belong",
		"https://h/#secret": "do not belong", "ftp://me:secret@h": "do not belong",
		"https://h:secret": "it is not a URL", "https://%zz": "it is not a URL",
	} {
		u, err := httpcall.ParseBase(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, %v, want %q", text, u, err, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"https://h", "search", "https://h/search?q=a+b%26c"}, {"https://h", "/search", "https://h/search?q=a+b%26c"},
		{"https://h/v1", "/search", "https://h/v1/search?q=a+b%26c"},
		{"https://h/v1/", "search/", "https://h/v1/search/?q=a+b%26c"}, {"https://h/a%2Fb/", "c%2Fd", "https://h/a%2Fb/c%2Fd?q=a+b%26c"},
	} {
		base, err := httpcall.ParseBase(tt.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&httpcall.Service{Base: base}).URL(tt.path, map[string][]string{"q": {"a b&c"}}); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.base, tt.path, got, tt.want)
		}
		if got := (&httpcall.Service{Base: base}).URL(tt.path, nil); strings.Contains(got, "?") {
			t.Errorf("%s without a query: %s", tt.base, got)
		}
	}
}
