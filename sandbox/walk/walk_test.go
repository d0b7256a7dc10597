package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/walk"
)

// tree makes files, directories (ending in a slash) and links ("name -> target")
// below a new directory and returns its real path.
func tree(t testing.TB, paths ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		p, target, isLink := strings.Cut(p, " -> ")
		full := filepath.Join(root, p)
		dir := filepath.Dir(full)
		if strings.HasSuffix(p, "/") {
			dir = full
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, full)
		case dir != full:
			err = os.WriteFile(full, []byte(p), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func walkAll(t testing.TB, root string, opt walk.Options) ([]string, walk.Stats) {
	t.Helper()
	var found []string
	stats, err := walk.Walk(context.Background(), open(t, root), root, opt, func(e *walk.Entry) error {
		p := e.Rel()
		if e.IsDir() {
			p += "/"
		}
		found = append(found, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, stats
}

func TestOptions(t *testing.T) {
	root := tree(t, "b/c/d", "b.go", "b-x/y", "a", ".h/x", ".dot", "link -> /etc", "dirlink -> b", "empty/", "dangling -> nowhere")
	for _, c := range []struct {
		name string
		opt  walk.Options
		want string
	}{
		{"sorted", walk.Options{}, "a b-x/ b-x/y b.go b/ b/c/ b/c/d dangling dirlink empty/ link"},
		{"hidden", walk.Options{Hidden: true}, ".dot .h/ .h/x a b-x/ b-x/y b.go b/ b/c/ b/c/d dangling dirlink empty/ link"},
		{"skip", walk.Options{Skip: func(e *walk.Entry) bool { return e.Rel() == "b/c" || e.Name() == "a" }}, "b-x/ b-x/y b.go b/ dangling dirlink empty/ link"},
	} {
		want := strings.Fields(c.want)
		if got, _ := walkAll(t, root, c.opt); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}

func TestVisitorSteers(t *testing.T) {
	root := tree(t, "a/x", "b/x", "c/x")
	boom := errors.New("boom")
	for _, c := range []struct {
		at     string
		result error
		want   string
		err    error
	}{
		{"b", walk.SkipDir, "a a/x b c c/x", nil},
		{"b", walk.SkipAll, "a a/x b", nil},
		{"b/x", boom, "a a/x b b/x", boom},
	} {
		var got []string
		_, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
			got = append(got, e.Rel())
			if e.Rel() == c.at {
				return c.result
			}
			return nil
		})
		if strings.Join(got, " ") != c.want || err != c.err {
			t.Errorf("%v at %s: %q, %v", c.result, c.at, got, err)
		}
	}
}

func TestBounds(t *testing.T) {
	root := tree(t, "a/1", "a/2", "b/1", "c")
	found, stats := walkAll(t, root, walk.Options{MaxEntries: 4})
	if len(found) != 4 || !stats.Truncated || stats.Entries != 4 {
		t.Errorf("%q %+v", found, stats)
	}
	if found, stats = walkAll(t, root, walk.Options{MaxEntries: 6}); len(found) != 6 || stats.Truncated {
		t.Errorf("%q %+v", found, stats)
	}
}

func TestCancelStopsPromptly(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("f", i))
	}
	root := tree(t, names...)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := walk.Walk(ctx, open(t, root), root, walk.Options{}, func(*walk.Entry) error {
		if n++; n == 100 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n > 120 {
		t.Errorf("%d visits, %v", n, err)
	}
}

func TestEntryInfoAndOpen(t *testing.T) {
	root := tree(t, "file", "dir/", "link -> file")
	_, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
		info, err := e.Info()
		if err != nil {
			t.Error(err)
		}
		f, openErr := e.Open()
		switch e.Name() {
		case "file":
			text, err := io.ReadAll(f)
			if openErr != nil || err != nil || string(text) != "file" || info.Size != 4 || f.Info().Size != 4 || !info.Mode.IsRegular() || info.ModTime.IsZero() {
				t.Errorf("%q %+v %v %v", text, info, openErr, err)
			}
			f.Close()
		case "dir":
			if !info.Mode.IsDir() || !errors.Is(openErr, walk.ErrNotRegular) {
				t.Errorf("%+v %v", info, openErr)
			}
		case "link":
			target, err := e.Readlink()
			if target != "file" || err != nil || openErr == nil || info.Mode.Type() != os.ModeSymlink || !e.IsSymlink() {
				t.Errorf("%q %+v %v %v", target, info, err, openErr)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUnreadableDirectoryIsCounted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	root := tree(t, "a/x", "b/x")
	if err := os.Chmod(filepath.Join(root, "a"), 0); err != nil {
		t.Fatal(err)
	}
	found, stats := walkAll(t, root, walk.Options{})
	if fmt.Sprint(found) != "[a/ b/ b/x]" || stats.Unreadable != 1 {
		t.Errorf("%q %+v", found, stats)
	}
}

// A directory that is gone when the walk comes to it is what an unreadable one
// looks like to root as well.
func TestVanishedDirectoryIsCounted(t *testing.T) {
	root := tree(t, "a", "b/x", "c/x")
	var found []string
	stats, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
		found = append(found, e.Rel())
		if e.Name() == "a" {
			return os.RemoveAll(filepath.Join(root, "b"))
		}
		return nil
	})
	if err != nil || fmt.Sprint(found) != "[a b c c/x]" || stats.Unreadable != 1 {
		t.Errorf("%q %+v %v", found, stats, err)
	}
	if _, err := walk.Walk(context.Background(), open(t, filepath.Join(root, "a")), filepath.Join(root, "a"), walk.Options{}, nil); err == nil {
		t.Error("a file was walked")
	}
}

// Directories and files that are exchanged for links while they are visited
// must not lead out of the tree.
func TestExchangedForLink(t *testing.T) {
	outside := tree(t, "secret")
	root := tree(t, "a", "dir/inner", "file")
	var found []string
	_, err := walk.Walk(context.Background(), open(t, root), root, walk.Options{}, func(e *walk.Entry) error {
		found = append(found, e.Rel())
		replace := func(name, target string) {
			path := filepath.Join(root, name)
			if err := errors.Join(os.RemoveAll(path), os.Symlink(target, path)); err != nil {
				t.Error(err)
			}
		}
		switch e.Name() {
		case "a":
			replace("dir", outside)
		case "file":
			replace("file", filepath.Join(outside, "secret"))
			if f, err := e.Open(); err == nil {
				f.Close()
				t.Error("opened through a link")
			}
		}
		return nil
	})
	if err != nil || fmt.Sprint(found) != "[a dir file]" {
		t.Errorf("%q %v", found, err)
	}
}
