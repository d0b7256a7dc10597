package walk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/walk"
)

// deepTree makes a chain of n directories, with two files at every level whose
// names come before and after the directory's.
func deepTree(t *testing.T, n int) string {
	t.Helper()
	root := tree(t)
	fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; i < n && err == nil; i++ {
		for _, name := range []string{"a", "z"} {
			f, ferr := unix.Openat(fd, name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			unix.Close(f)
			err = errors.Join(err, ferr)
		}
		err = errors.Join(err, unix.Mkdirat(fd, "dd", 0o700))
		next, oerr := unix.Openat(fd, "dd", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd, err = next, errors.Join(err, oerr)
	}
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

func TestDeepTree(t *testing.T) {
	const depth = 5000
	root := deepTree(t, depth)
	before := openDescriptors(t)
	for _, opt := range []walk.Options{{}, {Gitignore: true}} {
		files, most := 0, 0
		stats, err := walk.Walk(context.Background(), open(t, root), root, opt, func(e *walk.Entry) error {
			if e.IsRegular() {
				files++
				if _, err := e.Info(); err != nil {
					return err
				}
			}
			if strings.Count(e.Rel(), "/")%500 == 0 {
				most = max(most, openDescriptors(t))
			}
			return nil
		})
		if err != nil || files != 2*depth || stats.Unreadable != 0 || most > before+50 {
			t.Errorf("%+v: %d files, %d descriptors, %+v, %v", opt, files, most-before, stats, err)
		}
	}
	if after := openDescriptors(t); after > before+3 { // the three roots stay open until the test ends
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// A deep directory that is moved away while the walk is below it must not take
// the walk elsewhere when it comes back up.
func TestMovedWhileInside(t *testing.T) {
	const depth = 100
	root := deepTree(t, depth)
	other := tree(t, "outside/z", "outside/secret")
	outside := 0
	stats, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
		if e.Name() == "secret" {
			outside++
		}
		if strings.Count(e.Rel(), "/") == depth-1 && e.Name() == "a" {
			from := root
			for range 20 {
				from = filepath.Join(from, "dd")
			}
			return os.Rename(from, filepath.Join(other, "outside", "dd"))
		}
		return nil
	})
	if err != nil || outside != 0 || stats.Unreadable == 0 {
		t.Errorf("%d visits outside, %+v, %v", outside, stats, err)
	}
}

func TestFIFOIsNotWaitedFor(t *testing.T) {
	root := tree(t, "file")
	_, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
		path := filepath.Join(root, "file")
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			return err
		}
		if _, err := e.Open(); !errors.Is(err, walk.ErrNotRegular) {
			return fmt.Errorf("opened a FIFO: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
