//go:build linux

package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// more is what the repository of [everydayRows] has besides the files of [project].
var more = map[string]string{
	"package.json":        `{"name": "example", "version": "1.0.0", "scripts": {"test": "node app.js", "build": "echo built >built", "start": "node app.js"}}`,
	"package-lock.json":   `{"name": "example", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "example", "version": "1.0.0"}}}`,
	"test.mjs":            "import test from 'node:test'\ntest('it', () => {})\n",
	"libdir/package.json": `{"name": "libdir", "version": "1.0.0"}`, "libdir/index.js": "module.exports = 'libdir'\n",
	"package/package.json": `{"name": "dep", "version": "1.0.0"}`, "package/index.js": "module.exports = 'dep'\n",
	"pypkg/pyproject.toml": "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"pypkg\"\nversion = \"1\"\n[tool.setuptools]\npy-modules = [\"pypkg\"]\n", "pypkg/pypkg.py": "x = 'installed'\n",
	"c/leak.c": "#include <stdlib.h>\nint main(void) { return malloc(10) == 0; }\n", "c/crash.c": "int main(void) { *(volatile int *)0 = 1; }\n",
	"Makefile":     "all: build\nbuild:\n\t@echo building $(FOO) $(BAR)\nhello: c/hello.c\n\tgcc -o $@ $<\nmany: 1.made 2.made 3.made 4.made\n%.made:\n\ttouch $@\n",
	".env.example": "A=\n", "README.md": "# x\n",
}

// everydayGround makes a ground with a repository in its template.
func everydayGround(t *testing.T, who account, kind string) (g *ground, template string) {
	t.Helper()
	g = newGround(t, who)
	g.temp = filepath.Join(freshDir(t, "/var/tmp"), "temp") // addresses of sockets are short
	must(t, errors.Join(os.Chmod(filepath.Dir(g.temp), 0o755), os.Mkdir(g.temp, 0o755), os.Chown(g.temp, who.id, who.id)))
	template = filepath.Join(g.dir, "template")
	kept := g.work
	g.work = filepath.Join(template, "work")
	must(t, errors.Join(os.MkdirAll(g.work, 0o755), os.MkdirAll(filepath.Join(template, "home"), 0o755), os.MkdirAll(filepath.Join(template, "root"), 0o755)))
	must(t, errors.Join(os.Chown(template, who.id, who.id), os.Chown(g.work, who.id, who.id)))
	files := maps.Clone(project)
	maps.Copy(files, more)
	delete(files, "-rf")
	for name, content := range files {
		g.file(name, strings.ReplaceAll(content, "UNIQUE", "once"), 0o644)
	}
	g.file(filepath.Join(g.home, ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n", 0o644)
	setup := `set -e; tar --mtime=@0 -czf dep.tgz package; tar --mtime=@0 -czf a.tgz src; rm -r package; git init -q --template= .; git config user.email local@example.org
		git add a.txt src; git commit -qm first; git add .; git commit -qm second; git branch feature; git clone -q --template= --bare . ../origin.git; git clone -q --template= --bare . ../lib.git; mv ../origin.git ../lib.git .
		git remote add origin ./origin.git; git fetch -q; git branch -qD feature; for r in .git origin.git lib.git; do git -C $r gc -q; done; printf 'origin.git\nlib.git\n' >.git/info-exclude; mkdir -p .git/info; mv .git/info-exclude .git/info/exclude; echo more >>b.txt`
	switch kind { // the time is not that of the index, which git would not trust
	case "dotenv":
		setup += `; echo A=1 >.env; touch -d '1 hour ago' .env; git add -f .env; git commit -qm env; echo B=1 >.env.local`
	case "dotenv that has changed":
		setup += `; echo A=1 >.env; git add -f .env; git commit -qm env; echo A=234 >.env`
	}
	if _, complaints, code := g.plain(g.work, setup); code != 0 {
		t.Fatalf("%d %s", code, complaints)
	}
	g.work = kept
	return g, template
}

// restore makes the working directory what it was, and leaves the home with its caches.
func (g *ground) restore(template string) {
	g.t.Helper()
	must(g.t, os.RemoveAll(filepath.Join(g.home, "go/bin")))
	left, err := filepath.Glob(g.temp + "/*")
	must(g.t, err)
	for _, path := range left {
		if !strings.HasPrefix(filepath.Base(path), "toolserver-") { // the server's own
			must(g.t, os.RemoveAll(path))
		}
	}
	// Only what has changed is copied, by times in nanoseconds: copying all takes longer than
	// most commands.
	for try := 1; ; try++ {
		out, err := exec.Command("rsync", "-a", "--modify-window=-1", "--delete", filepath.Join(template, "work")+"/", g.work+"/").CombinedOutput()
		if err == nil {
			return
		}
		if try == 2 {
			g.t.Fatalf("%v: %s", err, out)
		}
		must(g.t, exec.Command("chmod", "-R", "u+rwX", g.work).Run()) // a directory that denies deleting
	}
}

// What differs from run to run besides what [comparable] replaces.
var (
	temporaryName = regexp.MustCompile(`(/[\w./-]*)?/(toolserver-[a-z0-9]+(/tmp)?|temp)(/[\w./-]+)?|/tmp/(tmp|ssh-|pymp-|everyday)[\w.-]+`)
	processNumber = regexp.MustCompile(`\b(pid|process|PID|LWP) [0-9]+|==[0-9]+==| *\b[0-9]+ +(Killed|Terminated|Segmentation|Aborted)|\[[0-9]{2,}\]|0x[0-9a-f]+`)
	amount        = regexp.MustCompile(`\b[0-9.]+ ?(ms|s|ns/op|seconds|KiB|kB)\b`)
	theDay        = regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b`)
	changing      = regexp.MustCompile(`\.(tgz|txz|tar|zip|gz|xz|bz2|pyc|o|a|db|pem|pub|bundle|out|so|exe|gcda|gcno)$|(^|/)(key|rk|k|s|cgo|h|v|p|r|st|asan|leak|ub|prof|cov|hello|example|\.package-lock\.json|RECORD|pyvenv\.cfg)$|/(venv|v)/|sd/`)
)

// settled is the text of a command, without what differs from run to run.
func settled(text string) string {
	text = notice.ReplaceAllString(text, "")
	for _, r := range []struct {
		what *regexp.Regexp
		by   string
	}{{temporaryName, "TEMPORARY"}, {processNumber, "PROCESS"}, {amount, "TIME"}, {seconds, "TIME"}, {theDay, "DAY"}, {revision, "COMMIT"}, {clock, "CLOCK"}} {
		text = r.what.ReplaceAllString(text, r.by)
	}
	return text
}

// remains is what a command has left in the working directory: names, modes and contents,
// and what git knows.
func (g *ground) remains(command string) string {
	g.t.Helper()
	var text strings.Builder
	_ = filepath.WalkDir(g.work, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, g.work)
		if err != nil {
			fmt.Fprintf(&text, "%s %v\n", name, err)
			return nil
		}
		if e.Name() == ".git" || strings.HasSuffix(e.Name(), ".git") && e.IsDir() {
			fmt.Fprintln(&text, name)
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil || e.Name() == "__pycache__" {
			return nil
		}
		fmt.Fprintf(&text, "%s %s", name, info.Mode())
		if target, err := os.Readlink(path); err == nil {
			text.WriteString(" to " + settled(target))
		} else if e.Type().IsRegular() && !changing.MatchString(name) {
			b, _ := os.ReadFile(path)
			fmt.Fprintf(&text, " %x", sha256.Sum256([]byte(settled(string(b)))))
		}
		text.WriteByte('\n')
		return nil
	})
	if !strings.Contains(command, "git") {
		return text.String()
	}
	known, complaints, _ := g.plain(g.work, `git branch -avv | cat; git log --all --format=%s%d | sort; git status -s; git stash list; git worktree list; find . -name config -path '*.git/*' | sort | xargs grep -v '^#'`)
	return text.String() + settled(known+complaints)
}

// refusedWork returns the table of docs/enforcement.md of ordinary commands that are
// refused, with why.
func refusedWork(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/enforcement.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "\n## Ordinary work that is refused\n")
	if !found {
		t.Fatal("docs/enforcement.md has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	table := map[string]string{}
	for line := range strings.Lines(section) {
		if command, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			why, instead, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), " |"), " | ")
			if why == "" || instead == "" {
				t.Errorf("%s: no reason, or nothing to do instead", line)
			}
			table[strings.ReplaceAll(command, `\|`, "|")] = why
		}
	}
	return table
}

// TestEverydayWork runs what developers type under the default policy as bash would,
// or refuses it for the reason that docs/enforcement.md gives.
func TestEverydayWork(t *testing.T) {
	t.Parallel()
	all := os.Getenv("EVERYDAY") != ""
	refused := refusedWork(t)
	kinds, rows := maps.Clone(everydayRows), 0
	maps.Copy(kinds, everydayShell)
	for _, list := range kinds {
		rows += len(list)
	}
	if rows < 240 {
		t.Errorf("there are %d rows", rows)
	}
	for command := range refused {
		if !slices.ContainsFunc(slices.Collect(maps.Values(kinds)), func(list []string) bool { return slices.Contains(list, command) }) {
			t.Errorf("docs/enforcement.md lists %q, which no row tries", command)
		}
	}
	setting := 0
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			nth := setting
			setting++
			t.Parallel()
			for kind, list := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					g, template := everydayGround(t, who, kind)
					config := "logging: {level: error}\n"
					if kind == "servers" { // what the default says of them is a row of the table
						config += "sandbox: {network: loopback}\n"
					}
					b := g.open(setup{config: config, without: without})
					var env []string
					if kind == "go" { // both build the standard library once
						a := b.toolClient.call("execute_command", map[string]any{"command": "go env GOCACHE"})
						cache, _, _ := a.output()
						env = []string{"GOCACHE=" + strings.TrimSpace(cache)}
					}
					same, tried := 0, 0
					for i, command := range list {
						if !all && (nth > 0 && (kind == "go" || i%sample != nth) || costly.MatchString(command)) || without != "" && (kind == "servers" || needsMounts.MatchString(command)) || !installed(command) {
							continue
						}
						tried++
						if g.asBash(t, b, template, command, refused[command], without != "", env...) {
							same++
						}
					}
					t.Logf("%s: %d of %d as in bash", kind, same, tried)
					b.stop()
				})
			}
		})
	})
}

// sample is of how many rows one is tried in other settings than the first, unless
// EVERYDAY=1 asks for all. Those of go are in the first only, and costly rows in none,
// because they build the standard library once more.
const sample = 12

var (
	costly = regexp.MustCompile(`-race|GOOS=windows`)
	// needsMounts are rows that docs/enforcement.md refuses without namespaces.
	needsMounts = regexp.MustCompile(`/tmp/everyday|stat -c %a /tmp|/dev/shm|script -q|expect |pty|Pool|Queue|shared_memory|ed -s|tmux|LeakSanitizer`)
)

// TestUmaskEnds sets a umask in one command and makes a file in the next.
func TestUmaskEnds(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			g := newGround(t, who)
			b := g.open(setup{without: without})
			for _, command := range []string{"umask 077; echo >private; stat -c %a private", "umask 0; mkdir all; stat -c %a all", "echo >file; stat -c %a file"} {
				a := b.toolClient.call("execute_command", map[string]any{"command": command})
				got, _, _ := a.output()
				if want, _, _ := g.plain(g.dir, "cd $(mktemp -d); "+command); got != want {
					t.Errorf("%s: got %q, want %q", command, got, want)
				}
			}
		})
	})
}

// asBash runs a command both ways. Open says that less is refused than the table says.
func (g *ground) asBash(t *testing.T, b *box, template, command, why string, open bool, env ...string) bool {
	t.Helper()
	g.restore(template)
	stdout, stderr, code := g.plain(g.work, command, append(env, "LANG=C.UTF-8")...)
	was := fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n%s", settled(stdout), settled(stderr), code, g.remains(command))
	g.restore(template)
	a := b.toolClient.call("execute_command", map[string]any{"command": command, "timeout": 600})
	gotOut, gotErr, gotCode := a.output()
	if _, ran := a.Result.StructuredContent["exit_code"]; !ran {
		gotErr, gotCode = a.text(), -1
	}
	is := fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n%s", settled(gotOut), settled(gotErr), gotCode, g.remains(command))
	switch {
	case is == was && why != "" && !open:
		t.Errorf("%s\nworks, and docs/enforcement.md says that it is refused: %s", command, why)
	case is == was:
		return true
	case why == "":
		t.Logf("%s", command)
		compareLines(t, is, was)
		t.Logf("the result says %v", a.Result.StructuredContent["sandbox"])
	case !said.MatchString(a.text()):
		t.Errorf("%s\ndoes not say why it is refused: %.600s", command, a.text())
	}
	return false
}

// installed reports whether the machine has the programs of a row that not every one has.
func installed(command string) bool {
	for _, name := range []string{"tmux", "screen", "expect", "socat", "strace", "gdb", "ltrace", "valgrind", "vim", "ed", "gpg", "sqlite3", "rsync", "rg", "jq", "node", "npm", "g++", "zip", "nc", "go", "ex"} {
		if regexp.MustCompile(`(^|[\s;|&(])` + regexp.QuoteMeta(name) + ` `).MatchString(command) {
			if _, err := exec.LookPath(name); err != nil {
				return false
			}
		}
	}
	return true
}
