//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var repositoryTries = flag.Int("repository-tries", 2_000, "how often each side of a race for a repository tries; 100000 takes minutes")

// Two commands of one server, and commands of two, make a repository of git that runs a
// program, each a harmless half of it, again and again; so does a command beside a file tool.
// None of them ever sees all of it.
func TestRepositoryRaces(t *testing.T) {
	probe := built(t, "probe")
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces"} {
			t.Run("without "+without, func(t *testing.T) {
				g := newGround(t, who)
				one, two := g.open(setup{without: without}), g.open(setup{without: without})
				defer one.stop()
				defer two.stop()
				for i, side := range []string{"config", "rename", "hook"} {
					for name, other := range map[string]*box{"another command": one, "another server": two} {
						dir := fmt.Sprintf("e%d%s", i, strings.ReplaceAll(name, " ", ""))
						command := func(side string) map[string]any {
							return map[string]any{"command": fmt.Sprintf("%s race %s %s %d", probe, side, dir, *repositoryTries), "timeout": 600}
						}
						there, here := other.begin("bash", command(side)), one.begin("bash", command("mark"))
						for _, o := range []outcome{one.finish(here), other.finish(there)} {
							if strings.Contains(o.text, "WON") || !strings.Contains(o.text, " of ") {
								t.Errorf("%s and %s: %v", side, name, o)
							}
						}
					}
				}
				marks := one.begin("bash", map[string]any{"command": fmt.Sprintf("%s race mark tool %d", probe, *repositoryTries), "timeout": 600})
				evil := "[core]\n\tfsmonitor = \"touch WON; false\"\n"
				wrote := 0
				for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
					if o := two.call("write_file", map[string]any{"path": filepath.Join(g.work, "tool/config"), "content": evil}); !o.failed {
						wrote++
					}
				}
				if o := one.finish(marks); strings.Contains(o.text, "WON") || wrote == 0 {
					t.Errorf("a command and write_file, which wrote %d times: %v", wrote, o)
				}
			})
		}
	})
}

// An open that waits, for the other end of a FIFO or for a lease, keeps no other open waiting,
// and neither the end of the call nor the next one.
func TestOpensThatWait(t *testing.T) {
	const wait = `
import os, threading, time, fcntl, signal
os.mkfifo('p')
def other():
    time.sleep(.2); open('other', 'w').close(); print('other', flush=True)
`
	for name, tt := range map[string]struct{ code, want string }{
		"reader that may create":   {wait + "threading.Thread(target=other).start(); os.open('p', os.O_RDONLY | os.O_CREAT)", "other"},
		"writer that may create":   {wait + "threading.Thread(target=other).start(); os.open('p', os.O_WRONLY | os.O_CREAT)", "other"},
		"writer by its descriptor": {wait + "threading.Thread(target=other).start(); os.open('/proc/self/fd/%d' % os.open('p', os.O_PATH), os.O_WRONLY)", "other"},
		"lease":                    {wait + "signal.signal(signal.SIGIO, signal.SIG_IGN); open('l', 'w').close(); f = os.open('l', os.O_RDONLY); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK); threading.Thread(target=other).start(); open('l', 'w')", "other"},
		"reader, until there is a writer": {wait + `
def write(): time.sleep(.3); f = os.open('p', os.O_WRONLY); time.sleep(.1); os.write(f, b'hi'); os.close(f)
t = threading.Thread(target=write); t.start()
print(os.read(os.open('p', os.O_RDONLY | os.O_CREAT), 9)); time.sleep(60)`, "b'hi'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachAccount(t, func(t *testing.T, who account) {
				for _, without := range []string{"", "namespaces"} {
					g := newGround(t, who)
					g.file("w.py", tt.code, 0o644)
					b := g.open(setup{without: without})
					o := b.call("bash", map[string]any{"command": "python3 -u w.py", "timeout": 3})
					if o.errorType != "timed_out" || !strings.Contains(o.text, tt.want) {
						t.Errorf("without %q: %v", without, o)
					}
					if o := b.bash("echo next"); o.failed {
						t.Errorf("the next command: %v", o)
					}
					b.stop()
				}
			})
		})
	}
}
