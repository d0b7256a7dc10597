//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// project is what the directory of somebody's work has in it.
var project = map[string]string{
	"a.txt": "x 1\nfoo 2\nTODO b\n1:2:3000\n", "b.txt": "x\ny\n", "a": "2\n1\n", "b": "3\n1\n", "f": "sudo\nplain\n", "-rf": "dashes\n",
	"go.mod":       "module example\n\ngo 1.21\n",
	"main.go":      "package main\n\nfunc main() { println(\"foo\") } // TODO\n",
	"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { t.Log(\"UNIQUE\") }\n",
	"src/one.go":   "package src\n\n// FIXME\n",
	"package.json": `{"name": "example", "version": "1.0.0", "scripts": {"test": "node app.js"}}`,
	"app.js":       "console.log('app', process.argv.slice(2).join(' '))\n",
	"script.py":    "import sys\nprint('script', sys.argv[1:])\n",
	"test_it.py":   "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n",
	"c/hello.c":    "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n",
	"Makefile":     "all: build\nbuild:\n\t@echo building $(FOO) $(BAR)\nhello: c/hello.c\n\tgcc -o $@ $<\n",
	"out/.keep":    "",
}

// newProject makes one, which is the same each time but for its name, and for what
// keeps go test from knowing the result.
func newProject(t *testing.T) (dir string) {
	t.Helper()
	parent := freshDir(t, "/tmp")
	dir = filepath.Join(parent, "work")
	names := make([]string, 0, len(project))
	for name := range project {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		content := strings.ReplaceAll(project[name], "UNIQUE", fmt.Sprintf("%016x", rand.Uint64()))
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-ec", `tar --mtime=@0 -czf a.tgz src
		git init -q -b main; git config user.name Someone; git config user.email someone@example.org
		git add a.txt main.go src; git commit -q -m first; echo more >>b.txt`)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_AUTHOR_DATE=@1700000000 +0000", "GIT_COMMITTER_DATE=@1700000000 +0000"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	was := time.Unix(1_700_000_000, 0)
	walkAll(t, dir, func(path string, info os.FileInfo) {
		if info.Mode()&os.ModeSymlink == 0 && !strings.Contains(path, "/.git") {
			if err := os.Chtimes(path, was, was); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, path := range []string{filepath.Join(dir, ".git"), dir, parent} {
		if err := os.Chtimes(path, was, was); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCommandsAsBash does work that is not to be refused.
func TestCommandsAsBash(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	t.Run("corpus", func(t *testing.T) { corpusAllowed(t, home) })
	t.Run("ordinary", func(t *testing.T) { ordinaryCommands(t, home) })
}

// newHome makes a home directory in which go has built already what its standard
// library takes.
func newHome(t *testing.T) string {
	t.Helper()
	dir := freshDir(t, "/tmp")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "letter"), nil, 0o644), os.MkdirAll(goCache(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	a := plainBash(t, newProject(t), "go vet ./... && go test ./... && go run .", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir})
	if a.Result.IsError {
		t.Fatal(a.Result.StructuredContent)
	}
	return dir
}

// goCache is where go keeps what it has built, for who has this home.
func goCache(home string) string { return filepath.Join(home, ".cache", "go-build") }

// sameAsBash checks that a command is not refused, and does what it does without
// any server.
func sameAsBash(t *testing.T, home, command string, tools json.RawMessage) {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	theirs, ours := newProject(t), newProject(t)
	w := &attacked{work: ours, home: filepath.Join(freshDir(t, "/var/tmp"), "home")}
	s := startAs(t, binary(), env, "--config", w.config(t, tools, "best_effort"))
	got := s.execute(command, 200)
	if got.refused() || got.Result.StructuredContent["exit_code"] == nil {
		t.Errorf("%.300q is not run: %.600s %+v", command, got.text(), got.Error)
		return
	}
	want := plainBash(t, theirs, command, append(env, "TERM=dumb"))
	is, was := comparable(got, ours, command), comparable(want, theirs, command)
	if is != was {
		t.Errorf("%.300q\n--- gives\n%.1500s\n--- and bash\n%.1500s", command, is, was)
	}
}

// What differs from run to run: times, the names of commits, that go test
// remembers a run, and that npm has heard of a newer npm where there is a network.
var (
	notice   = regexp.MustCompile(`(?m)^npm notice.*\n`)
	seconds  = regexp.MustCompile(`\(cached\)|\b[0-9]+\.[0-9]+m?s\b|\bin [0-9.]+s`)
	revision = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	clock    = regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}(:[0-9]{2})?\b`)
)

// comparable is what there is to compare of a command.
func comparable(a answer, dir, command string) string {
	stdout, stderr, code := a.output()
	text := stdout + "--- stderr\n" + notice.ReplaceAllString(stderr, "")
	text = strings.ReplaceAll(text, dir, "WORK")
	text = strings.ReplaceAll(text, filepath.Base(filepath.Dir(dir)), "PARENT")
	text = clock.ReplaceAllString(revision.ReplaceAllString(seconds.ReplaceAllString(text, "TIME"), "COMMIT"), "CLOCK")
	if strings.Contains(command, "find") || strings.Contains(command, "rg ") || strings.Contains(command, "grep -r") {
		lines := strings.Split(text, "\n") // directories and threads have no order
		slices.Sort(lines)
		text = strings.Join(lines, "\n")
	}
	return fmt.Sprintf("%s\n--- exit code %d", text, code)
}
