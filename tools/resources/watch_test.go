package resources_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// watch begins to watch a file.
func (b bench) watch(ctx context.Context, t *testing.T, uri string, changed func()) error {
	t.Helper()
	r, at, err := b.exec.Registry.Catalog().FindResource(domain.Principal{}, uri)
	if err != nil {
		t.Fatal(err)
	}
	return r.Watch(ctx, at, changed)
}

// replace puts a new file in the place of name at once, so that nobody sees it
// half written.
func (b bench) replace(t *testing.T, name, content string) {
	t.Helper()
	b.put(t, "../new", content)
	if err := os.Rename(filepath.Join(b.dir, "../new"), filepath.Join(b.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestWatch looks at a file once in two seconds of a clock that runs by itself
// while nothing else does, and counts the changes.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(t, "a.txt", "one", "b.txt", "two")
		path := filepath.Join(b.dir, "a.txt")
		old := time.Unix(1_000_000_000, 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var calls atomic.Int32
		if err := b.watch(ctx, t, "file:///a.txt", func() { calls.Add(1) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // between two looks
		steps := []struct {
			what   string
			do     func() error
			change int32
		}{
			{"nothing", func() error { return nil }, 0},
			{"another file", func() error { b.replace(t, "b.txt", "three"); return nil }, 0},
			{"another size", func() error { return os.Truncate(path, 10) }, 1},
			{"another time", func() error { return os.Chtimes(path, old, old) }, 1},
			{"another file of the same size and time", func() error {
				b.replace(t, "a.txt", "0123456789")
				return os.Chtimes(path, old, old)
			}, 1},
			{"no file", func() error { return os.Remove(path) }, 1},
			{"still no file", func() error { return nil }, 0},
			{"a directory", func() error { return os.Mkdir(path, 0o755) }, 0},
			{"a file again", func() error {
				b.replace(t, "c.txt", "x")
				os.Remove(path)
				return os.Rename(filepath.Join(b.dir, "c.txt"), path)
			}, 1},
			{"nobody watches any more", func() error { cancel(); return os.Remove(path) }, 0},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := calls.Swap(0); got != step.change {
				t.Errorf("%s: told of %d changes; want %d", step.what, got, step.change)
			}
		}
	}) // waits until the watch has ended
}

func TestWatchLinkLedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(t, "a.txt", "one", "../outside/b.txt", "two")
		b.link(t, "link", "a.txt")
		changes := make(chan struct{}, 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer time.Sleep(2 * time.Second) // until nobody looks any more
		defer cancel()
		if err := b.watch(ctx, t, "file:///link", func() { changes <- struct{}{} }); err != nil {
			t.Fatal(err)
		}
		b.link(t, "next", "../outside/b.txt")
		if err := os.Rename(filepath.Join(b.dir, "next"), filepath.Join(b.dir, "link")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changes:
		case <-time.After(30 * time.Second):
			t.Fatal("not told that the file can no longer be read")
		}
	})
}

// TestWatchTogether checks that all who have subscribed to a file are told, and that nobody
// looks at it when the last of them has left.
func TestWatchTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(t, "a.txt", "one", "b.txt", "two")
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int32
		for range 100 {
			for _, uri := range []string{"file:///a.txt", "file:///b.txt"} {
				if err := b.watch(ctx, t, uri, func() { calls.Add(1) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.replace(t, "a.txt", "three")
		time.Sleep(3 * time.Second)
		if got := calls.Load(); got != 100 {
			t.Errorf("%d of 100 subscriptions are told of the change", got)
		}
		cancel()
		time.Sleep(3 * time.Second)
	}) // which nothing of it may outlive
}

func TestWatchRefused(t *testing.T) {
	b := newBench(t, func(p *sandbox.Policy) {
		p.Tools["read_file"] = sandbox.ToolPolicy{DeniedPaths: []string{filepath.Join(p.WorkingDirectory, "secret")}}
	})
	b.put(t, "docs/a.txt", "", "secret/key", "", "large", "")
	if err := os.Truncate(filepath.Join(b.dir, "large"), 11<<20); err != nil {
		t.Skip(err)
	}
	for _, uri := range []string{"file:///none.txt", "file:///docs", "file:///secret/key", "file:///../x", "file:///large"} {
		err := b.watch(t.Context(), t, uri, func() { t.Errorf("%s changed", uri) })
		_, want := read(t, b.exec, uri)
		if err == nil || want == nil || err.Error() != want.Error() || domain.CodeOf(err) != domain.CodeOf(want) {
			t.Errorf("%s: watching says %v, reading %v", uri, err, want)
		}
	}
}
