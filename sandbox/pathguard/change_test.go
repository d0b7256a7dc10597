//go:build unix

package pathguard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func move(g *pathguard.Guard, from, to string, overwrite bool) error {
	_, err := g.Move(context.Background(), from, to, pathguard.MoveOptions{Overwrite: overwrite, CreateDirs: true, Reads: g})
	return err
}

func remove(g *pathguard.Guard, path string, recursive bool) error {
	return g.Remove(context.Background(), path, recursive, func(string) error { return nil }, func() {})
}

func TestMove(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "file w/b B", "file w/d/x X", "dir w/e", "file w/ro/f F", "file w/has/secret S", "file w/has/x X", "symlink w/l $/out/o", "symlink w/up ../out",
			"file out/o OUT", "file w/two T", "hardlink w/three w/two", "fifo w/p")
		g, err := build(root+"/w", pathguard.Rules{Allow: []string{root + "/w"}, Deny: []string{root + "/w/ro", root + "/w/has/secret", root + "/w/new/x"}, DenyHardlinks: true,
			Protect: pathguard.Protection{Names: []pathguard.Name{{Pattern: ".git/hooks"}, {Pattern: ".env"}}}})
		do(t, err)
		plant(t, root, "file w/repo/.git/hooks/h H")
		plant(t, root, "file w/tree/hooks/h H")
		for _, c := range []struct {
			from, to string
			kind     pathguard.Kind
		}{
			{"none", "x", "not_found"}, {"a", "b", "already_exists"}, {"a", "d", "not_a_file"}, {"a", "a", "invalid_path"}, {"d", "d/in/it", "invalid_path"}, {"d", "e", "not_a_file"},
			{"a", "ro/x", "denied"}, {"ro/f", "x", "denied"}, {"ro", "x", "denied"}, {"has", "x", "denied"}, {"d", "new", "denied"}, {"a", "../out/x", "denied"}, {"../out/o", "x", "denied"},
			{"up/o", "x", "denied"}, {"a", "up/x", "denied"}, {".", "x", "denied"}, {"..", "x", "denied"}, {"", "x", "invalid_path"}, {"a", "", "invalid_path"}, {"a", "l", "already_exists"},
			{"a", ".env", "denied"}, {"repo", "r", "denied"}, {"repo/.git", "g", "denied"}, {"tree", ".git", "denied"}, {"two", "x", "denied"}, {"a", "b/x", "not_a_directory"},
		} {
			if err := move(g, c.from, c.to, false); kindOf(err) != c.kind {
				t.Errorf("%s to %s: %v, want %s", c.from, c.to, err, c.kind)
			}
		}
		onlyNames(t, root+"/w", "a", "b", "d", "e", "has", "l", "p", "repo", "ro", "three", "tree", "two", "up")
		for _, kind := range []string{"l", "d", "p"} {
			if err := move(g, "a", kind, true); kindOf(err) != "not_a_file" {
				t.Errorf("replaces %s: %v", kind, err)
			}
		}
		do(t, move(g, "a", "b", true), move(g, "d", "e/d", false), move(g, "l", "sub/dir/l", false), move(g, "p", "q", false), move(g, "tree/hooks", "tree/hook", false))
		mustRead(t, g, "b", "A", "")
		mustRead(t, g, "e/d/x", "X", "")
		if target, err := os.Readlink(root + "/w/sub/dir/l"); err != nil || target != root+"/out/o" {
			t.Errorf("the link is now %q %v", target, err)
		}
		if b, _ := os.ReadFile(root + "/out/o"); string(b) != "OUT" {
			t.Errorf("the file outside is now %q", b)
		}
		stop := errors.New("no")
		if _, err := g.Move(t.Context(), "b", "c", pathguard.MoveOptions{Reads: g, Before: func(from, to string) error {
			if from != root+"/w/b" || to != root+"/w/c" {
				t.Errorf("before %s, %s", from, to)
			}
			return stop
		}}); err != stop {
			t.Error(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Move(over, "e", "f", pathguard.MoveOptions{Reads: g}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		unread := guard(t, build, root, []string{"w"}, []string{"w/b"})
		if _, err := g.Move(t.Context(), "b", "c", pathguard.MoveOptions{Reads: unread}); kindOf(err) != "denied" {
			t.Errorf("what may not be read is moved: %v", err)
		}
	})
}

func TestRemove(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "dir w/empty", "file w/d/x X", "symlink w/d/out $/out", "symlink w/l $/out", "file w/keep/deep/secret S", "file w/keep/x X", "file w/two T", "hardlink w/three w/two", "file out/o OUT")
		g := guard(t, build, root, []string{"w"}, []string{"w/keep/deep/secret"})
		for path, kind := range map[string]pathguard.Kind{
			"none": "not_found", "d": "not_empty", "keep/deep/secret": "denied", ".": "denied", "..": "denied", "l/o": "denied", "../out/o": "denied", "": "invalid_path", "a/x": "not_a_directory",
		} {
			if err := remove(g, path, false); kindOf(err) != kind {
				t.Errorf("%q: %v, want %s", path, err, kind)
			}
		}
		if err := remove(g, "keep", true); kindOf(err) != "denied" {
			t.Errorf("a directory with a denied file: %v", err)
		}
		onlyNames(t, root+"/w/keep", "deep", "x")
		do(t, remove(g, "a", false), remove(g, "empty", false), remove(g, "l", true), remove(g, "d", true), remove(g, "two", false))
		onlyNames(t, root+"/w", "keep", "three")
		onlyNames(t, root+"/out", "o")
	})
}

func TestMakeDir(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "dir w/d", "symlink w/l d", "symlink w/up ../out", "dir out")
		g := guard(t, build, root, []string{"w"}, []string{"w/no"})
		for path, created := range map[string]bool{"d": false, "l": false, "n/m": true, "l/in": true, ".": false} {
			if got, err := g.MakeDir(path); err != nil || got != created {
				t.Errorf("%s: %v %v", path, got, err)
			}
		}
		for path, kind := range map[string]pathguard.Kind{"a": "already_exists", "a/x": "not_a_directory", "no/x": "denied", "up/x": "denied", "../x": "denied"} {
			if _, err := g.MakeDir(path); kindOf(err) != kind {
				t.Errorf("%s: %v, want %s", path, err, kind)
			}
		}
		onlyNames(t, root+"/w/d", "in")
		onlyNames(t, root+"/out")
	})
}

func TestTree(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/there X")
		g := guard(t, build, root, []string{"w"}, []string{"w/new/no"})
		old := filepath.Join(root, "w", pathguard.TempName())
		do(t, os.MkdirAll(old+"/deep", 0o700), os.WriteFile(old+"/deep/f", nil, 0o600))
		past := time.Now().Add(-2 * time.Hour)
		do(t, os.Chtimes(old, past, past))
		if _, err := g.NewTree("there", false); kindOf(err) != "already_exists" {
			t.Errorf("over a file: %v", err)
		}
		content := func(f *os.File) error { _, err := f.WriteString("IN"); return err }
		fill := func() *pathguard.Tree {
			made, err := g.NewTree("new", false)
			do(t, err, made.MakeDir("a", 0o500), made.MakeDir("a/b", 0o755), made.Fill("a/b/f", 0o640, nil, content), made.Fill("g", 0o644, nil, content), made.Symlink("/etc", "a/l"))
			for name, err := range map[string]error{"no": made.MakeDir("no", 0o755), "no/f": made.Fill("no/f", 0o644, nil, content), "through a link": made.Fill("a/l/f", 0o644, nil, content)} {
				if err == nil {
					t.Errorf("%s was made", name)
				}
			}
			if _, err := os.Stat(root + "/w/new"); err == nil {
				t.Error("it is there before it is complete")
			}
			return made
		}
		fill().Close()
		onlyNames(t, root+"/w", "there")
		made := fill()
		do(t, made.Commit(0o755, func(real string) error {
			if real != root+"/w/new" {
				t.Error(real)
			}
			return nil
		}))
		made.Close()
		onlyNames(t, root+"/w", "new", "there")
		mustRead(t, g, "new/a/b/f", "IN", "")
		raced, err := g.NewTree("late", false)
		do(t, err)
		plant(t, root, "file w/late/x X")
		if err := raced.Commit(0o755, func(string) error { return nil }); kindOf(err) != "already_exists" {
			t.Errorf("over what appeared meanwhile: %v", err)
		}
		raced.Close()
		onlyNames(t, root+"/w", "late", "new", "there")
	})
}
