package pathguard_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

var raceTries = flag.Int("race-tries", 500, "tries of each path race; a soak takes 100000")

// exchange swaps two names in a tight loop until the returned function is
// called, which waits for it.
func exchange(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// TestRaces swaps what a path names while it is used. No try may return what
// lies outside or is denied, or change it.
func TestRaces(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		for _, c := range []struct{ name, link string }{
			{"outside", "$/out"}, {"denied", "$/w/secret"}, {"denied relative", "secret"}, {"root", "/proc/self/root$/out"}, {"parent", "../out"},
		} {
			t.Run(c.name, func(t *testing.T) {
				root := tree(t, "file w/swap/x IN", "file out/x BAD", "file w/secret/x BAD", "symlink w/swaplink "+c.link)
				g := guard(t, build, root, []string{"w"}, []string{"w/secret"})
				stop := exchange(t, root+"/w/swap", root+"/w/swaplink")
				hits := hammer(t, g, *raceTries)
				stop()
				unharmed(t, g, root, hits)
			})
		}
		t.Run("file", func(t *testing.T) {
			root := tree(t, "file w/swap/x IN", "file out/x BAD", "file w/secret/x BAD", "symlink w/swap/l $/w/secret/x")
			g := guard(t, build, root, []string{"w"}, []string{"w/secret"})
			stop := exchange(t, root+"/w/swap/x", root+"/w/swap/l")
			hits := hammer(t, g, *raceTries)
			stop()
			unharmed(t, g, root, hits)
		})
	})
}

// hammer uses swap/x in every way and returns how many tries got through to
// the innocent file.
func hammer(t *testing.T, g *pathguard.Guard, tries int) (hits int) {
	for i := range tries {
		content, err := read(g, "swap/x")
		if content == "BAD" {
			t.Fatalf("try %d: read what is not allowed", i)
		}
		if err == nil {
			hits++
		}
		if d, err := g.OpenDir("swap"); err == nil {
			if base := filepath.Base(d.Info.Real); base == "out" || base == "secret" {
				t.Fatalf("try %d: listed %s", i, d.Info.Real)
			}
			d.Close()
		}
		if info, err := g.Stat("swap/x"); err == nil && info.Size == int64(len("BAD")) {
			t.Fatalf("try %d: described %s", i, info.Real)
		}
		_ = g.Append("swap/x", nil)
		if i%16 == 0 {
			_, _ = write(g, "swap/made/new", "IN", pathguard.ReplaceOptions{CreateDirs: true})
			_, _ = write(g, "swap/x", "IN", pathguard.ReplaceOptions{})
			_, _ = write(g, "swap/new", "IN", pathguard.ReplaceOptions{NoReplace: true})
		}
		if i%100 == 0 {
			_, _ = g.MakeDir("swap/made/dir")
			_ = move(g, "swap/new", "swap/newer", true)
			_ = move(g, "swap/made", "swap/moved", false)
			_ = remove(g, "swap/moved", true)
			_ = remove(g, "swap/newer", false)
			if made, err := g.NewTree("swap/copy", false); err == nil {
				_ = made.MakeDir("in", 0o755)
				_ = made.Commit(0o755, func(string) error { return nil })
				made.Close()
			}
		}
	}
	return hits
}

// unharmed looks at what had to stay as it was, and that the file which is
// allowed can be read now that it is at rest under one of its names.
func unharmed(t *testing.T, g *pathguard.Guard, root string, hits int) {
	t.Helper()
	for _, dir := range []string{"out", "w/secret"} {
		onlyNames(t, filepath.Join(root, dir), "x")
		if b, err := os.ReadFile(filepath.Join(root, dir, "x")); err != nil || string(b) != "BAD" {
			t.Errorf("%s/x is now %q (%v)", dir, b, err)
		}
	}
	t.Logf("%d tries reached the file that is allowed", hits)
	for _, name := range []string{"swap/x", "swaplink/x", "swap/l"} {
		if content, err := read(g, name); err == nil && content == "IN" {
			return
		}
	}
	t.Error("the file that is allowed cannot be read")
}
