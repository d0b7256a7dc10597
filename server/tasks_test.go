package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// TestTaskCalls makes calls of a client that takes tasks, in goroutines that serve one after the other: also one that ends its
// goroutine, and one that has become a task, leaves nothing running.
func TestTaskCalls(t *testing.T) {
	s, _ := fixture(t)
	state := t.TempDir()
	s.tasks.store.Directory = func() (*os.Root, error) { return os.OpenRoot(state) }
	add(s, detaching(nil), domain.Define(domain.Tool{Name: "leaves", Description: "Ends its goroutine."},
		func(context.Context, noInput) (domain.ToolResult, error) { runtime.Goexit(); panic("not reached") }))
	h := s.Handler(t.Context(), HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: everybody{}})
	for range 3 {
		for _, c := range []struct{ tool, args, want string }{
			{"echo", `{"text":"hello"}`, `hello`}, {"leaves", `{}`, `"error"`}, {"background", `{}`, `"resultType":"task"`}, {"echo", `{"text":"again"}`, `again`},
		} {
			r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(taking(request(`1`, "tools/call", `{"name":"`+c.tool+`","arguments":`+c.args+`}`, true))))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {c.tool}}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s: %d %s", c.tool, w.Code, w.Body)
			}
		}
	}
	if !s.tasks.running.wait(time.Minute) {
		t.Error("something still runs")
	}
}
