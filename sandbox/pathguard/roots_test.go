//go:build unix

package pathguard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// mustRead fails the test unless path reads as want, or, with want "", is
// refused with kind.
func mustRead(t *testing.T, g *pathguard.Guard, path, want string, kind pathguard.Kind) {
	t.Helper()
	got, err := read(g, path)
	if got != want || kindOf(err) != kind {
		t.Errorf("%s: %q, %v; want %q, kind %q", path, got, err, want, kind)
	}
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRootThatIsALink(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file real/a A", "file other/a O", "symlink w $/real", "symlink file $/real/a")
		g := guard(t, build, root, []string{"w"}, []string{"w/secret"})
		mustRead(t, g, "a", "A", "")
		mustRead(t, g, root+"/real/a", "A", "")
		if r, err := write(g, "b", "B", pathguard.ReplaceOptions{}); err != nil || r.Real != root+"/real/b" {
			t.Errorf("%+v %v", r, err)
		}
		mustRead(t, g, root+"/real/secret", "", pathguard.KindDenied)
		pathguard.Forget(g)
		// The link now leads elsewhere: what the rules meant is known
		// still, and where it leads now was never allowed.
		do(t, os.Remove(root+"/w"), os.Symlink(root+"/other", root+"/w"))
		mustRead(t, g, "a", "", pathguard.KindDenied)
		mustRead(t, g, root+"/other/a", "", pathguard.KindDenied)
		mustRead(t, g, root+"/real/a", "A", "")
	})
}

func TestRootThatIsAFile(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/notes A", "file w/other O")
		g := guard(t, build, root, []string{"w/notes"}, nil)
		mustRead(t, g, "notes", "A", "")
		mustRead(t, g, "other", "", pathguard.KindDenied)
		mustRead(t, g, "notes/", "", pathguard.KindNotADirectory)
		if _, err := write(g, "notes", "B", pathguard.ReplaceOptions{}); err != nil {
			t.Error(err)
		}
		mustRead(t, g, "notes", "B", "")
		if _, err := write(g, "new", "B", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindDenied {
			t.Error(err)
		}
	})
}

func TestRootNotYetThere(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "dir w", "file etc/passwd P")
		g := guard(t, build, root, []string{"w/x/output"}, nil)
		mustRead(t, g, "x/output/a", "", pathguard.KindNotFound)
		for _, path := range []string{"a", "x/a", "x/outputs", "x", "x/output/../a"} {
			if _, err := write(g, path, "A", pathguard.ReplaceOptions{CreateDirs: true}); kindOf(err) != pathguard.KindDenied {
				t.Errorf("%s: %v", path, err)
			}
		}
		if _, err := os.Lstat(root + "/w/x"); err == nil {
			t.Error("a refused write created a directory")
		}
		if _, err := write(g, "x/output/d/a", "A", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindNotFound {
			t.Errorf("without CreateDirs: %v", err)
		}
		r, err := write(g, "x/output/d/a", "A", pathguard.ReplaceOptions{CreateDirs: true})
		if err != nil || !r.Created || r.Real != root+"/w/x/output/d/a" {
			t.Errorf("%+v %v", r, err)
		}
		mustRead(t, g, "x/output/d/a", "A", "")
		// Nobody who may write to x can make another directory allowed.
		do(t, os.Rename(root+"/w/x/output", root+"/w/x/old"), os.Symlink(root+"/etc", root+"/w/x/output"))
		mustRead(t, g, "x/output/passwd", "", pathguard.KindDenied)
		mustRead(t, g, "x/old/d/a", "", pathguard.KindDenied)
		if _, err := write(g, "x/output/passwd", "A", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindDenied {
			t.Error(err)
		}
		mustRead(t, g, root+"/etc/passwd", "", pathguard.KindDenied)
	})
}

func TestRootReplaced(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a 1")
		g := guard(t, build, root, []string{"w"}, nil)
		mustRead(t, g, "a", "1", "")
		do(t, os.Rename(root+"/w", root+"/old"))
		plant(t, root, "file w/a 2")
		mustRead(t, g, "a", "2", "")
		do(t, os.RemoveAll(root+"/w"))
		mustRead(t, g, "a", "", pathguard.KindNotFound)
		plant(t, root, "file w/a 3")
		mustRead(t, g, "a", "3", "")
		mustRead(t, g, root+"/old/a", "", pathguard.KindDenied)
	})
}

func TestDenyThroughLinks(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/real/k K", "file w/new/k N", "file w/ok O", "symlink w/link $/w/real", "file w/f F", "symlink w/fl f")
		g := guard(t, build, root, []string{"w"}, []string{"w/link/k", "w/fl", "w/later"})
		mustRead(t, g, "link/k", "", pathguard.KindDenied)
		mustRead(t, g, "real/k", "", pathguard.KindDenied)
		mustRead(t, g, "f", "", pathguard.KindDenied)
		mustRead(t, g, "ok", "O", "")
		pathguard.Forget(g)
		do(t, os.Remove(root+"/w/link"), os.Symlink("new", root+"/w/link"), os.Symlink("ok", root+"/w/later"))
		mustRead(t, g, "real/k", "", pathguard.KindDenied)
		mustRead(t, g, "new/k", "", pathguard.KindDenied)
		mustRead(t, g, "ok", "", pathguard.KindDenied)
	})
}

func TestNameThatLooksDeleted(t *testing.T) {
	root := tree(t, "dir w")
	do(t, os.WriteFile(root+"/w/x (deleted)", []byte("D"), 0o644))
	mustRead(t, guard(t, pathguard.New, root, []string{"w"}, nil), "x (deleted)", "D", "")
	g := guard(t, pathguard.New, root, []string{"w"}, []string{"w/x (deleted)"})
	mustRead(t, g, "x (deleted)", "", pathguard.KindDenied)
}

func TestDir(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "file w/sub/b B", "file w/sub/secret/k K", "symlink w/l sub")
		g := guard(t, build, root, []string{"w"}, []string{"w/sub/secret", "elsewhere"})
		d, err := g.OpenDir("l")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		names, err := d.Readdirnames(-1)
		if err != nil || len(names) != 2 || d.Info.Real != root+"/w/sub" || !d.Restricted() {
			t.Errorf("%v %v %+v", names, err, d.Info)
		}
		for rel, want := range map[string]bool{"secret": true, "secret/k": true, "secrets": false, "b": false} {
			if rule, denied := d.Denied(rel, true); denied != want || denied && rule != root+"/w/sub/secret" {
				t.Errorf("Denied(%q) = %q, %v", rel, rule, denied)
			}
			if _, denied := g.Denied(filepath.Join(d.Info.Real, rel)); denied != want {
				t.Errorf("Guard.Denied(%q) = %v", rel, denied)
			}
		}
		free := guard(t, build, root, []string{"w"}, []string{"w/sub/secret/deeper", "elsewhere"})
		e, err := free.OpenDir(root + "/w/sub/../sub")
		if err != nil || !e.Restricted() {
			t.Fatalf("%v", err)
		}
		defer e.Close()
		if _, denied := e.Denied("secret", false); denied {
			t.Error("the parent of a denied path is denied")
		}
	})
}

func TestCheck(t *testing.T) {
	root := tree(t, "file w/a A", "file w/.env S", "symlink w/out $/out", "dir out")
	g := guard(t, pathguard.New, root, []string{"w"}, []string{"w/.env"})
	for path, want := range map[string]pathguard.Decision{
		"a":     {Allowed: true, Rule: root + "/w", Resolved: root + "/w/a", Reason: "a is allowed by the rule " + root + "/w"},
		"x/y":   {Allowed: true, Rule: root + "/w", Resolved: root + "/w/x/y", Reason: "x/y is allowed by the rule " + root + "/w"},
		".env":  {Rule: root + "/w/.env", Resolved: root + "/w/.env", Reason: ".env is denied by the rule " + root + "/w/.env"},
		"out/x": {Resolved: root + "/out/x", Reason: "out/x is outside the allowed paths (allowed: " + root + "/w)"},
	} {
		if got, err := g.Check(path); err != nil || got != want {
			t.Errorf("%s: %+v, %v\nwant %+v", path, got, err, want)
		}
	}
	if _, err := g.Check(""); kindOf(err) != pathguard.KindInvalidPath {
		t.Error(err)
	}
}

func TestCreateDirs(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "dir out", "symlink w/out $/out", "symlink w/dangling $/w/made")
		g := guard(t, build, root, []string{"w"}, []string{"w/no"})
		for _, path := range []string{"x/y/z", "x/y/z", "dangling/z"} {
			if real, err := write(g, path+"/f", "F", pathguard.ReplaceOptions{CreateDirs: true}); err != nil {
				t.Errorf("%s: %v %v", path, real, err)
			}
		}
		for path, kind := range map[string]pathguard.Kind{
			"a": "not_a_directory", "a/b": "not_a_directory", "no/x/y": "denied", "out/x": "denied", "n/../../x": "denied", "n/../m": "not_found",
		} {
			if _, err := write(g, path+"/f", "F", pathguard.ReplaceOptions{CreateDirs: true}); kindOf(err) != kind {
				t.Errorf("%s: %v, want %s", path, err, kind)
			}
		}
	})
}
