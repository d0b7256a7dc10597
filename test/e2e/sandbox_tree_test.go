//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// runaways is a command line whose processes try to outlive it, each in its own
// way, and all with the marker in their command lines. It makes the file ready
// when all are on their way.
func runaways(marker, ready, end string) string {
	return strings.ReplaceAll(`
sleep 1000.MARK &
setsid sleep 1000.MARK &
(setsid bash -c '(sleep 1000.MARK) & exit' &)
nohup sleep 1000.MARK >/dev/null 2>&1 & disown
(trap '' TERM HUP INT; exec sleep 1000.MARK) &
if command -v perl >/dev/null; then
  perl -MPOSIX -e 'exit if fork; POSIX::setsid(); exit if fork; $SIG{TERM} = "IGNORE"; while (1) { exit if fork; select undef, undef, undef, 0.02 }' MARK
fi
`, "MARK", marker) + "touch " + ready + "; " + strings.ReplaceAll(end, "MARK", marker)
}

// The ways a command ends. A round starts one with its runaways, and returns when
// that is over.
var treeEnds = []struct {
	name  string
	alone bool // ends the server
	round func(b *box, marker, ready string)
}{
	{"its own end", false, func(b *box, marker, ready string) {
		if o := b.bash(runaways(marker, ready, "echo over")); o.failed || !strings.HasPrefix(o.text, "over") {
			b.t.Errorf("got %v", o)
		}
		b.none(marker)
	}},
	{"its own failure", false, func(b *box, marker, ready string) {
		if o := b.call("execute_command", map[string]any{"command": runaways(marker, ready, "kill -KILL $$")}); !o.failed {
			b.t.Errorf("got %v", o)
		}
		b.none(marker)
	}},
	{"cancel", false, func(b *box, marker, ready string) {
		call := b.begin("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "timeout": 600})
		b.until(ready)
		call.cancel()
		gone(b.t, marker)
	}},
	{"stop of a job", false, func(b *box, marker, ready string) {
		b.bash("true") // so that there is a job to stop, not a server that starts
		started := b.call("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "background": true})
		_, rest, _ := strings.Cut(started.text, `job="`)
		job, _, found := strings.Cut(rest, `"`)
		if !found {
			b.t.Fatalf("got %v", started)
		}
		b.until(ready)
		if o := b.call("bash_jobs", map[string]any{"action": "stop", "job": job}); o.failed || !strings.Contains(o.text, "stopped") {
			b.t.Errorf("got %v", o)
		}
		b.none(marker)
	}},
	{"the end of stdin", true, func(b *box, marker, ready string) {
		b.begin("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "timeout": 600})
		b.until(ready)
		b.stop()
		gone(b.t, marker)
	}},
	{"the end of stdin, as a job", true, func(b *box, marker, ready string) {
		b.call("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "background": true})
		b.until(ready)
		b.stop()
		gone(b.t, marker)
	}},
	{"SIGKILL of the server", true, func(b *box, marker, ready string) {
		b.begin("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "timeout": 600})
		b.until(ready)
		must(b.t, b.cmd.Process.Signal(syscall.SIGKILL))
		b.end()
		gone(b.t, marker)
	}},
	{"SIGKILL of the server, as a job", true, func(b *box, marker, ready string) {
		b.call("bash", map[string]any{"command": runaways(marker, ready, "sleep 1000.MARK"), "background": true})
		b.until(ready)
		must(b.t, b.cmd.Process.Signal(syscall.SIGKILL))
		b.end()
		gone(b.t, marker)
	}},
}

// until waits until the command has made the file.
func (b *box) until(file string) {
	b.t.Helper()
	eventually(b.t, "the command is there", func() bool { _, err := os.Stat(filepath.Join(b.work, file)); return err == nil })
}

// none checks that no process has the marker, now.
func (b *box) none(marker string) {
	b.t.Helper()
	if left := marked(b.t, marker); len(left) > 0 {
		b.t.Errorf("after the answer %d processes are still there", len(left))
		gone(b.t, marker)
	}
}

const treeConfig = "server: {grace: 30ms}\nlogging: {level: error}\n"

// TestSandboxTree ends 200 commands in every way there is, and looks for what they
// leave. Without namespaces the supervisors have to find every process themselves.
func TestSandboxTree(t *testing.T) {
	t.Parallel()
	const rounds = 5
	for _, without := range []string{"", "namespaces"} {
		t.Run("without "+without, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				for _, end := range treeEnds {
					t.Run(end.name, func(t *testing.T) {
						t.Parallel()
						g := newGround(t, who)
						var b *box
						for round := range rounds {
							if b == nil || end.alone {
								b = g.open(setup{config: treeConfig, without: without})
							}
							end.round(b, newMarker(), fmt.Sprintf("ready%d", round))
						}
						b.stop()
						ended(t, g.exe)
					})
				}
				t.Run("timeout", func(t *testing.T) {
					t.Parallel()
					g := newGround(t, who)
					treeTimeouts(g.open(setup{config: treeConfig, without: without}), 2*rounds)
					ended(t, g.exe)
				})
			})
		})
	}
}

// treeTimeouts lets the time of commands be up, side by side since that is what
// takes longest.
func treeTimeouts(b *box, rounds int) {
	marker := newMarker()
	var calls []*pending
	for i := range rounds {
		calls = append(calls, b.begin("bash", command(runaways(marker, fmt.Sprintf("ready%d", i), "sleep 1000.MARK"), 1)))
	}
	for _, call := range calls {
		if o := b.finish(call); o.errorType != "timed_out" {
			b.t.Errorf("got %v", o)
		}
	}
	b.none(marker)
	b.stop()
}
