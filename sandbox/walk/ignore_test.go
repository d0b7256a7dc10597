package walk_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/walk"
)

// git runs git in dir without the configuration of the user and the system.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && !(args[0] == "check-ignore" && cmd.ProcessState.ExitCode() == 1) { // 1: none is ignored
		t.Fatalf("git %v: %v %s", args, err, stderr.Bytes())
	}
	return string(out)
}

// differences compares what a walk of root visits with what git does not
// ignore, and returns the paths they disagree on.
func differences(t *testing.T, root string) (wrong []string, ignored int) {
	t.Helper()
	all, _ := walkAll(t, root, walk.Options{Hidden: true,
		Skip: func(e *walk.Entry) bool { return e.Rel() == ".git" }})
	kept, _ := walkAll(t, root, walk.Options{Hidden: true, Gitignore: true})
	byGit := strings.Split(git(t, root, strings.ReplaceAll(strings.Join(all, "\x00"), "/\x00", "\x00")+"\x00", "check-ignore", "--no-index", "-z", "--stdin"), "\x00")
	slices.Sort(kept)
	slices.Sort(byGit)
	for _, p := range all {
		_, keptHere := slices.BinarySearch(kept, p)
		_, ignoredByGit := slices.BinarySearch(byGit, strings.TrimSuffix(p, "/"))
		if keptHere == ignoredByGit {
			wrong = append(wrong, fmt.Sprintf("%s (git ignores: %v)", p, ignoredByGit))
		}
		if ignoredByGit {
			ignored++
		}
	}
	return wrong, ignored
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var ignoreNames = []string{"a", "b", "foo", "bar", "a.o", "b.o", "foo.go", "x.tar.gz", "build", "doc", ".hid", "a b", "a ", "[a]", "a*", "#c", "!n", `b\c`, "é", "-", "]", "ab", "abc", "A"}

// ignoreTree makes the same tree for every pattern set: each name as a file or
// directory on three levels.
func ignoreTree(t testing.TB) string {
	root := tree(t)
	for _, d := range []string{"", "foo/", "foo/build/", "doc/", "doc/a/", "doc/a/b/", "build/"} {
		for _, name := range ignoreNames {
			full := filepath.Join(root, d+name)
			if _, err := os.Lstat(full); err == nil {
				continue
			}
			switch d + name {
			case "foo", "doc", "build", "foo/build", "doc/a", "doc/a/b":
				continue
			}
			write(t, full, "")
		}
	}
	git(t, root, "", "init", "-q")
	return root
}

func TestGitignoreAsDocumented(t *testing.T) {
	root := ignoreTree(t)
	for _, rules := range []string{
		"", "a", "/a", "a/", "/doc/a", "doc/a", "doc/*", "doc/**", "**/a", "a/**", "doc/**/b", "**/build/**", "*.o\n!b.o", "*\n!*.go\n!*/",
		"[!a]", "[^a]*", "[a-b].o", "[[:alpha:]]", `\#c`, "#c", `\!n`, "!n", "a ", `a\ `, "a b", "*.tar.gz", "*.gz", "?", "??", `\[a\]`, "[[]a]", "[]]", "[]-a]",
		`b\\c`, `a\*`, "foo**/bar", "doc/a**", "**", "**/", "/**", "/", "//", "*/", "a\r\n", "\uFEFFa", "doc/a/\n!doc/a/b/foo", "doc/*\n!doc/a\ndoc/a/*\n!doc/a/b",
		"[", "[a", "a[", `a\`, "[b-a]", "[[:nope:]]", "***/a", "d*c/a", "d?c/[a-c]/*", "/*/a", "*/*/foo", "doc/**/**/foo", "\ta", "é", "??.o", "foo/**/a", `doc\/a`,
		"f**o", "**foo", "foo**", "**/doc/**/foo", "*.o\n*.go\n!foo.go\nfoo/foo.go", "[a-]", "[-a]", "[a\\]]", "[!]]", "A",
	} {
		write(t, filepath.Join(root, ".gitignore"), rules)
		if wrong, _ := differences(t, root); len(wrong) > 0 {
			t.Errorf("rules %q: %q", rules, wrong)
		}
	}
}

func TestGitignoreLikeGitOnRandomRules(t *testing.T) {
	root := ignoreTree(t)
	r := rand.New(rand.NewPCG(7, 7))
	parts := append([]string{"*", "**", "?", "[a-c]", "[!a]", "*.o", "*a", "b*", "a*b", "/", "/", "/", "!", "/**/", "**/", "/**", `\`, "[", "]", "{a,b}", " "}, ignoreNames...)
	rules := func() string {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			for range 1 + r.IntN(4) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	rounds, total := 60, 0
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		files := map[string]string{".gitignore": rules(), "doc/.gitignore": rules(), "doc/a/.gitignore": rules(), ".git/info/exclude": rules()}
		for path, text := range files {
			write(t, filepath.Join(root, path), text)
		}
		wrong, ignored := differences(t, root)
		total += ignored
		if len(wrong) > 0 {
			t.Fatalf("rules %q: %q", files, wrong)
		}
	}
	if total == 0 {
		t.Error("nothing was ever ignored")
	}
}

func TestGitignoreAboveAndNested(t *testing.T) {
	root := tree(t, "top/.git/info/", "top/sub/deep/a", "top/sub/deep/b", "top/sub/deep/c", "top/sub/deep/d", "top/sub/deep/nested/.git/", "top/sub/deep/nested/a")
	write(t, filepath.Join(root, ".gitignore"), "d\n") // outside the repository
	write(t, filepath.Join(root, "top/.git/info/exclude"), "c\n")
	write(t, filepath.Join(root, "top/.gitignore"), "a\n")
	write(t, filepath.Join(root, "top/sub/.gitignore"), "/deep/b\n")
	deep := filepath.Join(root, "top/sub/deep")
	for _, c := range []struct {
		above string
		want  string
	}{
		{root, "d nested/ nested/a"},
		{root + "/top", "d nested/ nested/a"},
		{root + "/top/sub", "a b c d nested/ nested/a"}, // the repository is not visible from there
		{deep, "a b c d nested/ nested/a"},
	} {
		got, _ := walkAll(t, deep, walk.Options{Gitignore: true, Above: walk.Above{Dir: open(t, c.above), Path: c.above}})
		if strings.Join(got, " ") != c.want {
			t.Errorf("above %s: %q", c.above, got)
		}
	}
	opt := walk.Options{Gitignore: true, Above: walk.Above{Dir: open(t, deep), Path: deep}}
	if _, err := walk.Walk(context.Background(), open(t, root), root, opt, nil); err == nil || !strings.Contains(err.Error(), "not inside") {
		t.Error(err)
	}
}

func TestIgnoreFileBounds(t *testing.T) {
	root := tree(t, "last", "first")
	for _, text := range []string{
		"first\n" + strings.Repeat("x\n", 20_000) + "last\n",
		"first\n" + strings.Repeat("#", 2<<20) + "\nlast\n",
	} {
		write(t, filepath.Join(root, ".gitignore"), text)
		got, stats := walkAll(t, root, walk.Options{Gitignore: true})
		if len(got) != 1 || got[0] != "last" || stats.Unreadable != 1 {
			t.Errorf("%q %+v", got, stats)
		}
	}
}
