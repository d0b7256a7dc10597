//go:build unix

package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCachesKept makes the directory for caches in the states that others may have left.
func TestCachesKept(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	theirs := func(string) bool { return true }
	c, other := NewCaches("/work", theirs), NewCaches("/work", theirs)
	if other.Path != c.Path {
		t.Errorf("one directory has %s and %s", c.Path, other.Path)
	}
	base := filepath.Dir(c.Path)
	old, fresh := filepath.Join(base, "old"), filepath.Join(base, "fresh")
	long := time.Now().Add(-cacheAge - time.Hour)
	if err := errors.Join(os.MkdirAll(old+"/x", 0o700), os.MkdirAll(fresh, 0o700), os.Chmod(base, 0o700), os.Chmod(old+"/x", 0o500),
		os.Chtimes(old, long, long)); err != nil {
		t.Fatal(err)
	}
	if err := c.Make(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{filepath.Join(c.Path, goBuild): true, old: false, fresh: true} {
		if _, err := os.Lstat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A link that commands left leads nowhere.
	outside := filepath.Join(home, "outside")
	if err := errors.Join(os.Mkdir(outside, 0o755), os.RemoveAll(c.Path+"/cache"), os.Symlink(outside, c.Path+"/cache"), other.Make()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("made in another directory: %q", entries)
	}
	if info, err := os.Lstat(filepath.Join(c.Path, goBuild)); err != nil || !info.IsDir() {
		t.Errorf("not made anew: %v", err)
	}
	// Nor does one in the place of the directory.
	if err := errors.Join(os.RemoveAll(c.Path), os.Symlink(outside, c.Path)); err != nil {
		t.Fatal(err)
	}
	if err := c.Make(); err == nil || !strings.Contains(err.Error(), "caches of commands") {
		t.Errorf("with a link: %v", err)
	}
	if NewCaches("/work", func(string) bool { return false }) != nil {
		t.Error("kept where commands may write")
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if NewCaches("/work", theirs) != nil {
		t.Error("kept where others may look")
	}
}
