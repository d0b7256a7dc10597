package netguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// server answers with "hello" wherever it listens, and counts connections and
// not requests.
type server struct {
	port    int
	reached map[string]*atomic.Int64 // by the address it listens at
}

// listen makes a server listen at addresses, all at one port that is free. It
// skips a test on systems that lack an address.
func listen(t testing.TB, addresses ...string) *server {
	t.Helper()
	for range 20 { // until a port is free at all of them
		s := &server{reached: map[string]*atomic.Int64{}}
		var listeners []net.Listener
		for _, address := range addresses {
			l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.port)))
			if err != nil && s.port == 0 {
				t.Skipf("this system has no %s: %v", address, err)
			}
			if err != nil {
				break
			}
			s.port = l.Addr().(*net.TCPAddr).Port
			listeners = append(listeners, l)
		}
		if len(listeners) < len(addresses) {
			for _, l := range listeners {
				l.Close()
			}
			continue
		}
		for i, l := range listeners {
			count := new(atomic.Int64)
			s.reached[addresses[i]] = count
			h := &http.Server{Handler: http.HandlerFunc(hello), ConnState: func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					count.Add(1)
				}
			}}
			go func() { _ = h.Serve(l) }() // until Close
			t.Cleanup(func() { h.Close() })
		}
		return s
	}
	t.Skipf("this system has not all of %v", addresses)
	return nil
}

func hello(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("long") {
		w.Header().Set("Long", strings.Repeat("x", 1<<20))
	}
	if to := r.URL.Query().Get("to"); to != "" {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
	fmt.Fprintf(w, "hello %s", r.Host)
}

// connections returns how many there were, at all addresses.
func (s *server) connections() (n int64) {
	for _, count := range s.reached {
		n += count.Load()
	}
	return n
}

// at returns a host with the server's port.
func (s *server) at(host string) string { return host + ":" + strconv.Itoa(s.port) }

// guard returns a guard that opens hosts.
func guard(t testing.TB, r *net.Resolver, open ...string) *netguard.Guard {
	t.Helper()
	o := netguard.Options{Resolver: r}
	for _, text := range open {
		h, err := netguard.ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Open = append(o.Open, h)
	}
	return netguard.New(o)
}

// get fetches a URL and returns what came, or the rule that forbids it.
func get(ctx context.Context, client *http.Client, url string) (body string, rule netguard.Rule, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", "", err
	}
	res, err := client.Do(req)
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		return "", denied.Rule, err
	}
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), "", err
}

// wantDenied fetches a URL that is to be denied by a rule.
func wantDenied(t testing.TB, client *http.Client, url string, rule netguard.Rule) {
	t.Helper()
	body, got, err := get(t.Context(), client, url)
	if got != rule || body != "" {
		t.Errorf("%s: denied by %q, want %q: %q, %v", url, got, rule, body, err)
	}
	if err != nil && !strings.Contains(err.Error(), string(rule)) {
		t.Errorf("%s: the message does not name %s: %v", url, rule, err)
	}
}

// wantReached fetches a URL that is open.
func wantReached(t testing.TB, client *http.Client, url string) {
	t.Helper()
	if body, _, err := get(t.Context(), client, url); !strings.HasPrefix(body, "hello ") {
		t.Errorf("%s is not reached: %q, %v", url, body, err)
	}
}
