//go:build unix

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living, killed := New(0), New(0)
	for _, s := range []*Dir{living, killed} {
		if err := s.Make(); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(killed.Path(), "cache", "a", "b")
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "x"), nil, 0o400), os.Chmod(deep, 0o500)); err != nil {
		t.Fatal(err)
	}
	_ = killed.locked.Close() // as when its server is killed
	others := []string{prefix + "notes", "other"}
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(os.TempDir(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	next := New(0)
	if err := next.Make(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{
		living.Path(): true, next.Temporary(): true, killed.Path(): false,
		filepath.Join(os.TempDir(), others[0]): true, filepath.Join(os.TempDir(), others[1]): true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, s := range []*Dir{living, next} {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Path()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", s.Path(), err)
		}
		if err := s.Make(); err == nil {
			t.Error("made again after it was removed")
		}
	}
}

// Where the usual directory cannot be written there is another one, or it is said why not.
func TestScratchElsewhere(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"TMPDIR": filepath.Join(home, "none"), "XDG_CACHE_HOME": home} {
		t.Setenv(name, value)
	}
	s := New(0)
	if path, err := s.Place(); err != nil || filepath.Dir(path) == os.TempDir() {
		t.Fatalf("%s: %v", path, err)
	}
	if err := s.Make(); err != nil {
		t.Error(err)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}

// TestSize counts what lies there, each file once, and no holes.
func TestSize(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := New(0)
	size := func() int64 {
		s.measured = time.Time{}
		return s.Size()
	}
	if err := s.Make(); err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	empty, file := size(), filepath.Join(s.Temporary(), "file")
	if err := os.WriteFile(file, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil { // takes no room
		t.Log(err)
	}
	if err := os.Link(file, file+"2"); err != nil {
		t.Fatal(err)
	}
	if got := size() - empty; got < 10<<20 || got > 11<<20 {
		t.Errorf("10 MiB are left: %d", got)
	}
	if err := errors.Join(os.Remove(file), os.Remove(file+"2")); err != nil {
		t.Fatal(err)
	}
	if got := size(); got > 1<<20 {
		t.Errorf("nothing is left: %d", got)
	}
}
