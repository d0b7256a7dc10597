//go:build linux

package e2e

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

// left returns what is in the server's directory for temporary files.
func (g *ground) left() (names []string) {
	g.t.Helper()
	entries, err := os.ReadDir(g.temp)
	must(g.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// stubborn are temporary files that are not easy to remove.
const stubborn = `set -e; cd "$TMPDIR"; mkdir -p a/b/c; touch a/b/c/file; ln -s / root; mkfifo fifo; chmod 0 a/b/c/file a/b; chmod 555 a .`

// TestSandboxScratch looks for temporary files of commands: a server leaves none,
// and one that was killed leaves them to the next.
func TestSandboxScratch(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		for _, end := range []func(b *box){
			func(b *box) { b.in.Close() },
			func(b *box) { must(t, b.cmd.Process.Signal(syscall.SIGTERM)) },
			func(b *box) { must(t, b.cmd.Process.Signal(syscall.SIGINT)) },
		} {
			b := g.open(setup{})
			b.ping()
			if names := g.left(); len(names) != 0 {
				t.Errorf("before the first command there is %q", names)
			}
			if o := b.bash(stubborn); o.failed {
				t.Fatalf("got %v", o)
			}
			end(b)
			b.end()
			if names := g.left(); len(names) != 0 {
				t.Errorf("a server that has ended leaves %q", names)
			}
		}

		killed, alive := g.open(setup{}), g.open(setup{})
		killed.bash(stubborn)
		old := g.left()
		alive.bash("touch $TMPDIR/mine")
		must(t, killed.cmd.Process.Kill())
		killed.end()
		ended := func(name string) bool { return !slices.Contains(g.left(), name) }
		next := g.open(setup{})
		next.bash("true")
		if len(old) != 1 || !ended(old[0]) {
			t.Errorf("the next server does not remove what one that was killed left: %q of %q", g.left(), old)
		}
		if o := alive.bash("ls $TMPDIR"); o.text != "mine" {
			t.Errorf("the temporary files of another server: %v", o)
		}
		next.stop()
		alive.stop()
		if names := g.left(); len(names) != 0 {
			t.Errorf("servers that have ended leave %q", names)
		}
	})
}
