//go:build unix

package pathguard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// Each spelling of a denied file keeps every way to open it closed, and nothing else.
func TestDeniedGlobs(t *testing.T) {
	for _, c := range []struct{ entry, denied, open string }{
		{"*.key", "a.key sub/deep/b.key .key out/x.key k.key/x ../root/c.key", "a.txt sub/deep/b.txt"},
		{"**/*.key", "a.key sub/deep/b.key out/x.key ../root/c.key", "a.txt"},
		{"ROOT/w/*.key", "a.key k.key/x", "sub/deep/b.key a.txt"},
		{"ROOT/w/**", "a.key a.txt sub/deep/b.key", "../root/c.key"},
		{"ROOT/w/**/", "a.key a.txt sub/deep/b.key", ""},
		{"ROOT/**/*.key", "a.key sub/deep/b.key ../root/c.key", "a.txt"},
		{"a.key", "a.key", "a.txt sub/deep/b.key sub/a.key"},
		{"./a.key", "a.key", "sub/a.key"},
		{"./*.key", "a.key", "sub/deep/b.key a.txt"},
		{"**/a.key", "a.key sub/a.key", "a.txt"},
		{"sub", "sub sub/deep/b.key", "a.key"},
		{"sub/", "sub sub/deep/b.key", "a.key"},
		{"sub/**", "sub/deep/b.key", "a.key"},
		{"sub/**/*.key", "sub/deep/b.key sub/a.key", "a.key sub/deep/b.txt"},
		{"sub/*/b.*", "sub/deep/b.key sub/deep/b.txt", "sub/a.key"},
		{"s*", "sub/deep/b.key", "a.key a.txt"},
		{"d*p/", "sub/deep/b.key", "a.key sub/a.key"},
		{"../w/*.key", "a.key", "sub/a.key a.txt"},
		{"../root/*.key", "../root/c.key", "a.key"},
		{"a.ke?", "a.key sub/a.key", "a.txt"},
		{"[ab].key", "a.key sub/deep/b.key", "../root/c.key"},
		{"[!b].key", "a.key ../root/c.key", "sub/deep/b.key"},
		{"{a,b}.key", "a.key sub/deep/b.key", "../root/c.key"},
		{"{sub,out}/**/*.{key,pem}", "sub/deep/b.key out/x.key", "a.key sub/deep/b.txt"},
		{"**/deep/*", "sub/deep/b.key sub/deep/b.txt", "sub/a.key"},
		{"**", "a.key sub/deep/b.key ../root/c.key", ""},
		{"*", "a.key sub/deep/b.key ../root/c.key", ""},
		{"**/**/*.key", "a.key sub/deep/b.key", "a.txt"},
		{"odd\\[1\\].key", "odd[1].key", "odd1.key"},
		{"odd[[]1].key", "odd[1].key", "odd1.key"},
		{"sub//deep/./*.key", "sub/deep/b.key", "sub/a.key"},
		{"link/*.key", "sub/deep/b.key link/b.key", "a.key sub/deep/b.txt"},
		{"*nk", "link/b.txt", "sub/deep/b.txt"},
		{"x.key/..", "a.key a.txt", ""},
	} {
		everyWay(t, func(t *testing.T, build constructor) {
			root := tree(t, "file w/a.key", "file w/a.txt", "file w/sub/a.key", "file w/sub/deep/b.key", "file w/sub/deep/b.txt", "file w/.key",
				"file w/k.key/x", "file root/c.key", "file w/odd[1].key", "file w/odd1.key", "file out/x.key", "symlink w/link sub/deep", "symlink w/out ../out")
			entry := strings.ReplaceAll(c.entry, "ROOT", root)
			w := filepath.Join(root, "w")
			g, err := build(w, pathguard.Rules{Allow: []string{".", "../out", "../root"}, Deny: []string{entry}, Roots: []string{filepath.Join(root, "root")}})
			if err != nil {
				t.Fatalf("%s: %v", c.entry, err)
			}
			for want, names := range map[bool]string{true: c.denied, false: c.open} {
				for name := range strings.FieldsSeq(names) {
					path := filepath.Join(w, name)
					info, err := os.Stat(path)
					if err != nil && !strings.HasPrefix(c.entry, "x.") {
						t.Fatal(err)
					}
					d, err := g.Check(path)
					if err != nil || d.Allowed == want {
						t.Errorf("deny %s: Check(%s): %+v %v", c.entry, name, d, err)
					}
					if info != nil && info.Mode().IsRegular() {
						if f, err := g.Open(path); (kindOf(err) == pathguard.KindDenied) != want {
							t.Errorf("deny %s: Open(%s): %v", c.entry, name, err)
						} else if err == nil {
							f.Close()
						}
					}
				}
			}
		})
	}
}

// What the guard says of a path, a listing and its globs as text say as well.
func TestGlobsAgree(t *testing.T) {
	root := tree(t, "file w/a.key", "file w/sub/deep/b.key", "file w/sub/deep/b.txt", "file w/sub/x.go", "file w/y.md")
	all := []string{"a.key", "sub", "sub/deep", "sub/deep/b.key", "sub/deep/b.txt", "sub/x.go", "y.md"}
	for _, c := range []struct{ allow, deny, listed string }{
		{".", "*.key", "sub sub/deep sub/deep/b.txt sub/x.go y.md"},
		{".", "sub/**/*.key", "a.key sub sub/deep sub/deep/b.txt sub/x.go y.md"},
		{".", "deep*", "a.key sub sub/x.go y.md"},
		{"*.md", "none", "sub sub/deep y.md"},
		{"sub/**/*.go", "none", "sub/x.go sub/deep"},
		{"*.key", "sub/*/*.key", "a.key sub sub/deep"},
	} {
		g, err := pathguard.New(root+"/w", pathguard.Rules{Allow: []string{c.allow}, Deny: []string{c.deny}})
		if err != nil {
			t.Fatal(err)
		}
		dir := "."
		if strings.HasPrefix(c.allow, "sub") {
			dir = "sub"
			if _, err := g.OpenDir("."); kindOf(err) != pathguard.KindDenied {
				t.Errorf("allow %s: the directory above can be listed: %v", c.allow, err)
			}
		}
		d, err := g.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var listed []string
		_, deny := g.Patterns()
		for _, name := range all {
			rel, below := strings.CutPrefix(name, dir+"/")
			if dir != "." && !below {
				continue
			}
			info, err := os.Stat(filepath.Join(root, "w", name))
			if err != nil {
				t.Fatal(err)
			}
			if _, denied := d.Denied(rel, info.IsDir()); !denied {
				listed = append(listed, name)
			}
			_, denied := g.Denied(filepath.Join(root, "w", name))
			asText := slices.ContainsFunc(deny, func(p string) bool {
				return compiled(t, p+"{,/**}").Match(strings.TrimPrefix(filepath.Join(root, "w", name), "/"))
			})
			if len(deny) > 0 && denied != asText {
				t.Errorf("deny %s: %s: %v, as text %v (%q)", c.deny, name, denied, asText, deny)
			}
			if !info.IsDir() {
				check, err := g.Check(name)
				if _, denied := d.Denied(rel, false); err != nil || check.Allowed == denied {
					t.Errorf("allow %s deny %s: %s: listed %v, %+v", c.allow, c.deny, name, !denied, check)
				}
			}
		}
		slices.Sort(listed)
		if want := strings.Fields(c.listed); !slices.Equal(listed, slices.Sorted(slices.Values(want))) {
			t.Errorf("allow %s deny %s: %q, want %q", c.allow, c.deny, listed, want)
		}
	}
}

func compiled(t *testing.T, pattern string) *glob.Glob {
	t.Helper()
	g, err := glob.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A glob without a place holds for a file that is allowed by its own path.
func TestDeniedGlobBeatsAllowedFile(t *testing.T) {
	root := tree(t, "file w/x", "file keys/a.key", "file keys/b")
	g, err := pathguard.New(root+"/w", pathguard.Rules{Allow: []string{".", root + "/keys/a.key", root + "/keys/b"}, Deny: []string{"*.key"}})
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := g.Check(root + "/keys/a.key"); d.Allowed || d.Rule != "*.key" {
		t.Errorf("%+v", d)
	}
	if d, _ := g.Check(root + "/keys/b"); !d.Allowed {
		t.Errorf("%+v", d)
	}
}

// Names of directories that were chosen are no globs.
func TestDirectoriesAreNoGlobs(t *testing.T) {
	root := tree(t, "file [id]/a.key", "file [id]/x", "file {a,b}|/y", "file i/x")
	w, other := filepath.Join(root, "[id]"), filepath.Join(root, "{a,b}|")
	g, err := pathguard.New(w, pathguard.Rules{Allow: []string{w, other}, Deny: []string{"*.key"}, Roots: []string{other}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{w + "/x": true, other + "/y": true, w + "/a.key": false, root + "/i/x": false} {
		if d, err := g.Check(path); err != nil || d.Allowed != want {
			t.Errorf("%s: %+v %v", path, d, err)
		}
	}
	if _, deny := g.Patterns(); !compiled(t, deny[0]).Match(strings.TrimPrefix(w, "/")+"/sub/a.key") || compiled(t, deny[0]).Match(strings.TrimPrefix(root, "/")+"/i/a.key") {
		t.Errorf("%q", deny)
	}
}

// FuzzParseEntry: an entry that is accepted denies what a simple statement of globs says,
// and a literal path denies itself.
func FuzzParseEntry(f *testing.F) {
	for _, s := range []string{"*.key", "sub/**/*.key", "/abs/**", `a\*b`, "{a,b}/c", "**/x", "[!a]*"} {
		f.Add(s, "sub/a.key")
	}
	root := tree(f)
	f.Fuzz(func(t *testing.T, entry, name string) {
		e, err := pathguard.ParseEntry(entry)
		if err != nil || strings.Contains(entry, "..") || filepath.IsAbs(entry) || !utf8.ValidString(entry+name) {
			t.Skip()
		}
		g, err := pathguard.New(root, pathguard.Rules{Allow: []string{root}, Deny: []string{entry}})
		if err != nil {
			if len(entry) < 100 && strings.Count(entry, "{") < 3 {
				t.Fatalf("%q parses, and makes no guard: %v", entry, err)
			}
			t.Skip()
		}
		if e.Glob == "" && !e.Anywhere {
			if _, denied := g.Denied(filepath.Join(root, e.Path)); !denied {
				t.Fatalf("%q does not deny itself", entry)
			}
		}
		path := filepath.Join(root, name)
		if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
			t.Skip()
		}
		_, want := g.Denied(path)
		_, deny := g.Patterns()
		if len(deny) == 0 {
			t.Skip()
		}
		if got := compiled(t, deny[0]+"{,/**}").Match(strings.TrimPrefix(path, "/")); got != want {
			t.Errorf("deny %q, path %q: %v, as text %v (%q)", entry, name, want, got, deny)
		}
		if _, below := g.Denied(filepath.Join(path, "below")); want && !below {
			t.Errorf("%q denies %q and not what is below", entry, name)
		}
	})
}
