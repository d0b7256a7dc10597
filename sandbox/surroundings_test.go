//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/process"
)

// newHomes makes a home directory with files, and a workspace.
func newHomes(t *testing.T, files map[string]string) (home, work string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	home, work = filepath.Join(dir, "home"), filepath.Join(dir, "work")
	if err = errors.Join(err, os.Mkdir(home, 0o755), os.Mkdir(work, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.ReplaceAll(text, "WORK", work)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	return home, work
}

func TestPresets(t *testing.T) {
	_, work := newHomes(t, nil)
	bash := map[string]ToolPolicy{"bash": {AllowedCommands: command.Rules("git")}}
	for _, test := range []struct {
		presets []string
		tools   map[string]ToolPolicy
		want    string
	}{
		{nil, bash, "git"},
		{[]string{}, nil, ""},
		{[]string{"node"}, bash, "node"},
	} {
		c := newSandbox(t, Policy{WorkingDirectory: work, Tools: test.tools, Settings: Settings{Presets: test.presets}}).commands["bash"]
		if got := strings.Join(c.around().presets, " "); got != test.want {
			t.Errorf("%q: got %q, want %q", test.presets, got, test.want)
		}
	}
}

func TestCacheVariables(t *testing.T) {
	module := map[string]string{"go/pkg/mod/cache/lock": "", ".config/go/env": "GOFLAGS=-v\nGOPROXY=https://proxy.example,off\n"}
	for _, test := range []struct {
		name     string
		settings Settings
		files    map[string]string
		write    []string // ~ is the home directory
		want     map[string]string
	}{
		{"default", Settings{}, nil, nil, map[string]string{
			"XDG_CACHE_HOME": "KEPT/cache", "npm_config_cache": "KEPT/npm", "GOMODCACHE": "KEPT/go-pkg-mod", "GOPROXY": "", "CARGO_HOME": "KEPT/cargo-registry"}},
		{"modules of the user, without network", Settings{}, module, nil, map[string]string{"GOMODCACHE": "", "GOPROXY": "", "npm_config_cache": "KEPT/npm"}},
		{"modules of the user, with network", Settings{Network: Network{Reach: "all"}}, module, nil, map[string]string{
			"GOMODCACHE": "KEPT/go-pkg-mod", "GOPROXY": "file://HOME/go/pkg/mod/cache/download,https://proxy.example,off"}},
		{"no presets", Settings{Presets: []string{}}, nil, nil, map[string]string{"XDG_CACHE_HOME": "KEPT/cache", "npm_config_cache": ""}},
		{"set", Settings{Env: map[string]string{"npm_config_cache": "/x", "TMPDIR": "/y", "A": "b"}}, nil, nil, map[string]string{"npm_config_cache": "/x", "TMPDIR": "/y", "A": "b"}},
		{"parse_only", Settings{Enforcement: EnforceParseOnly, Env: map[string]string{"A": "b"}}, nil, nil, map[string]string{"A": "b", "XDG_CACHE_HOME": ""}},
		// What commands may write is theirs; where they could replace the directory, nothing is kept.
		{"writable", Settings{}, nil, []string{"~/.cache", "~/.npm"}, map[string]string{
			"XDG_CACHE_HOME": "", "npm_config_cache": "", "CARGO_HOME": "SCRATCH/cargo-registry"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			home, work := newHomes(t, test.files)
			p := Policy{WorkingDirectory: work, Settings: test.settings, Tools: map[string]ToolPolicy{}}
			if test.write != nil {
				write := []string{work}
				for _, path := range test.write {
					write = append(write, strings.Replace(path, "~", home, 1))
				}
				p.Tools["write_file"] = ToolPolicy{AllowedPaths: write}
			}
			c := newSandbox(t, p).commands["bash"]
			for name, want := range test.want {
				want = strings.NewReplacer("KEPT", c.around().caches, "SCRATCH", c.kernel.scratch.Path(), "HOME", home).Replace(want)
				if got := c.around().lookup(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			kept := strings.HasPrefix(c.around().caches, filepath.Join(home, ".cache", "toolserver-commands")+"/")
			if kept != (test.write == nil && test.settings.Enforcement == "") {
				t.Errorf("caches in %q", c.around().caches)
			}
		})
	}
}

// TestSurroundingsLate has nothing looked up for commands before there is one: a server
// answers its first request sooner.
func TestSurroundingsLate(t *testing.T) {
	_, work := newHomes(t, nil)
	c := newSandbox(t, Policy{WorkingDirectory: work}).commands["bash"]
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("PATH", "/late")
	if got := c.kernel.scratch.Path(); filepath.Dir(got) != temp {
		t.Errorf("temporary files are in %s, which was found before", got)
	}
	if got := c.around().lookup("PATH"); got != "/late" {
		t.Errorf("PATH is %s, which was found before", got)
	}
}

// TestBesideSecrets has git told of secrets while there are any.
func TestBesideSecrets(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings Settings
		files    map[string]string // in the working directory
		want     string
	}{
		{"none", Settings{}, map[string]string{".env.example": ""}, ""},
		{"one", Settings{}, map[string]string{".env": ""}, "3"},
		{"deep", Settings{}, map[string]string{"a/b/.env": ""}, "3"},
		{"no preset", Settings{Presets: []string{"go"}}, map[string]string{".env": ""}, ""},
		{"parse_only", Settings{Enforcement: EnforceParseOnly}, map[string]string{".env": ""}, ""},
		{"own", Settings{Env: map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b"}}, map[string]string{".env": ""}, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, work := newHomes(t, map[string]string{".ssh/id_rsa": ""})
			for name, text := range test.files {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755), os.WriteFile(filepath.Join(work, name), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			c := newSandbox(t, Policy{WorkingDirectory: work, Settings: test.settings}).commands["bash"]
			given := func(set map[string]string) ([]string, error) {
				env, err := c.environment(set)
				if c.confinement != nil { // as a plan does
					c.protected().find()
				}
				return c.besideSecrets(env), err
			}
			for _, set := range []map[string]string{nil, {"A": "b"}} {
				env, err := given(set)
				if got := process.LookupEnv(env, "GIT_CONFIG_COUNT"); err != nil || got != test.want || process.LookupEnv(env, "A") != set["A"] {
					t.Errorf("got %q, want %q (%v)", got, test.want, err)
				}
			}
			if env, err := given(map[string]string{"GIT_CONFIG_COUNT": "7"}); err != nil || process.LookupEnv(env, "GIT_CONFIG_COUNT") != "7" || process.LookupEnv(env, "GIT_CONFIG_KEY_2") != "" {
				t.Errorf("got %q, %v", env, err)
			}
		})
	}
}

func TestReadable(t *testing.T) {
	home, work := newHomes(t, map[string]string{
		".gitconfig":        "[include]\n\tpath = git/more\n[core]\n\tExcludesFile = \"~/ignored\"\n[http]\n\tcookieFile = ~/cookies\n[include]\n\tpath = WORK/theirs\n\tpath = none\n",
		"git/more":          "[commit]\n template=message\n[include]\npath=more\n",
		"git/message":       "",
		"ignored":           "",
		"cookies":           "",
		"secret":            "",
		".config/git/token": "",
	})
	if err := os.WriteFile(filepath.Join(work, "theirs"), []byte("[core]\n\texcludesFile = "+home+"/secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := newSandbox(t, Policy{WorkingDirectory: work, Settings: Settings{Presets: []string{"git"}}, Tools: map[string]ToolPolicy{"read_file": {AllowedPaths: []string{work}}}}).commands["bash"]
	want := ".config/git/attributes .config/git/config .config/git/ignore .gitconfig git/message git/more ignored" // and what lies in work is read there
	got := strings.Fields(strings.ReplaceAll(strings.Join(c.scope().readable(), " "), home+"/", ""))
	slices.Sort(got)
	wanted := strings.Fields(want)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("got %q", got)
	}
}

// TestEnvironmentIsJudged looks whether the check of the text knows what commands get.
func TestEnvironmentIsJudged(t *testing.T) {
	home, work := newHomes(t, map[string]string{"other/.keep": "", "bin/tool": "#!/bin/sh\n", "a": ""})
	if err := os.Chmod(filepath.Join(home, "bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(home, "other")
	c := newSandbox(t, Policy{
		WorkingDirectory: work, Settings: Settings{Env: map[string]string{"HOME": other, "TMPDIR": work + "/tmp", "PATH": home + "/bin:" + os.Getenv("PATH"), "word": "rm"}},
		Tools: map[string]ToolPolicy{"bash": {AllowedCommands: command.Rules("tool", "cat", "echo")}, "read_file": {AllowedPaths: []string{work, other}}},
	}).commands["bash"]
	for text, allowed := range map[string]bool{
		"tool": true, "cat ~/x": true, "cat $TMPDIR/x": true, "cat " + home + "/a": false, "echo 1 > $TMPDIR/x": true,
		"echo $word": true, "[ -e x ] && word=1; $word x": false,
	} {
		v, _, err := c.Decide(CommandRequest{Command: text})
		if err != nil || v.Allowed != allowed {
			t.Errorf("%s: %+v %v", text, v, err)
		}
	}
}

func TestCheckVariable(t *testing.T) {
	for name, fine := range map[string]bool{
		"NODE_ENV": true, "_x9": true, "LD_LIBRARY_PATH": true, "PATH": true, "HOME": false, "TMPDIR": false,
		"": false, "9": false, "a-b": false, "A=B": false, "BASH_ENV": false, "ENV": false, "SHELLOPTS": false, "BASH_FUNC_ls%%": false,
	} {
		if err := CheckVariable(name, "relative"); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckVariable("HOME", "/home"); err != nil {
		t.Error(err)
	}
}
