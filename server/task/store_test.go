package task

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/store"
)

// newStore returns a store as another process has it, in the directory base.
func newStore(t *testing.T, base string) *Store {
	s := &Store{Shared: store.New(), Directory: func() (*os.Root, error) { return os.OpenRoot(base) }, Unusable: func(err error) { t.Log(err) }}
	t.Cleanup(s.Close)
	return s
}

func put(t *testing.T, s *Store, state Task) {
	t.Helper()
	if err := s.Put(state); err != nil {
		t.Fatal(err)
	}
}

// TestProcesses has one process look at the tasks of another one, which goes on, ends, and is gone.
func TestProcesses(t *testing.T) {
	base := t.TempDir()
	one, other := newStore(t, base), newStore(t, base)
	running := Task{Owner: "ann", State: State{ID: one.NewID("ann"), Status: Working, Created: time.Now()}}
	done := Task{Owner: "ann", State: State{ID: one.NewID("ann"), Status: Completed, Result: json.RawMessage(`{"content":[]}`)}}
	put(t, one, running)
	put(t, one, done)
	if got, err := other.Get("ann", running.ID); err != nil || got.Status != Working || !got.Foreign {
		t.Errorf("while it runs elsewhere: %+v, %v", got, err)
	}
	for _, s := range []*Store{one, other} {
		if got, err := s.Get("ann", done.ID); err != nil || got.Status != Completed || string(got.Result) != string(done.Result) || got.Foreign {
			t.Errorf("one that is done: %+v, %v", got, err)
		}
		for _, id := range []string{done.ID, running.ID} {
			if _, err := s.Get("bob", id); err != ErrUnknown {
				t.Errorf("of another principal: %v", err)
			}
		}
		for _, id := range []string{"", "x", "../" + done.ID, strings.ToUpper(done.ID), done.ID + "\n", one.NewID("ann"), lockName} {
			if got, err := s.Get("ann", id); err != ErrUnknown {
				t.Errorf("%q: %+v, %v", id, got, err)
			}
		}
	}
	one.Close()
	got, err := other.Get("ann", running.ID)
	if err != nil || got.Status != Failed || got.Foreign || !strings.Contains(got.Message, "unknown") || !json.Valid(got.Error) {
		t.Errorf("after its process is gone: %+v, %v", got, err)
	}
}

// TestExpired has tasks of a process that is gone expire, and their directory go with the first task of
// another one; that of a process that lives stays.
func TestExpired(t *testing.T) {
	base := t.TempDir()
	dead, lives := newStore(t, base), newStore(t, base)
	old := time.Now().Add(-2 * KeptFor)
	var ids []string
	for _, s := range []*Store{dead, lives} {
		task := Task{Owner: "ann", State: State{ID: s.NewID("ann"), Status: Working}}
		put(t, s, task)
		dir := filepath.Join(base, s.name)
		for _, path := range []string{filepath.Join(dir, task.ID), dir} {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, task.ID)
	}
	dead.Close()
	next := newStore(t, base)
	if _, err := next.Get("ann", ids[0]); err != ErrUnknown {
		t.Errorf("a task of a process that is gone: %v", err)
	}
	if got, err := next.Get("ann", ids[1]); err != nil || got.Status != Working {
		t.Errorf("a task of a process that lives: %+v, %v", got, err)
	}
	next.NewID("ann")
	if _, err := os.Stat(filepath.Join(base, dead.name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the process that is gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(base, lives.name)); err != nil {
		t.Error(err)
	}
}

// TestDropped has the oldest tasks that are done go when there are too many, and their files with them.
func TestDropped(t *testing.T) {
	base := t.TempDir()
	s := newStore(t, base)
	first := s.NewID("ann")
	s.kept.MaxEntries = 2
	ids := []string{first, s.NewID("ann"), s.NewID("ann")}
	for _, id := range ids {
		put(t, s, Task{Owner: "ann", State: State{ID: id, Status: Cancelled}})
	}
	if _, err := s.Get("ann", first); err != ErrUnknown {
		t.Errorf("the oldest: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(base, s.name)); len(entries) != 3 { // and the lock
		t.Errorf("%d files are left", len(entries))
	}
}

// TestUnwritable keeps tasks without a directory, and when writing fails.
func TestUnwritable(t *testing.T) {
	none := &Store{Shared: store.New(), Directory: func() (*os.Root, error) { return nil, errors.New("none") }}
	said := 0
	none.Unusable = func(error) { said++ }
	lost := newStore(t, t.TempDir())
	for _, s := range []*Store{none, lost} {
		running, done := s.NewID("ann"), s.NewID("ann")
		if s == lost { // the directory goes
			if err := os.RemoveAll(s.dir.Name()); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.Put(Task{Owner: "ann", State: State{ID: running, Status: Working}})
		err := s.Put(Task{Owner: "ann", State: State{ID: done, Status: Completed, Result: json.RawMessage(`{}`)}})
		if (err == nil) != (s == none) {
			t.Errorf("what cannot be written: %v", err)
		}
		if got, err := s.Get("ann", done); err != nil || got.Status != Completed {
			t.Errorf("a task that is done: %+v, %v", got, err)
		}
		for _, of := range []string{"bob", ""} {
			if _, err := s.Get(of, done); err != ErrUnknown {
				t.Errorf("of %q: %v", of, err)
			}
		}
	}
	if said != 1 {
		t.Errorf("said %d times that there is no directory", said)
	}
}
