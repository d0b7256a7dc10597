//go:build linux

package e2e

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSecondSignal ends servers that would wait: for a client that does not read, or
// for a call. A second signal ends them at once, with all they have started.
func TestSecondSignal(t *testing.T) {
	const grace = "server: {grace: 10m}\n"
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		exe, marker := own(t, binary()), newMarker()
		config, _ := configured(t, grace)
		unread, stdout, err := os.Pipe()
		must(t, err)
		defer unread.Close()
		p := spawn(t, stdout, nil, exe, "serve", "--stdio", "--config", config)
		_, err = io.WriteString(p.in, bash("1", detached(marker)+"sleep 1000."+marker)+"\n")
		must(t, err)
		sleeping(t, marker, 4)
		for err == nil {
			p.in.SetWriteDeadline(time.Now().Add(time.Second))
			_, err = io.WriteString(p.in, request("2", "tools/list", "{}")+"\n")
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		endTwice(t, p, exe, marker)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		exe, marker := own(t, binary()), newMarker()
		s := startHTTP(t, exe, httpConfig(t, t.TempDir(), grace)...)
		p := s.newPeer(t, "2025-11-25", "")
		p.send(t.Context(), p.callMessage("1", "bash", map[string]any{"command": detached(marker) + "sleep 1000." + marker, "timeout": 600}, ""))
		sleeping(t, marker, 4)
		endTwice(t, s.program, exe, marker)
	})
}

// endTwice signals until the server has ended: the first signal may be noticed only
// after the second was sent, which is then none.
func endTwice(t *testing.T, p *program, exe, marker string) {
	t.Helper()
	eventually(t, "the server ends", func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	gone(t, marker)
	ended(t, exe)
}
