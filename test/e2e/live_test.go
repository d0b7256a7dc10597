//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/live"
	"github.com/toolserver/toolserver/cmd/toolserver/top"
)

// tops returns what toolserver top shows of the servers that run.
func (y *typist) tops() (all []top.Server) {
	y.t.Helper()
	got := y.types("", "top", "--json")
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || got.code != 0 {
		y.t.Fatalf("%v: %+v", err, got)
	}
	return all
}

// TestTop looks at two servers of a user, cancels a call, and kills one of them.
func TestTop(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	env := []string{"XDG_STATE_HOME=" + y.state, "HOME=" + y.state}
	serve := func() *toolClient {
		return connect(t, append(append([]string{"env"}, env...), binary(), "serve", "--stdio", y.dir)...)
	}
	c := serve()
	h := launchHTTP(t, env, binary(), "--insecure-no-auth", y.dir)
	if got, err := h.tool(t.Context(), "", "echo", `{"message":"hi"}`); err != nil || !strings.Contains(got, "hi") {
		t.Fatal(got, err)
	}
	p := c.begin("bash", map[string]any{"command": "sleep 300"})
	var all []top.Server
	eventually(t, "both are seen, and the calls", func() bool {
		all = y.tops()
		return len(all) == 2 && len(all[0].Calls)+len(all[1].Calls) == 1 && all[0].Minute.Calls+all[1].Minute.Calls == 1
	})
	stdio, http := all[0], all[1]
	if http.Process.Transport != "http" {
		stdio, http = http, stdio
	}
	if stdio.Process.PID == 0 || stdio.Process.Listening != "" || stdio.Process.Directory != y.dir || len(stdio.Clients) != 1 ||
		stdio.Clients[0].Name != "t" || stdio.Clients[0].InFlight != 1 || stdio.Calls[0].Tool != "bash" || len(stdio.Process.Sandbox.InForce) == 0 {
		t.Errorf("%+v", stdio)
	}
	if http.Process.Listening != h.address || http.Minute.Calls != 1 || string(http.Upstreams) == "" {
		t.Errorf("%+v", http)
	}
	contain(t, "the table", y.types("", "top").out, "2 servers, 1 calls in flight", "bash", h.address)

	open := func() (*os.Root, error) { return os.OpenRoot(filepath.Join(y.state, "toolserver", "live")) }
	remotes, err := live.Processes(open)
	must(t, err)
	for _, r := range remotes {
		if r.PID == stdio.Process.PID {
			must(t, r.Cancel(t.Context(), stdio.Calls[0].ID))
		}
	}
	if a := c.finish(p); a.Error == nil || !strings.Contains(fmt.Sprint(a.Error), "canceled by the operator") {
		t.Errorf("%+v", a)
	}
	eventually(t, "the record says so", func() bool {
		return strings.Contains(y.types("", "log", "--tool", "bash").out, "canceled_by_operator")
	})

	must(t, c.cmd.Process.Kill())
	<-c.exited
	if all := y.tops(); len(all) != 1 || all[0].Process.PID != http.Process.PID {
		t.Errorf("after one was killed: %+v", all)
	}
	left, err := filepath.Glob(filepath.Join(y.state, "toolserver", "live", fmt.Sprint(stdio.Process.PID, "-*")))
	must(t, err)
	for _, path := range left {
		must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)))
	}
	again := serve()
	eventually(t, "the next one is seen", func() bool { return len(y.tops()) == 2 })
	for _, path := range left {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	again.in.Close()
	eventually(t, "it ends", func() bool { return len(y.tops()) == 1 })
	must(t, h.cmd.Process.Signal(os.Interrupt))
	<-h.exited
	if left, err := filepath.Glob(filepath.Join(y.state, "toolserver", "live", "*")); err != nil || len(left) != 0 || len(y.tops()) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// lookAt is a program that looks at a server by its socket, in every way that paths allow, and cancels what it finds.
const lookAt = `
import glob, os, socket, sys
state = os.path.join(os.environ["HOME"], ".local", "state", "tool" + "server", "live")
names = sys.argv[1:]
try: names += [n for n in os.listdir(state) if n.endswith(".sock")]
except OSError as e: print(e)
def look(path):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path)
        s.sendall(b"GET /snapshot HTTP/1.0\r\nAuthorization: " + key + b"\r\n\r\n")
        print("answer", s.recv(4096))
    except OSError as e: print(e)
for name in names:
    key = b"guessed"
    try: key = open(os.path.join(state, name + ".key"), "rb").read()
    except OSError as e: print(e)
    for root in "", "/proc/self/root", "/proc/1/root": look(root + state + "/" + name)
    try: os.chdir(state); look(name)
    except OSError as e: print(e)
    try: look("/proc/self/fd/%d/%s" % (os.open(state, os.O_PATH), name)); look("/proc/self/fd/%d" % os.open(state + "/" + name, os.O_PATH))
    except OSError as e: print(e)
`

// TestTopFromCommands has commands try to look at their server.
func TestTopFromCommands(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			for _, config := range []string{"", "sandbox: {network: all, unix_sockets: true}\n"} {
				t.Run(config, func(t *testing.T) {
					t.Parallel()
					g := newGround(t, who)
					g.temp = freshDir(t, "/var/tmp")
					must(t, os.Chown(g.temp, who.id, who.id))
					program := g.file("look.py", lookAt, 0o644)
					b := g.open(setup{config: config, without: without})
					defer b.stop()
					var sockets []string
					eventually(t, "the server listens", func() bool {
						sockets, _ = filepath.Glob(filepath.Join(g.home, ".local/state/toolserver/live/*.key"))
						return len(sockets) == 1
					})
					name := strings.TrimSuffix(filepath.Base(sockets[0]), ".key")
					o := b.bash("HOME=" + g.home[:4] + "'" + g.home[4:] + "' python3 " + program + " " + name)
					if strings.Contains(o.text, "200 OK") || strings.Contains(o.text, "clients") || !strings.Contains(o.text, "Errno") && !strings.Contains(o.text, "403") {
						t.Errorf("a command looks: %v", o)
					}
				})
			}
		})
	})
}

// TestProgress shows on a terminal how far a call has got, and only there.
func TestProgress(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip(err)
	}
	y := newTypist(t)
	for _, test := range []struct {
		args string
		want bool
	}{{"call bash 'sleep 1; echo done'", true}, {"call bash 'echo done'", false}, {"call bash 'sleep 1; echo done' --json", false}, {"call bash 'sleep 1; echo done' 2>/dev/null", false}} {
		cmd := y.command("script", "-qec", "stty cols 40; "+binary()+" "+test.args, "/dev/null")
		out, err := cmd.CombinedOutput()
		must(t, err)
		if got := strings.Contains(string(out), "0:00  bash\x1b[K"); got != test.want || !strings.Contains(string(out), "done") {
			t.Errorf("%s: %q", test.args, out)
		}
		if test.want && !strings.HasSuffix(string(out), "\r\x1b[Kdone\r\n") {
			t.Errorf("something is left: %q", out)
		}
	}
}
