//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// otherDevice returns a directory on another file system than dir.
func otherDevice(t *testing.T, dir string) string {
	t.Helper()
	there, err := os.MkdirTemp("/dev/shm", "toolserver")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(there) })
	var a, b syscall.Stat_t
	must(t, syscall.Stat(dir, &a))
	must(t, syscall.Stat(there, &b))
	if a.Dev == b.Dev {
		t.Skip("there is only one file system")
	}
	return there
}

// complete returns how many of the files of a directory made by [plantTree] are complete.
func complete(t *testing.T, dir string) (n int) {
	t.Helper()
	for i := range plantedFiles {
		if b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i%7), fmt.Sprint(i))); err == nil && len(b) == plantedBytes {
			n++
		}
	}
	return n
}

const plantedFiles, plantedBytes = 60, 200_000

func plantTree(t *testing.T, dir string) {
	t.Helper()
	for i := range plantedFiles {
		path := filepath.Join(dir, fmt.Sprint(i%7), fmt.Sprint(i))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(strings.Repeat("x", plantedBytes)), 0o644))
	}
}

// TestMoving moves, copies, creates and deletes, within a file system and between two.
func TestMoving(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "")
	there := otherDevice(t, dir)
	reconfigure(t, config, "roots: ["+there+"]\ntools: {delete_file: {enabled: true}}\n")
	plantTree(t, filepath.Join(dir, "tree"))
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("A"), 0o640))
	then := time.Unix(1e9, 0)
	must(t, os.Chtimes(filepath.Join(dir, "a.txt"), then, then))
	c := start(t, "--config", config)
	for _, step := range []struct {
		tool, source, destination, want string
	}{
		{"copy_file", "tree", "copy", "Copied tree to copy (60 files, 11.4 MB)"},
		{"move_file", "copy", there + "/across", "Moved copy to "},
		{"move_file", there + "/across", "back", "Moved "},
		{"move_file", "back", "sub/back", "Moved back to sub/back"},
		{"move_file", "a.txt", there + "/a.txt", "Moved a.txt"},
		{"copy_file", there + "/a.txt", "a.txt", "Copied "},
	} {
		a := c.call(step.tool, map[string]any{"source": step.source, "destination": step.destination})
		if a.failed() || !strings.HasPrefix(a.text(), step.want) {
			t.Errorf("%s %s: %s", step.tool, step.source, a.text())
		}
	}
	if n := complete(t, filepath.Join(dir, "sub/back")); n != plantedFiles {
		t.Errorf("%d files arrived", n)
	}
	if info, err := os.Stat(there + "/a.txt"); err != nil || info.Mode().Perm() != 0o640 || !info.ModTime().Equal(then) {
		t.Errorf("the moved file is %v, %v", info, err)
	}
	for _, gone := range []string{there + "/across", dir + "/copy", dir + "/back"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	if a := c.call("create_directory", map[string]any{"path": "x/y"}); a.failed() {
		t.Error(a.text())
	}
	if a := c.call("delete_file", map[string]any{"path": "sub", "recursive": true}); a.failed() || !strings.HasPrefix(a.text(), "Deleted sub and 68 entries") {
		t.Error(a.text())
	}
	if a := c.call("delete_file", map[string]any{"path": "tree"}); a.errorType() != "not_empty" {
		t.Error(a.text())
	}
}

// TestDeleteIsDisabled calls delete_file where no configuration enables it.
func TestDeleteIsDisabled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	touch(t, filepath.Join(dir, "a"))
	a := start(t, dir).call("delete_file", map[string]any{"path": "a"})
	if a.Error == nil || a.Error.Code != -32004 {
		t.Errorf("got %+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
}

// TestMovingConfirmed requires an agreement, which a client without elicitation cannot ask for.
func TestMovingConfirmed(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "tools: {move_file: {confirm: true}}\n")
	touch(t, filepath.Join(dir, "a"))
	if a := start(t, "--config", config).call("move_file", map[string]any{"source": "a", "destination": "b"}); !a.failed() {
		t.Errorf("moved without asking: %s", a.text())
	}
}

// TestKilledMove kills the server while it moves and copies a directory to another file
// system: what has the new name is whole, and so is the source, or it is gone.
func TestKilledMove(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "")
	there := otherDevice(t, dir)
	reconfigure(t, config, "roots: ["+there+"]\n")
	abandoned := 0
	for round := range 40 {
		from, to := filepath.Join(dir, "tree"), filepath.Join(there, "moved")
		if complete(t, from) < plantedFiles {
			must(t, os.RemoveAll(from))
			plantTree(t, from)
		}
		must(t, os.RemoveAll(to))
		tool := []string{"move_file", "copy_file"}[round%2]
		s := start(t, "--config", config)
		s.call("echo", map[string]any{})
		s.begin(tool, map[string]any{"source": "tree", "destination": to})
		time.Sleep(rand.N(60 * time.Millisecond)) // the moment is what is random here
		s.kill()
		_, err := os.Stat(to)
		left, arrived := complete(t, from), complete(t, to)
		if err == nil && arrived < plantedFiles || err != nil && left < plantedFiles {
			t.Fatalf("round %d, %s: %d files at the source, %d at the destination (%v)", round, tool, left, arrived, err)
		}
		entries, err := os.ReadDir(there)
		must(t, err)
		past := time.Now().Add(-2 * time.Hour)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".toolserver-") {
				abandoned++
				must(t, os.Chtimes(filepath.Join(there, e.Name()), past, past))
			}
		}
	}
	t.Logf("%d temporary directories were left", abandoned)
	must(t, os.RemoveAll(filepath.Join(there, "moved")))
	if a := start(t, "--config", config).call("copy_file", map[string]any{"source": "tree", "destination": there + "/moved"}); a.failed() {
		t.Error(a.text())
	}
	if entries, err := os.ReadDir(there); err != nil || len(entries) != 1 {
		t.Errorf("a later copy left %v, %v", entries, err)
	}
}
