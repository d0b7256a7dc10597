package pathguard_test

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNoDescriptorIsLost uses guards from several goroutines, in ways that
// succeed and ways that fail, and closes them in the middle.
func TestNoDescriptorIsLost(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "file w/.env S", "symlink w/out $/out", "file out/o O", "dir w/d", "fifo w/p", "symlink w/abs $/w/a")
		runtime.GC()
		warm := guard(t, build, root, []string{"w"}, nil)
		mustRead(t, warm, "a", "A", "")
		before := openDescriptors(t)
		g := guard(t, build, root, []string{"w", "none/yet"}, []string{"w/.env"})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					for _, path := range []string{"a", "abs", ".env", "out/o", "d", "p", "none/x", "a/b", "/dev/zero"} {
						_, _ = read(g, path)
						_, _ = g.Stat(path)
						_, _ = g.Check(path)
						_ = g.Append(path, nil)
						if d, err := g.OpenDir(path); err == nil {
							d.Close()
						}
						_, _ = write(g, path+"/made", "", pathguard.ReplaceOptions{CreateDirs: true})
					}
				}
				for _, path := range []string{"a", "new", ".env", "d", "out/o", "none/x"} {
					_, _ = write(g, path, "A", pathguard.ReplaceOptions{NoReplace: path == "new"})
				}
			})
		}
		wg.Wait()
		mustRead(t, g, "a", "A", "")
		// /proc/self/fd itself stays open for each guard that still exists.
		if after := openDescriptors(t); after > before+1 {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}

// TestFIFOIsLeftAlone has a writer wait in open(2) for a reader, which must
// not come, and the guard must not wait for the writer.
func TestFIFOIsLeftAlone(t *testing.T) {
	root := tree(t, "fifo w/p")
	g := guard(t, pathguard.New, root, []string{"w"}, nil)
	released, finished := make(chan error, 1), make(chan struct{})
	go func() {
		f, err := os.OpenFile(root+"/w/p", os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		released <- err
	}()
	go func() {
		defer close(finished)
		for range 2000 {
			if _, err := g.Open("p"); kindOf(err) != pathguard.KindNotAFile {
				t.Errorf("open: %v", err)
			}
		}
	}()
	select {
	case <-finished:
	case <-time.After(20 * time.Second):
		t.Fatal("waited for a FIFO")
	}
	select {
	case err := <-released:
		t.Errorf("the writer met a reader (%v)", err)
		return
	default:
	}
	reader, err := os.OpenFile(root+"/w/p", os.O_RDONLY, 0) // lets the writer go
	do(t, err, <-released, reader.Close())
}

func TestReplaceKeepsAttributes(t *testing.T) {
	root := tree(t, "file w/a A")
	if err := unix.Setxattr(root+"/w/a", "user.origin", []byte("here"), 0); err != nil {
		t.Skipf("no user attributes on this file system: %v", err)
	}
	if _, err := write(guard(t, pathguard.New, root, []string{"w"}, nil), "a", "B", pathguard.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 16)
	n, err := unix.Getxattr(root+"/w/a", "user.origin", value)
	if err != nil || string(value[:n]) != "here" {
		t.Errorf("attribute is %q, %v", value[:max(n, 0)], err)
	}
}
