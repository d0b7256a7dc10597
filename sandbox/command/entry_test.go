package command_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/glob"
)

// A row is a list, and commands that it denies (or allows) and does not.
func TestPatterns(t *testing.T) {
	dir := bin(t, "rm", "rmdir", "rename", "ls", "git", "go", "npm", "lsblk", "busybox", "cat -> busybox", "erase = rm")
	decide := func(t *testing.T, allowed, denied []command.Rule, text string) command.Verdict {
		t.Helper()
		p, err := command.Compile(command.Config{Allowed: allowed, Denied: denied, Path: []string{dir}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return p.Decide(command.Request{Command: text, Dir: dir})
	}
	for _, c := range []struct{ entry, matched, others string }{
		{"rm*", "rm x;rmdir x;RM x;env rm x;erase x;./rm x", "rename x;ls"},
		{"r*m*", "rm x;rmdir x", "ls"},
		{"*dir", "rmdir x", "rm x"},
		{"ls*", "ls;lsblk", "rm x"},
		{"git *", "git;git status;git push --force", "ls"},
		{"git push*", "git push;git push origin main;git -C . push", "git status"},
		{"git push *", "git push;git push origin", "git status"},
		{"git p*", "git push;git pull", "git status"},
		{"git remote add *", "git remote add x y", "git remote -v"},
		{"npm run test:*", "npm run test:unit;npm run test:a/b --x", "npm run build;npm test"},
		{"npm * build", "npm run build", "npm run test"},
		{"go test ./...", "go test ./...;go test ./... -v", "go test ./x;go vet ./..."},
		{"go test ./*", "go test ./x;go test ./...", "go vet ./x"},
		{"./rm*", "./rm x;./rmdir x", "ls"},
		{"DIR/*m", "rm x;DIR/rm x", "rmdir x;DIR/ls"},
	} {
		entry := []command.Rule{{Name: strings.ReplaceAll(c.entry, "DIR", dir)}}
		for want, list := range map[bool]string{true: c.matched, false: c.others} {
			for text := range strings.SplitSeq(list, ";") {
				text = strings.ReplaceAll(text, "DIR", dir)
				if v := decide(t, nil, entry, text); v.Allowed == want {
					t.Errorf("deny %s: %s: %+v", c.entry, text, v)
				}
				sameName := !strings.HasPrefix(text, "RM") && !strings.HasPrefix(text, "env") && !strings.HasPrefix(text, "erase")
				if v := decide(t, entry, nil, text); sameName && v.Allowed != want {
					t.Errorf("allow %s: %s: %+v", c.entry, text, v)
				}
			}
		}
	}
	for _, c := range []struct {
		allowed, denied, text string
		want                  bool
	}{
		{"", "git push:*", "git push", false}, // as others spell git push with any arguments
		{"", "git push:*", "git pull", true},
		{"npm run test:*", "", "npm run test", false},
		{"git stash", "", "git stash pop", false},
		{"git stash *", "", "git stash pop", true},
		{"git r*", "", "git remote add x y", false},
		{"npm run test:*", "", `npm run "test:$X"`, false},
		{"", "npm run test:*", `npm run "test:$X"`, false},
		{"", "npm run test:*", `npm run "$X"`, false},
		{"", "git p*", `git "$X"`, false},
		{"*", "rm*", "ls", true},
		{"* *", "", "ls", true},
		{"ls *", "", "ls -l .", true},
		{"rm*", "rmdir", "rmdir x", false},
		{"b*", "", "busybox rm x", false},
	} {
		var allowed, denied []command.Rule
		if c.allowed != "" {
			allowed = command.Rules(c.allowed)
		}
		if c.denied != "" {
			denied = command.Rules(c.denied)
		}
		if v := decide(t, allowed, denied, c.text); v.Allowed != c.want {
			t.Errorf("allow %q deny %q: %s: %+v", c.allowed, c.denied, c.text, v)
		}
	}
}

// A wildcard of a command is refused where it stands for what a glob denies.
func TestDeniedGlobs(t *testing.T) {
	dir := bin(t, "cat")
	for _, name := range []string{"with/a.key", "with/b.txt", "none/c.txt"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	denied, err := glob.Compile("**/*.key")
	if err != nil {
		t.Fatal(err)
	}
	permit := func(path string) error {
		if denied.Match(strings.TrimPrefix(path, "/")) {
			return fmt.Errorf("%s is denied", path)
		}
		return nil
	}
	p, err := command.Compile(command.Config{Allowed: command.Rules("cat", "touch"), Path: []string{dir}, Dir: dir,
		Paths: command.Paths{Read: permit, Write: permit, Globs: true}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"cat with/a.key": false, "cat with/*.key": false, "cat with/a.k*": false, "cat with/a.ke?": false, "cat with/[a]*": false, "cat with/*": false,
		"cat with/*.txt": true, "cat none/*": true, "cat none/*.key": false, "cat */*.k*": false, "cat */*": false, "cat */*.txt": true, "cat n*/*": true, "touch none/n.key; cat none/*": false, "cat no/*": true, "cat none/c.txt/*": true, "cat w*/b.txt": true,
		"cat < with/*y": false, "cat > none/x.key": false, "touch none/n.txt; cat none/*": true, "cat b.txt > none/new.txt": true,
	} {
		if v := p.Decide(command.Request{Command: text, Dir: dir}); v.Allowed != want {
			t.Errorf("%s: %+v", text, v)
		}
	}
}
