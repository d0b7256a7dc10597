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
// DELETE, and then by idle time, as those of clients that never say goodbye.
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
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {session_ttl: 30s, max_sessions: 20000}")...)
	cold := s.memory(t)
	s.deleteSessions(t, s.beginSessions(t))
	warm := s.settledMemory(t)
	s.deleteSessions(t, s.beginSessions(t))
	s.fallsTo(t, "deleted", warm+warm/10)

	begun := time.Now()
	s.beginSessions(t)
	t.Logf("begun within %v", time.Since(begun).Round(time.Millisecond))
	marker := fmt.Sprintf("860%05d", os.Getpid()%100000)
	last := s.newPeer(t, "2025-11-25", "")
	if a := last.call(t, "bash", map[string]any{"command": "sleep 1000." + marker, "background": true}); a.Error != nil || a.Result.IsError {
		t.Fatalf("no job: %s", a.text())
	}
	full := s.memory(t)
	// A session takes its background jobs along, so that the end of the last
	// one's job says that all have ended.
	for deadline := time.Now().Add(2 * time.Minute); len(marked(t, marker)) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an expired session does not end")
		}
	}
	s.fallsTo(t, "expired", warm+warm/10)
	t.Logf("%d kB at first, %d kB warm, %d kB with %d sessions, %d kB in the end", cold, warm, full, manySessions, s.memory(t))
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
