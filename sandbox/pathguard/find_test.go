package pathguard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// TestFind finds protected names in small directories and in large ones.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		".env", ".env.example", ".ENV.local", "x.env", "sub/.env", "venv/.env/bin/python", ".config/git/config", ".config/other", ".cargo/x",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names := pathguard.NewNames([]pathguard.Name{
		{Pattern: ".env", Only: true}, {Pattern: ".env.*", Only: true, Except: []string{".env.*example"}}, {Pattern: ".config/git"}, {Pattern: ".cargo/config.toml"},
	}, []string{dir})
	find := func() string {
		found, _ := names.Find(dir)
		for i, path := range found {
			found[i], _ = filepath.Rel(dir, path)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	if got := find(); got != ".ENV.local .config/git .env" {
		t.Errorf("found %s", got)
	}
	for i := range 5000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(); got != ".config/git .env" {
		t.Errorf("in a large directory found %s", got)
	}
}

// TestNames matches by text.
func TestNames(t *testing.T) {
	names := pathguard.NewNames([]pathguard.Name{
		{Pattern: ".env", Only: true}, {Pattern: ".claude"}, {Pattern: ".cargo/config.toml"}, {Pattern: ".config/git"},
	}, []string{"/w/.claude/x"})
	for path, want := range map[string]string{
		"/a/.env": "protected: .env", "/a/.ENV": "protected: .env", "/a/.env/b": "", "/a/.claude/b/c": "protected: .claude", "/w/.claude/x/y": "",
		"/w/.claude/x/.Claude": "protected: .claude", "/a/.cargo": "", "/a/.cargo/config.toml": "protected: .cargo/config.toml",
	} {
		if got, _ := names.Match(path, false); got != want {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
	if _, refused := names.Match("/a/.env", true); refused {
		t.Error("a directory .env is refused")
	}
	if got := names.Below("/a/.cargo"); !slices.Equal(got, []string{"config.toml"}) {
		t.Errorf("below .cargo: %q", got)
	}
	if got := names.Below("/a/b"); len(got) != 0 {
		t.Errorf("below b: %q", got)
	}
}
