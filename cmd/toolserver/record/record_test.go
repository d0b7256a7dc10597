package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func in(dir string) func() (*os.Root, error) {
	return func() (*os.Root, error) { return os.OpenRoot(dir) }
}

func all(*Entry) bool { return true }

func read(t *testing.T, r *Reader) string {
	t.Helper()
	entries, err := r.Next(all)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range entries {
		words = append(words, strings.TrimSuffix(e.What+" "+e.ID+e.Outcome, " "))
	}
	return strings.Join(words, ", ")
}

// process is one that writes to a directory.
func process(dir, run string, pid int) *File {
	started := time.Now().Format(time.RFC3339Nano)
	return &File{Open: in(dir), Head: func() []byte {
		return fmt.Appendf(nil, `{"time":%q,"what":"start","run":%q,"pid":%d,"working_directory":"/%[2]s"}`+"\n", started, run, pid)
	}}
}

func (f *File) put(t *testing.T, what, run, id string) {
	t.Helper()
	if _, err := f.Write(fmt.Appendf(nil, `{"time":%q,"what":%q,"run":%q,"id":%q}`+"\n", time.Now().Format(time.RFC3339Nano), what, run, id)); err != nil {
		t.Fatal(err)
	}
}

// nobody is the number of no process.
const nobody = 1 << 30

// TestBeginsAndEnds checks what a reader makes of calls whose process is gone, runs, or was killed within a line.
func TestBeginsAndEnds(t *testing.T) {
	dir := t.TempDir()
	one, two := process(dir, "one", os.Getpid()), process(dir, "two", nobody)
	one.put(t, Begin, "one", "1")
	one.put(t, Call, "one", "3")
	r := NewReader(in(dir))
	if got := read(t, r); got != "start, call 1running, call 3" {
		t.Error(got)
	}
	one.put(t, Call, "one", "1")
	two.put(t, Begin, "two", "4")
	if _, err := two.file.WriteString(`{"time":"2026-11-28T01:02:03Z","what":"call","run":"two","id":"4","outc`); err != nil {
		t.Fatal(err)
	}
	one.put(t, Begin, "one", "5")
	if got := read(t, r); got != "start, call 1" {
		t.Error(got)
	}
	if got := read(t, r); got != "call 4unfinished" {
		t.Error(got)
	}
	three := process(dir, "three", os.Getpid()) // as in another container
	three.put(t, "connect", "three", "")
	if got := read(t, r) + ", " + read(t, r); got != "start, connect, call 5unfinished" {
		t.Error(got)
	}
	if got := read(t, NewReader(in(dir))); got != "start, start, call 3, call 1, call 4unfinished, call 5unfinished, start, connect" {
		t.Error(got)
	}
	if info, err := os.Stat(filepath.Join(dir, current)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", info, err)
	}
	if found, err := NewReader(func() (*os.Root, error) { return nil, fs.ErrNotExist }).Next(all); found != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Error(found, err)
	}
}

// TestBounds has several processes write more than may be kept, and reads meanwhile: nothing comes twice.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	big := strings.Repeat("x", 256<<10)
	count := (maxRotated + 2*rotateAt) / len(big) / 2
	for n := range 2 {
		writers.Go(func() {
			run := fmt.Sprint(n)
			f := process(dir, run, os.Getpid())
			defer f.Close()
			for i := range count {
				f.looked = time.Time{}
				if _, err := f.Write(fmt.Appendf(nil, `{"time":%q,"what":"call","run":%q,"id":"%[2]s-%d","error":%q}`+"\n", time.Now().Format(time.RFC3339Nano), run, i, big)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	r, seen := NewReader(in(dir)), map[string]bool{}
	look := func() {
		found, err := r.Next(func(e *Entry) bool { return e.What == Call })
		if err != nil {
			t.Error(err)
		}
		for _, e := range found {
			if seen[e.ID] || e.Directory == "" {
				t.Errorf("%s comes twice, or without its process: %s", e.ID, e.Directory)
			}
			seen[e.ID] = true
		}
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		look()
	}
	look()
	if last := fmt.Sprintf("0-%d", count-1); !seen[last] || len(seen) < count {
		t.Errorf("%d of %d entries were seen, the last: %v", len(seen), 2*count, seen[last])
	}
	size := int64(0)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, info := range files(root) {
		size += info.Size()
	}
	if size > maxRotated+2*rotateAt {
		t.Errorf("%d bytes are kept", size)
	}
}

// TestRemoved checks that a process notices that its file is gone, and that it cannot be opened.
func TestRemoved(t *testing.T) {
	dir := t.TempDir()
	f := process(dir, "one", os.Getpid())
	f.put(t, Call, "one", "1")
	if err := os.Remove(filepath.Join(dir, current)); err != nil {
		t.Fatal(err)
	}
	f.looked = time.Time{}
	f.put(t, Call, "one", "2")
	if got := read(t, NewReader(in(dir))); got != "start, call 2" {
		t.Error(got)
	}
	f.Close()
	f.Open = func() (*os.Root, error) { return nil, errors.New("disk full") }
	if n, err := f.Write([]byte("{}\n")); n != 0 || err == nil {
		t.Error(n, err)
	}
}
