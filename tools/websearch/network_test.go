package websearch_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/search"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestCancel has the caller give up: the connection to the service is closed.
func TestCancel(t *testing.T) {
	for _, name := range names {
		for _, trouble := range []fake.Trouble{fake.Hang, fake.Drip} {
			t.Run(name+" "+string(trouble), func(t *testing.T) {
				tool, fakes := overNetwork(t, fake.Options{}, name)
				fakes[name].SetTrouble(trouble)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				exec := tooltest.Executor(t, tool)
				go func() {
					_, err := runSearch(ctx, t, exec, `{"query":"few"}`)
					done <- err
				}()
				eventually(t, "a request", func() bool { return fakes[name].Arrived() == 1 })
				cancel()
				if err := <-done; domain.CodeOf(err) != domain.CodeExecutionFailed {
					t.Errorf("canceled: %v", err)
				}
				eventually(t, "the end of the connection", func() bool { return fakes[name].Left() == 1 })
			})
		}
	}
}

// eventually waits for something that happens elsewhere in this process.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no sign of " + what)
		}
	}
}

// TestOverNetwork asks every service the way the real ones are asked.
func TestOverNetwork(t *testing.T) {
	for _, name := range names {
		tool, fakes := overNetwork(t, fake.Options{}, name)
		tooltest.Run(t, tool, []tooltest.Case{{Name: name, Args: `{"query":"few"}`, Check: func(t *testing.T, res domain.ToolResult) {
			if got, want := tooltest.Text(res), complete(numbered("few", "few", 1, 3), structured(t, res)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}}})
		for _, r := range fakes[name].Requests() {
			if r.Header.Get("Accept-Encoding") != "gzip" || r.Header.Get("User-Agent") == "" {
				t.Errorf("%s: %v", name, r.Header)
			}
		}
		tool, fakes = overNetwork(t, fake.Options{}, name)
		fakes[name].SetTrouble(fake.Large)
		tooltest.Run(t, tool, []tooltest.Case{{Name: name + " too large", Args: `{"query":"few"}`, ErrorType: "too_large"}})
	}
}

// TestUnreachable asks services that are not there, or that policy keeps tools from.
func TestUnreachable(t *testing.T) {
	for _, name := range names {
		srv := httptest.NewServer(newFake(name, fake.Options{}))
		defer srv.Close()
		here := func(string) string { return srv.URL }
		closed := tool(t, netguard.New(netguard.Options{}).Client(), options(here, name))
		tooltest.Run(t, closed, []tooltest.Case{{
			Name: name + " denied", Args: `{"query":"few"}`, ErrorType: "denied", Wants: []string{"network.loopback", "sandbox.private_hosts"},
		}})
		open, err := netguard.ParseHost(strings.TrimPrefix(srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if name != "brave" { // the rest is the same for all, and takes a moment
			continue
		}
		gone := tool(t, netguard.New(netguard.Options{Open: []netguard.Host{open}}).Client(), options(here, name))
		srv.Close()
		refused := tooltest.Case{Name: name + " gone", Args: `{"query":"few"}`, ErrorType: "unreachable", Want: "connection refused"}
		tooltest.Run(t, gone, []tooltest.Case{refused})
	}
}
