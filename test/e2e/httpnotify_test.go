package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHTTPNotify is the service manager of a server: it hears when that is ready, lives, reloads and stops, and nobody else can say so.
func TestHTTPNotify(t *testing.T) {
	t.Parallel()
	names := map[string]string{"path": filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names["abstract"] = fmt.Sprintf("@toolserver-notify-%d", os.Getpid())
	}
	for kind, name := range names {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
			must(t, err)
			defer conn.Close()
			hears := func(want string) {
				t.Helper()
				must(t, conn.SetReadDeadline(time.Now().Add(patience)))
				for b := make([]byte, 100); ; {
					n, err := conn.Read(b)
					if err != nil {
						t.Fatalf("it does not say %s: %v", want, err)
					}
					if got := string(b[:n]); got == want {
						return
					} else if got != "WATCHDOG=1" {
						t.Fatalf("it says %s, not %s", got, want)
					}
				}
			}
			args := append(httpConfig(t, t.TempDir(), "server: {drain_delay: 1s}"), "--insecure-no-auth")
			s := launchHTTP(t, []string{"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=200000"}, binary(), args...)
			hears("READY=1")
			hears("WATCHDOG=1")
			p := s.newPeer(t, modernVersion, "")
			if r := p.call(t, "bash", map[string]any{"command": "echo socket:$NOTIFY_SOCKET."}); !strings.Contains(r.text(), "socket:.") {
				t.Errorf("a command: %v", r)
			}
			must(t, s.cmd.Process.Signal(syscall.SIGHUP))
			hears("RELOADING=1")
			hears("READY=1")
			must(t, s.cmd.Process.Signal(syscall.SIGTERM))
			hears("STOPPING=1")
			hears("WATCHDOG=1") // until it ends
		})
	}
}
