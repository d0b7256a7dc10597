package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const manySessions = 10_000

// TestHTTPSessionMemory begins 10,000 sessions at a time and has them end by
// DELETE, or by idle time, as those of clients that never say goodbye.
//
// The measure is resident memory after a first round: by then the process has
// what it needs at all, such as buffers, connections and a map of that many
// sessions, which Go never makes smaller. Each round later must come back to
// within 10 % of that, some 3 MiB, so 300 bytes of a session kept would be seen.
// Memory is freed when Go collects, which it does as others allocate, and then
// goes back to the system little by little: so each round ends with clients who
// keep the server busy until memory has fallen or time is up.
func TestHTTPSessionMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, ttl string
		end       func(*httpServer, *testing.T, []string)
	}{{"deleted", "30m", (*httpServer).deleteSessions}, {"expired", "15s", (*httpServer).expireSessions}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {session_ttl: "+c.ttl+", max_sessions: 20000}")...)
			c.end(s, t, s.beginSessions(t))
			warm := s.settledMemory(t)
			c.end(s, t, s.beginSessions(t))
			s.fallsTo(t, c.name, warm+warm/10)
		})
	}
}

// side runs n tasks, eight at a time.
func side(n int, task func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				task(i)
			}
		})
	}
	wg.Wait()
}

func (s *httpServer) beginSessions(t *testing.T) []string {
	t.Helper()
	ids := make([]string, manySessions)
	side(len(ids), func(i int) {
		resp, err := s.try(t.Context(), "POST", "/mcp", strings.NewReader(initializeMessage("2025-11-25")), nil)
		if err != nil {
			t.Errorf("session %d: %v", i, err)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		if ids[i] = resp.Header.Get("Mcp-Session-Id"); resp.StatusCode != http.StatusOK || ids[i] == "" {
			t.Errorf("session %d: %s", i, resp.Status)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return ids
}

// expireSessions waits until sessions have ended that nobody uses. A session takes its
// background jobs along, so that the end of the last one's job says that all have ended.
func (s *httpServer) expireSessions(t *testing.T, _ []string) {
	t.Helper()
	marker := newMarker()
	last := s.newPeer(t, "2025-11-25", "")
	if a := last.call(t, "bash", map[string]any{"command": "sleep 1000." + marker, "background": true}); a.Error != nil || a.Result.IsError {
		t.Fatalf("no job: %s", a.text())
	}
	gone(t, marker)
}

func (s *httpServer) deleteSessions(t *testing.T, ids []string) {
	t.Helper()
	var deleted atomic.Int64
	side(len(ids), func(i int) {
		resp, err := s.try(t.Context(), "DELETE", "/mcp", nil, map[string]string{"Mcp-Session-Id": ids[i]})
		if err != nil {
			t.Errorf("session %d: %v", i, err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNoContent {
			deleted.Add(1)
		}
	})
	if n := deleted.Load(); n != int64(len(ids)) {
		t.Errorf("%d sessions deleted", n)
	}
}

// memory returns the resident memory of the process in kB.
func (s *httpServer) memory(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kB
}

// allocate makes the server allocate some memory that it does not keep.
func (s *httpServer) allocate(t *testing.T) {
	t.Helper()
	body := strings.Repeat(" ", 1<<16)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	resp, err := s.try(ctx, "POST", "/mcp", strings.NewReader(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// settledMemory returns the least memory the process has while it allocates for
// some seconds: garbage is gone by then.
func (s *httpServer) settledMemory(t *testing.T) int {
	t.Helper()
	least := s.memory(t)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		s.allocate(t)
		least = min(least, s.memory(t))
	}
	return least
}

func (s *httpServer) fallsTo(t *testing.T, name string, limit int) {
	t.Helper()
	least := s.memory(t)
	for deadline := time.Now().Add(patience); least > limit; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s: %d kB, and did not fall to %d kB", name, least, limit)
			return
		}
		s.allocate(t)
		least = min(least, s.memory(t))
	}
	t.Logf("%s: %d kB", name, least)
}
