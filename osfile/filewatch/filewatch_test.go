package filewatch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/osfile/filewatch"
)

// watched starts a watch and returns the channel on which its calls arrive.
func watched(t *testing.T, file string) <-chan struct{} {
	calls := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := filewatch.Watch(ctx, file, func(settled bool) {
		if settled {
			calls <- struct{}{}
		}
	})
	t.Cleanup(func() {
		cancel()
		await(t, done, "the end of the watch")
	})
	return calls
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited 20 s for %s", what)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.yaml")
	put(t, a, "1")
	calls := watched(t, a)

	put(t, a, "2")
	await(t, calls, "a write in place")

	put(t, a+"~", "3")
	must(t, os.Rename(a+"~", a))
	await(t, calls, "a rename over the file")

	must(t, os.Remove(a))
	await(t, calls, "a file that disappears")

	put(t, a, "3")
	await(t, calls, "a file that appears")

	// What changes nothing makes no call: the next one is for the last write.
	put(t, filepath.Join(dir, "other"), "x")
	must(t, os.Chtimes(a, time.Unix(1, 0), time.Unix(1, 0)))
	put(t, a, "4")
	await(t, calls, "the write after the touch")
	if len(calls) != 0 {
		t.Errorf("%d calls more than changes", len(calls))
	}
}

func TestWatchFollowsLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	folder := func(name, text string) {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		put(t, filepath.Join(dir, name, "c.yaml"), text)
	}
	link := func(to, name string) { // replaces name at once, as kubelet does
		t.Helper()
		must(t, os.Symlink(to, filepath.Join(dir, "tmp")), os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, name)))
	}
	folder("..1", "1")
	folder("..2", "2")
	link("..1", "..data")
	if err := os.Symlink("..data/c.yaml", filepath.Join(dir, "c.yaml")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	calls := watched(t, filepath.Join(dir, "c.yaml"))

	link("..2", "..data")
	await(t, calls, "the swap of a folder on the way")

	must(t, os.RemoveAll(filepath.Join(dir, "..1")))
	put(t, filepath.Join(dir, "..2", "c.yaml"), "3")
	await(t, calls, "a write behind the new link")

	target := filepath.Join(elsewhere, "t.yaml")
	put(t, target, "4")
	link(target, "c.yaml")
	await(t, calls, "a link to another folder")

	put(t, target, "5")
	await(t, calls, "a write in that folder")
}

func TestWatchSurvivesTheLossOfItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub")
	file := filepath.Join(dir, "c.yaml")
	must(t, os.Mkdir(dir, 0o700))
	put(t, file, "1")
	calls := watched(t, file)

	must(t, os.RemoveAll(dir))
	await(t, calls, "the removal of the folder")

	must(t, os.Mkdir(dir, 0o700))
	put(t, file, "2")
	await(t, calls, "the folder's return")

	must(t, os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700))
	put(t, file, "3")
	await(t, calls, "another folder of the same name")

	put(t, file, "4")
	await(t, calls, "a write in it")
}

// TestWatchOfAFileThatNeverSettles checks that the caller is told of one.
func TestWatchOfAFileThatNeverSettles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	unsettled := make(chan struct{}, 100)
	done := filewatch.Watch(ctx, file, func(settled bool) {
		if !settled {
			unsettled <- struct{}{}
		}
	})
	deadline := time.After(20 * time.Second)
	for n := 0; len(unsettled) == 0; n++ {
		select {
		case <-deadline:
			t.Fatal("no call while the file is written all the time")
		default:
			put(t, file+"~", strconv.Itoa(n))
			must(t, os.Rename(file+"~", file))
		}
	}
	cancel()
	await(t, done, "the end of the watch")
}

// TestWatchBackAgain removes a file, restores it while the removal settles, and
// removes it again as soon as the restored one is reported: that is reported, too.
func TestWatchBackAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "first")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var there []bool
		done := filewatch.Watch(ctx, file, func(bool) {
			_, err := os.Stat(file)
			there = append(there, err == nil)
			_ = os.Remove(file)
		})
		time.Sleep(400 * time.Millisecond)
		must(t, os.Remove(file))
		time.Sleep(300 * time.Millisecond) // it looks every 500 ms, and waits for 300
		put(t, file, "second")
		time.Sleep(time.Minute)
		cancel()
		<-done
		if !slices.Equal(there, []bool{true, false}) {
			t.Errorf("when a change was reported, the file was there: %v", there)
		}
	})
}
