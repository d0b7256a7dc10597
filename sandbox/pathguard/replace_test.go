//go:build unix

package pathguard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func TestReplace(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a old", "symlink w/l sub/f", "file w/sub/f F", "dir w/d", "fifo w/p", "symlink w/new sub/made", "file w/ro R", "file out/o OUT", "symlink w/o $/out/o", "symlink w/q $/out/q")
		g := guard(t, build, root, []string{"w"}, []string{"w/ro"})
		o := pathguard.ReplaceOptions{}
		for _, c := range []struct {
			path, real string
			created    bool
		}{{"a", "a", false}, {"b", "b", true}, {"l", "sub/f", false}, {"new", "sub/made", true}, {"sub/../c", "c", true}} {
			r, err := write(g, c.path, "content", o)
			if err != nil || r != (replaced{Real: root + "/w/" + c.real, Created: c.created}) {
				t.Errorf("%s: %+v %v", c.path, r, err)
			}
			mustRead(t, g, c.real, "content", "")
		}
		if target, err := os.Readlink(root + "/w/l"); err != nil || target != "sub/f" {
			t.Errorf("the link is gone: %q %v", target, err)
		}
		for path, kind := range map[string]pathguard.Kind{
			"d": "not_a_file", "": "invalid_path", ".": "not_a_file", "p": "not_a_file", "ro": "denied", "o": "denied", "q": "denied",
			"none/x": "not_found", "a/x": "not_a_directory", "d/": "not_a_file", "../out/o": "denied",
		} {
			if _, err := write(g, path, "x", o); kindOf(err) != kind {
				t.Errorf("%q: %v, want %s", path, err, kind)
			}
		}
		onlyNames(t, root+"/w", "a", "b", "c", "d", "l", "new", "o", "p", "q", "ro", "sub")
		if b, _ := os.ReadFile(root + "/out/o"); string(b) != "OUT" {
			t.Errorf("the file outside is now %q", b)
		}
	})
}

// onlyNames fails unless dir holds just the names, and so no temporary file.
func onlyNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func TestReplaceKeepsMode(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A")
		g := guard(t, build, root, []string{"w"}, nil)
		for _, mode := range []fs.FileMode{0o600, 0o755, 0o666} {
			do(t, os.Chmod(root+"/w/a", mode))
			if _, err := write(g, "a", "B", pathguard.ReplaceOptions{}); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(root + "/w/a"); err != nil || info.Mode() != mode {
				t.Errorf("%v %v, want %v", info.Mode(), err, mode)
			}
		}
		do(t, os.WriteFile(root+"/w/like", nil, 0o666))
		_, err := write(g, "new", "B", pathguard.ReplaceOptions{})
		like, _ := os.Stat(root + "/w/like")
		if info, err2 := os.Stat(root + "/w/new"); err != nil || err2 != nil || info.Mode() != like.Mode() {
			t.Errorf("a new file is %v, want %v as the umask has it", info.Mode(), like.Mode())
		}
		do(t, os.Chmod(root+"/w/a", 0o4755))
		if _, err := write(g, "a", "B", pathguard.ReplaceOptions{}); err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(root + "/w/a"); info.Mode() != 0o755 {
			t.Errorf("setuid survived a write: %v", info.Mode())
		}
	})
}

func TestReplaceKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	root := tree(t, "file w/a A")
	do(t, os.Chown(root+"/w/a", 1234, 1235))
	if _, err := write(guard(t, pathguard.New, root, []string{"w"}, nil), "a", "B", pathguard.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(root + "/w/a")
	if st := info.Sys().(*syscall.Stat_t); err != nil || st.Uid != 1234 || st.Gid != 1235 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}

func TestReplaceCanceled(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a old")
		g := guard(t, build, root, []string{"w"}, nil)
		stop := errors.New("stop")
		for _, name := range []string{"a", "new"} {
			_, err := write(g, name, "x", pathguard.ReplaceOptions{Before: func(real string) error {
				if real != root+"/w/"+name {
					t.Error(real)
				}
				return stop
			}})
			if err != stop {
				t.Error(err)
			}
		}
		mustRead(t, g, "a", "old", "")
		onlyNames(t, root+"/w", "a")
	})
}

func TestNoReplace(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a old")
		g := guard(t, build, root, []string{"w"}, nil)
		o := pathguard.ReplaceOptions{NoReplace: true}
		if _, err := write(g, "a", "x", o); kindOf(err) != pathguard.KindExists {
			t.Error(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for range 8 {
			wg.Go(func() {
				r, err := write(g, "b", "x", o)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && r.Created {
					won++
				} else if kindOf(err) != pathguard.KindExists {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d of 8 created the file", won)
		}
		appear := func(real string) error { return os.WriteFile(real, []byte("other"), 0o600) }
		if got, err := write(g, "c", "x", pathguard.ReplaceOptions{Before: appear}); err != nil || got.Created {
			t.Errorf("a file that appeared meanwhile: %+v %v", got, err)
		}
		onlyNames(t, root+"/w", "a", "b", "c")
	})
}

func TestDirectoryMovedWhileWriting(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/d/a old")
		g := guard(t, build, root, []string{"w"}, nil)
		move := func(string) error { return os.Rename(root+"/w/d", root+"/elsewhere") }
		if _, err := write(g, "d/a", "x", pathguard.ReplaceOptions{Before: move}); kindOf(err) != pathguard.KindIO {
			t.Error(err)
		}
		onlyNames(t, root+"/elsewhere", "a")
	})
}

func TestSweep(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "dir w")
		g := guard(t, build, root, []string{"w"}, nil)
		stale, young := pathguard.TempName(), pathguard.TempName()
		old := time.Now().Add(-2 * time.Hour)
		for _, name := range []string{stale, young, ".toolserver-mine.tmp"} {
			do(t, os.WriteFile(filepath.Join(root, "w", name), nil, 0o600))
			if name != young {
				do(t, os.Chtimes(filepath.Join(root, "w", name), old, old))
			}
		}
		if _, err := write(g, "a", "A", pathguard.ReplaceOptions{}); err != nil {
			t.Fatal(err)
		}
		onlyNames(t, root+"/w", young, ".toolserver-mine.tmp", "a")
	})
}
