package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// detached are the ways a process gets away from the one that started it.
func detached(marker string) string {
	return strings.ReplaceAll(`sleep 1000.MARK & setsid sleep 1000.MARK & (setsid sh -c 'sleep 1000.MARK' &) ; nohup sleep 1000.MARK >/dev/null 2>&1 & `, "MARK", marker)
}

// TestNothingSurvives ends commands in every way there is.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "toolserver.yaml")
	if err := os.WriteFile(config, []byte("server: {grace: 300ms}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		marker := fmt.Sprintf("7%d%04d", round, os.Getpid()%10000)
		s := start(t, "--config", config, dir)
		s.call("bash", map[string]any{"command": detached(marker) + "echo started"})
		gone(t, marker)
		if a := s.call("bash", map[string]any{"command": detached(marker) + "sleep 1000." + marker, "timeout": 1}); !strings.Contains(a.text(), "[timed out after 1s]") || !a.Result.IsError {
			t.Errorf("got %+v", a)
		}
		gone(t, marker)
		for _, end := range []func(){
			func() { s.cmd.Process.Kill() },
			func() { s.in.Close() },
			func() { s.cmd.Process.Signal(syscall.SIGTERM) },
			func() { s.cmd.Process.Signal(syscall.SIGHUP) },
			func() { s.cmd.Process.Signal(syscall.SIGINT) },
		} {
			s = start(t, "--config", config, dir)
			s.begin("bash", map[string]any{"command": detached(marker) + "touch started; sleep 1000." + marker})
			appears(t, filepath.Join(dir, "started"))
			os.Remove(filepath.Join(dir, "started"))
			end()
			s.end()
			gone(t, marker)
		}
	}
}

// TestSideBySide runs two calls that each wait for the other.
func TestSideBySide(t *testing.T) {
	s := start(t, t.TempDir())
	one := s.begin("bash", map[string]any{"command": "touch a; until [ -e b ]; do sleep 0.01; done"})
	two := s.begin("execute_command", map[string]any{"command": "touch b; until [ -e a ]; do sleep 0.01; done"})
	for _, p := range []*pending{one, two} {
		if a := s.finish(p); a.failed() {
			t.Errorf("got %+v", a)
		}
	}
}

// TestMuchOutput bounds a command that writes 1 GiB.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.call("bash", map[string]any{"command": "true"})
	before := s.status("VmHWM")
	a := s.call("bash", map[string]any{"command": "echo first; head -c 1073741824 /dev/zero | tr '\\0' 'x'; echo; echo last", "timeout": 600})
	if text := a.text(); !strings.HasPrefix(text, "first\n") || !strings.Contains(text, "\nlast\n[Output truncated; ") || len(text) > 41_000 || !strings.Contains(text, "read_large_result(id=") {
		t.Errorf("%d bytes: %.100q ... %.300q", len(text), text, text[max(0, len(text)-300):])
	}
	if grown := s.status("VmHWM") - before; grown > 32<<10 {
		t.Errorf("memory grew by %d kB", grown)
	}
}

// TestNoSecrets checks that a command gets neither the server's environment nor
// its input.
func TestNoSecrets(t *testing.T) {
	s := start(t, t.TempDir())
	if a := s.call("bash", map[string]any{"command": "cat; env | grep -c SECRET; ls /proc/self/fd | wc -l"}); !strings.HasPrefix(a.text(), "0\n") {
		t.Errorf("got %q", a.text())
	}
}

// TestStopsWithInput checks that the end of the input ends the server, and that
// what is under way is answered first.
func TestStopsWithInput(t *testing.T) {
	said := play(t, bash("1", "sleep 0.3; echo done")+"\n", t.TempDir())
	if len(said) != 1 || string(said[0].ID) != "1" || !strings.Contains(string(said[0].Result), `"text":"done"`) {
		t.Errorf("got %s", said)
	}
}

// TestEveryAnswerComes makes many calls, one at a time, that take about as long
// as the goroutine that reads may be kept: the answer of each must come although
// nothing follows it.
func TestEveryAnswerComes(t *testing.T) {
	for range 4 {
		s := start(t, t.TempDir())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 1500 {
				s.call("write_file", map[string]any{"path": "f", "content": "x", "on_conflict": "error"})
				s.call("read_file", map[string]any{"path": "f", "lmit": i})
			}
		}()
		t.Cleanup(func() {
			select {
			case <-done:
			case <-time.After(patience):
				t.Error("an answer did not come")
				s.kill()
				<-done
			}
		})
	}
}
