package pathguard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolserver/sandbox/pathguard"
)

func TestFinder(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		".env", ".env.example", ".ENV.local", "x.env", "sub/.env", "sub/deep/er/.env", "venv/.env/bin/python", "node_modules/p/.env",
		".git/hooks/post-commit", ".git/config", ".git/HEAD", ".git/modules/a/b/hooks/x", ".git/modules/a/HEAD", "sub/.git/config", "work/.git",
		".config/git/config", ".config/other", "bare.git/config", "bare.git/HEAD",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := pathguard.NewFinder([]pathguard.Name{
		{Pattern: ".env", Only: true}, {Pattern: ".env.*", Only: true, Except: []string{".env.*example"}}, {Pattern: ".git", Only: true},
		{Pattern: ".git/hooks"}, {Pattern: ".git/config"}, {Pattern: ".git/modules/**/hooks"}, {Pattern: ".config/git"}, {Pattern: "*.git/config"},
	})
	shown := func(found []string) string {
		for i, path := range found {
			found[i], _ = filepath.Rel(dir, path)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	budget := 1000
	top := ".ENV.local .config/git .env .git/config .git/hooks .git/modules/a/b/hooks bare.git/config"
	if got := shown(f.Find(dir, 0, nil, &budget)); got != top {
		t.Errorf("in the directory: %s", got)
	}
	skip := func(name string) bool { return name == "node_modules" }
	if got := shown(f.Find(dir, 2, skip, &budget)); got != top+" sub/.env sub/.git/config work/.git" {
		t.Errorf("below: %s", got)
	}
	budget = 5
	if f.Find(dir, 2, skip, &budget); budget >= 0 {
		t.Errorf("%d left of a budget that cannot have done", budget)
	}
}
