//go:build unix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living, killed := newScratch(), newScratch()
	for _, s := range []*scratch{living, killed} {
		if err := s.make(); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(killed.path(), "cache", "a", "b")
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "x"), nil, 0o400), os.Chmod(deep, 0o500)); err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close() // as when its server is killed
	others := []string{scratchPrefix + "notes", "other"}
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(os.TempDir(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	next := newScratch()
	if err := next.make(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{
		living.path(): true, next.temporary(): true, killed.path(): false,
		filepath.Join(os.TempDir(), others[0]): true, filepath.Join(os.TempDir(), others[1]): true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, s := range []*scratch{living, next} {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.path()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", s.path(), err)
		}
		if err := s.make(); err == nil {
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
	s := newScratch()
	if path, err := s.place(); err != nil || filepath.Dir(path) == os.TempDir() {
		t.Fatalf("%s: %v", path, err)
	}
	if err := s.make(); err != nil {
		t.Error(err)
	}
	if err := s.remove(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}
