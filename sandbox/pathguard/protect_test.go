//go:build unix

package pathguard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/walk"
)

// protecting builds a Guard whose only allowed path is root, and whose
// workspace and working directory is root/w.
func protecting(t testing.TB, build constructor, root string, files ...pathguard.ProtectedFile) *pathguard.Guard {
	t.Helper()
	g, err := build(filepath.Join(root, "w"), pathguard.Rules{Allow: []string{root}, Protect: pathguard.Protection{
		Names: []pathguard.Name{
			{Pattern: ".git/hooks"}, {Pattern: ".git/config"}, {Pattern: ".git/modules/**/hooks"}, {Pattern: ".git", Only: true},
			{Pattern: "*.git/hooks"}, {Pattern: ".ssh"}, {Pattern: ".env"},
			{Pattern: ".env.*", Only: true, Except: []string{".env.*example"}}, {Pattern: "a/*/c"},
		},
		Files: files, Workspaces: []string{filepath.Join(root, "w")},
		Hint: func(rule string) string { return "allow " + rule },
	}})
	if err != nil {
		t.Fatal(err)
	}

	return g
}

func TestProtectedNames(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "dir w/.git/hooks", "file w/a.txt x", "symlink w/h .git/hooks", "symlink w/g .git", "symlink w/.env.local plain",
			"file w/plain x", "dir w/.ssh", "symlink w/sub/up ..", "dir w/venv", "dir .ssh/w")
		g := protecting(t, build, root)
		for path, rule := range map[string]string{
			".git/hooks/pre-commit": ".git/hooks", ".git/hooks": ".git/hooks", "deep/down/.git/hooks/x/y": ".git/hooks", ".git/config": ".git/config",
			".git/modules/a/b/hooks/x": ".git/modules/**/hooks", ".git/modules/hooks": ".git/modules/**/hooks", ".git": ".git", "sub/.git": ".git",
			"bare.git/hooks/x": "*.git/hooks", ".ssh/id": ".ssh", ".SSH/id": ".ssh", ".Env": ".env", ".e\u200cnv": ".env", ".\u017f\u017fh/id": ".ssh", ".env.": ".env", ".env ": ".env",
			".env.prod": ".env.*", "a/b/c": "a/*/c", "a/b/c/d": "a/*/c", "x/a/b/c": "a/*/c",
			"h/pre-commit": ".git/hooks", "g/hooks/x": ".git/hooks", "g/config": ".git/config", ".env.local": ".env.*", "sub/../.env.local": ".env.*",
			"sub/up/.env.local": ".env.*", "sub/up/.git/config": ".git/config", "../.ssh/w/x": ".ssh",
			".git/info": "", ".git/hooksmith": "", "git/hooks": "", ".gitx": "", ".env.example": "", ".env.local.example": "", ".envx": "", "x.env": "",
			"a/b/d": "", "a/c": "", "a.txt": "", "venv/.ssh.txt": "", "..env": "",
		} {
			_, err := write(g, path, "x", pathguard.ReplaceOptions{CreateDirs: true})
			switch {
			case rule == "" && err != nil, rule != "" && kindOf(err) != pathguard.KindDenied:
				t.Errorf("%s: %v, want %q", path, err, rule)
			case rule != "" && err.Error() != path+" is protected: "+rule+" (allow "+rule+")" && !strings.Contains(path, "\u200c"):
				t.Errorf("%s: %v", path, err)
			}
			if rule == "" {
				continue
			}
			if _, err := read(g, path); kindOf(err) != pathguard.KindDenied {
				t.Errorf("read %s: %v", path, err)
			}
			if err := g.Append(path, nil); kindOf(err) != pathguard.KindDenied {
				t.Errorf("append %s: %v", path, err)
			}
			if d, err := g.Check(path); err != nil || d.Allowed || d.Rule != "protected: "+rule {
				t.Errorf("check %s: %+v, %v", path, d, err)
			}
		}
		if names, err := os.ReadDir(filepath.Join(root, "w/.git/hooks")); err != nil || len(names) != 0 {
			t.Errorf("the hooks are now %v, %v", names, err)
		}
	})
}

// TestWorkspaceName works in a directory whose own path has protected names.
func TestWorkspaceName(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file .ssh/w/a A", "file .ssh/k K", "file .ssh/w/.ssh/k K", "symlink link .ssh/w")
		for _, work := range []string{".ssh/w", "link"} {
			g, err := build(filepath.Join(root, work), pathguard.Rules{Allow: []string{root}, Protect: pathguard.Protection{
				Names: []pathguard.Name{{Pattern: ".ssh"}}, Workspaces: []string{filepath.Join(root, work)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if s, err := read(g, "a"); s != "A" {
				t.Errorf("%s: %v", work, err)
			}
			for _, path := range []string{".ssh/k", filepath.Join(root, ".ssh/k")} {
				if _, err := read(g, path); kindOf(err) != pathguard.KindDenied {
					t.Errorf("%s: %s: %v", work, path, err)
				}
			}
		}
	})
}

// TestLinkedName protects where a protected name leads, too.
func TestLinkedName(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "dir w/githooks", "dir w/.git", "symlink w/.git/hooks ../githooks", "file w/dot X", "symlink w/.env dot")
		g := protecting(t, build, root)
		for _, path := range []string{"githooks/pre-commit", "dot"} {
			if _, err := write(g, path, "x", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindDenied {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

func TestProtectedFile(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/conf C", "hardlink w/hard w/conf", "symlink w/soft conf", "file w/other O")
		g := protecting(t, build, root,
			pathguard.ProtectedFile{Path: root + "/w/conf", Rule: "the configuration"}, pathguard.ProtectedFile{Path: root + "/w/later", Rule: "what comes"})
		for path, rule := range map[string]string{"conf": "the configuration", "hard": "the configuration", "soft": "the configuration", "later": "what comes"} {
			want := path + " is protected: " + rule + " (allow " + rule + ")"
			if _, err := write(g, path, "x", pathguard.ReplaceOptions{}); err == nil || err.Error() != want {
				t.Errorf("replace %s: %v", path, err)
			}
			if err := g.Append(path, []byte("x")); err == nil || err.Error() != want {
				t.Errorf("append %s: %v", path, err)
			}
			if got, protected := g.Protected(root + "/w/" + path); !protected || got != "protected: "+rule {
				t.Errorf("%s: %q", path, got)
			}
		}
		if err := os.Rename(root+"/w/other", root+"/w/conf"); err != nil { // as editors replace it
			t.Fatal(err)
		}
		if err := g.Append("conf", []byte("x")); kindOf(err) != pathguard.KindDenied {
			t.Errorf("append to the new file: %v", err)
		}
	})
}

func TestProtectedWildcards(t *testing.T) {
	root := tree(t, "dir w", "file w/.env S")
	g := protecting(t, pathguard.New, root)
	for path, rule := range map[string]string{
		".en?": ".env", ".e*": ".env", ".*": ".env", "*/.env": ".env", "sub/.e*v": ".env", ".git/hook*/x": ".git/hooks", ".git/*/x": ".git/hooks",
		".s?h/…": ".ssh", "….env": ".env", "x.git/h*": "*.git/hooks",
		"*": "", "*.go": "", "…": "", "…/…": "", "?env": "", "*/x": "", "src/*.txt": "", ".env.*example": "",
		"." + strings.Repeat("*", 60) + "q": ".env.*", "." + strings.Repeat("*e", 20) + "*": ".env.*", // take no exponential time
	} {
		got, protected := g.Protected(root + "/w/" + path)
		if protected != (rule != "") || rule != "" && !strings.HasPrefix(got, "protected: ") {
			t.Errorf("%s: %q, want %q", path, got, rule)
		}
	}
}

func TestProtectedEntries(t *testing.T) {
	root := tree(t, "file w/.env S", "file w/sub/.git/hooks/x X", "file w/.ssh/k K", "file w/a A", "file w/.env.example E")
	g := protecting(t, pathguard.New, root)
	d, err := g.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got := map[string]bool{}
	opt := walk.Options{Hidden: true}
	if _, err := walk.Walk(t.Context(), d.File, d.Info.Real, opt, func(e *walk.Entry) error {
		_, protected := d.Protected(e)
		got[e.Rel()] = protected
		if protected {
			return walk.SkipDir
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{".env": true, ".env.example": false, ".ssh": true, "a": false, "sub": false, "sub/.git": true} {
		if protected, seen := got[path]; !seen || protected != want {
			t.Errorf("%s: seen %v, protected %v", path, seen, protected)
		}
	}
	if _, err := g.OpenDir(".ssh"); kindOf(err) != pathguard.KindDenied {
		t.Error(err)
	}
}
