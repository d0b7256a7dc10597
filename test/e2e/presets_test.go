//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// has reports whether all of the programs are installed where every user reaches them.
func has(programs ...string) bool {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err != nil || exec.Command("setpriv", "--reuid=65534", "--clear-groups", "test", "-x", path).Run() != nil && os.Geteuid() == 0 {
			return false
		}
	}
	return true
}

// each runs commands in a new server, and fails with the first that fails.
func (g *ground) each(s setup, commands ...string) (text string) {
	g.t.Helper()
	b := g.open(s)
	defer b.stop()
	for _, command := range commands {
		o := b.call("bash", map[string]any{"command": command, "timeout": 600})
		if o.failed || o.structure["exit_code"] != nil && o.structure["exit_code"] != 0.0 {
			g.t.Errorf("%s: %s: %v", g.who.name, command, o)
		}
		text += o.text
	}
	return text
}

// TestPresetCaches does what package managers and compilers are there for, as they come:
// no network, no settings, and each time in a new server.
func TestPresetCaches(t *testing.T) {
	for _, without := range []string{"", "namespaces"} {
		t.Run("without "+without, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				t.Parallel()
				g := newGround(t, who)
				s := setup{without: without}
				if has("npm", "node") {
					g.file("x/package.json", `{"name": "x", "version": "1.0.0", "main": "i.js"}`, 0o644)
					g.file("x/i.js", "module.exports = 'from x'\n", 0o644)
					g.file("app/package.json", `{"name": "app", "version": "1.0.0", "private": true}`, 0o644)
					g.each(s, "cd x && npm pack --silent && mv x-1.0.0.tgz ../app", "cd app && npm install --no-audit ./x-1.0.0.tgz && node -p 'require(\"x\")'")
					text := g.each(s, "cd app && rm -rf node_modules && npm ci --no-audit && node -p 'require(\"x\")'", `test -d "$npm_config_cache/_cacache"`)
					if !strings.Contains(text, "from x") {
						t.Errorf("npm ci: %s", text)
					}
				}
				if has("go") {
					g.file("lib/go.mod", "module example\n\ngo 1.21\n", 0o644)
					g.file("lib/lib.go", "package lib\n\nfunc Two() int { return 2 }\n", 0o644)
					const build = "cd lib && go build -x ./... && go vet ./..."
					if text := g.each(s, build); !strings.Contains(text, "/compile") {
						t.Errorf("the first build does not compile: %s", text)
					}
					if text := g.each(s, build, "go env GOCACHE"); strings.Contains(text, "/compile") || !strings.Contains(text, g.home) {
						t.Errorf("the second build does not find the first: %s", text)
					}
					text, _ := g.run(setup{without: without, command: []string{"call", "bash", build}})
					if strings.Contains(text, "/compile") {
						t.Errorf("nor does the command line: %s", text)
					}
				}
				if exec.Command("/usr/bin/python3", "-c", "import pip, setuptools").Run() == nil {
					g.file("py/setup.py", "from setuptools import setup\nsetup(name='x', version='1.0', packages=['x'])\n", 0o644)
					g.file("py/x/__init__.py", "V = 'from x'\n", 0o644)
					if text := g.each(s, "/usr/bin/python3 -m pip install --no-build-isolation --no-index --target lib/py ./py && PYTHONPATH=lib/py /usr/bin/python3 -c 'import x; print(x.V)'"); !strings.Contains(text, "from x") {
						t.Errorf("pip install: %s", text)
					}
				}
				if left := g.left(); len(left) != 0 {
					t.Errorf("left among temporary files: %q", left)
				}
			})
		})
	}
}

// newModule puts a module of Go into what its user has downloaded, and a program that
// needs it into the working directory.
func (g *ground) newModule() {
	g.t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "m.go": "package m\n\nconst M = 1\n"} {
		w, err := z.Create("example.com/m@v1.0.0/" + name)
		must(g.t, err)
		_, err = w.Write([]byte(text))
		must(g.t, err)
	}
	must(g.t, z.Close())
	at := filepath.Join(g.dir, "proxy/example.com/m/@v")
	must(g.t, os.MkdirAll(at, 0o755))
	for name, text := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version": "v1.0.0"}`, "v1.0.0.mod": "module example.com/m\n", "v1.0.0.zip": archive.String()} {
		must(g.t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
	}
	g.file("go.mod", "module example\n\ngo 1.21\n\nrequire example.com/m v1.0.0\n", 0o644)
	g.file("a.go", "package a\n\nimport \"example.com/m\"\n\nconst A = m.M\n", 0o644)
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir, tidy.Env = g.work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "GOPROXY=file://" + filepath.Join(g.dir, "proxy"), "GONOSUMDB=*", "GOFLAGS=-mod=mod"}
	if b, err := tidy.CombinedOutput(); err != nil {
		g.t.Fatalf("%v: %s", err, b)
	}
	must(g.t, exec.Command("chown", "-R", strconv.Itoa(g.who.id), g.home, g.work).Run())
}

// TestPresetModules builds with a module that the user has downloaded: as it is where
// there is no network, and elsewhere from a directory that new ones can be put into.
func TestPresetModules(t *testing.T) {
	if !has("go") {
		t.Skip("there is no go")
	}
	eachAccount(t, func(t *testing.T, who account) {
		t.Parallel()
		g := newGround(t, who)
		g.newModule()
		for config, modules := range map[string]string{
			"": filepath.Join(g.home, "go/pkg/mod"),
			"tools: {read_file: {allowed_paths: [.]}, bash: {allowed_commands: [go, cat, echo]}}\n": filepath.Join(g.home, "go/pkg/mod"),
			"sandbox: {network: all}\n": filepath.Join(g.home, ".cache/toolserver-commands"),
		} {
			if text := g.each(setup{config: config}, "go build ./... && go env GOMODCACHE"); !strings.Contains(text, modules) {
				t.Errorf("%q: %s", config, text)
			}
		}
	})
}

// TestPresetGit has commands of git under lists of paths, with a user who has set it up.
func TestPresetGit(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		for config, works := range map[string]bool{
			"tools: {read_file: {allowed_paths: [.]}, bash: {allowed_commands: [git, cat]}}\n":                            true,
			"tools: {read_file: {allowed_paths: [.]}}\n":                                                                  true,
			"sandbox: {presets: []}\ntools: {read_file: {allowed_paths: [.]}, bash: {allowed_commands: [git, cat]}}\n":    false,
			"sandbox: {presets: [git]}\ntools: {read_file: {allowed_paths: [.]}, bash: {allowed_commands: [git, cat]}}\n": true,
		} {
			g := newGround(t, who)
			g.file(filepath.Join(g.home, ".gitconfig"), "[user]\n\tname = n\n\temail = n@example.com\n[include]\n\tpath = more/config\n[core]\n\texcludesFile = ~/more/ignored\n", 0o644)
			g.file(filepath.Join(g.home, "more/config"), "[alias]\n\tst = status --short\n", 0o644)
			g.file(filepath.Join(g.home, "more/ignored"), "*.o\n", 0o644)
			g.file(filepath.Join(g.home, "more/letter"), "dear\n", 0o644)
			g.file("a.o", "", 0o644)
			g.file("a.c", "", 0o644)
			b := g.open(setup{config: strings.Replace(config, "[.]", "["+g.work+"]", 1)})
			o := b.bash("git init -q . && git add . && git commit -qm first && git ls-files && git log --format=%an")
			if worked := !o.failed && strings.Contains(o.text, "a.c\nn"); worked != works {
				t.Errorf("%s, %q: %v", who.name, config, o)
			}
			for _, path := range []string{"~/more/letter", "$HOME/.git*config", "~/more/ignored"} {
				if o := b.bash("cat " + path); !o.failed && strings.Contains(o.text, "dear") {
					t.Errorf("%s, %q: %s: %v", who.name, config, path, o)
				}
			}
			b.stop()
		}
	})
}

// TestCommandEnvironment gives commands variables by policy. What is a reference in the
// configuration is no more shown than keys are.
func TestCommandEnvironment(t *testing.T) {
	for _, enforcement := range []string{"best_effort", "parse_only"} {
		g := newGround(t, account{"own", os.Geteuid()})
		home := filepath.Join(g.dir, "another")
		must(t, os.Mkdir(home, 0o755))
		config := "sandbox: {enforcement: " + enforcement + ", env: {GREETING: hello, KEY: \"${REGISTRY_KEY}\", HOME: " + home + "}}\n"
		b := g.open(setup{config: config, env: []string{"REGISTRY_KEY=key-of-a-registry"}})
		o := b.bash("echo $GREETING ${#KEY} $KEY; cd; pwd")
		if !strings.Contains(o.text, "hello 17 ") || strings.Contains(o.text, "key-of-a-registry") || !strings.Contains(o.text, home) {
			t.Errorf("%s: %v", enforcement, o)
		}
		b.stop()
	}
}

// TestPresetHomes has homes in which nothing can be kept, and those that commands may write.
func TestPresetHomes(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		kept := filepath.Join(g.home, ".cache/toolserver-commands")
		for _, home := range []string{"", "/nonexistent"} {
			g := *g
			g.home = home
			g.each(setup{}, "echo 1 > $XDG_CACHE_HOME/x")
		}
		for _, s := range []setup{
			{config: "tools: {write_file: {allowed_paths: [., " + g.home + "]}}\n"},
			{config: "tools: {write_file: {denied_paths: [" + g.home + "]}}\n"},
			{config: "sandbox: {enforcement: parse_only}\n"},
		} {
			g.each(s, "true")
			if _, err := os.Lstat(kept); err == nil {
				t.Errorf("%+v: kept", s)
			}
		}
		// Two servers of one directory have the same, which others cannot enter.
		one, two := g.open(setup{}), g.open(setup{})
		one.bash("echo one > $XDG_CACHE_HOME/x")
		if o := two.bash("cat $XDG_CACHE_HOME/x"); o.text != "one" {
			t.Errorf("the other server: %v", o)
		}
		one.stop()
		two.stop()
		info, err := os.Stat(kept)
		must(t, err)
		if info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v", info.Mode())
		}
		if text, _ := g.run(setup{command: []string{"check"}}); !strings.Contains(text, "caches         "+kept) || !strings.Contains(text, "presets        git, go") {
			t.Errorf("check:\n%s", text)
		}
	})
}
