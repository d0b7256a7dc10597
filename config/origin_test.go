//go:build linux

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/config"
)

// desk is a user with a home directory, a project in it and a place outside.
type desk struct {
	t                              *testing.T
	home, project, outside, state  string
	workspaceFile, userFile, store string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	d := &desk{t: t, home: filepath.Join(dir, "home"), outside: filepath.Join(dir, "outside")}
	d.project = filepath.Join(d.home, "project")
	d.workspaceFile = filepath.Join(d.project, "toolserver.yaml")
	d.userFile = filepath.Join(d.home, ".config", "toolserver", "config.yaml")
	d.state = filepath.Join(d.home, ".local", "state", "toolserver")
	d.store = filepath.Join(d.state, "trust", "trusted.json")
	must(t, os.MkdirAll(d.project, 0o755))
	must(t, os.MkdirAll(d.outside, 0o755))
	t.Setenv("HOME", d.home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "TOOLSERVER_CONFIG"} {
		t.Setenv(name, "")
	}
	t.Chdir(d.project)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) write(path, text string) {
	d.t.Helper()
	must(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(d.t, os.WriteFile(path, []byte(text), 0o600))
}

// loads checks which configuration is in force, by its name, and why.
func (d *desk) loads(name, source string, unused ...string) *config.Loaded {
	d.t.Helper()
	return d.loadsIn(nil, name, source, unused...)
}

func (d *desk) loadsIn(dirs []string, name, source string, unused ...string) *config.Loaded {
	d.t.Helper()
	l, err := config.Load(config.Overrides{Directories: dirs})
	must(d.t, err)
	var left []string
	for _, u := range l.Unused {
		left = append(left, u.File)
	}
	if l.Server.Name != name || l.Source != source || !slices.Equal(left, unused) {
		d.t.Errorf("%s by %s without %v, want %s by %s without %v", l.Server.Name, l.Source, l.Unused, name, source, unused)
	}
	return l
}

func (d *desk) trust(file string) {
	d.t.Helper()
	_, _, err := config.TrustContent(file, nil)
	must(d.t, err)
}

func called(name string) string { return "server: {name: " + name + "}\n" }

// TestFind checks the order in which files are looked for, and which are obeyed.
func TestFind(t *testing.T) {
	d := newDesk(t)
	d.loads("toolserver", config.OriginDefaults)
	d.write(d.userFile, called("mine"))
	d.loads("mine", config.OriginUser)
	d.write(d.workspaceFile, called("here"))
	d.loads("mine", config.OriginUser, d.workspaceFile)
	d.trust("toolserver.yaml")
	d.loads("here", config.OriginTrusted)
	d.write("env.yaml", called("env"))
	t.Setenv("TOOLSERVER_CONFIG", "env.yaml")
	if l := d.loads("env", config.OriginNamed); l.By != "$TOOLSERVER_CONFIG" {
		t.Errorf("named by %s", l.By)
	}
	l, err := config.Load(config.Overrides{File: d.workspaceFile})
	if err != nil || l.Source != config.OriginNamed || l.By != "--config" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestTrust has a content trusted, and nothing else.
func TestTrust(t *testing.T) {
	d := newDesk(t)
	first, second := called("first"), called("second")
	d.write(d.workspaceFile, first)
	d.trust("toolserver.yaml")
	d.trust("toolserver.yaml") // twice is once
	for _, file := range []string{d.state, filepath.Dir(d.store), d.store} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	d.write(d.workspaceFile, second)
	if l := d.loads("toolserver", config.OriginDefaults, d.workspaceFile); !strings.Contains(l.Unused[0].Error(), "its content is not what was trusted") {
		t.Errorf("%v", l.Unused)
	}
	d.trust("./toolserver.yaml")
	d.loads("second", config.OriginTrusted)
	d.write(d.workspaceFile, first) // as when branches are switched
	d.loads("first", config.OriginTrusted)
	all, err := config.TrustedContents()
	if err != nil || len(all) != 2 || all[0].File != d.workspaceFile || all[0].SHA256 == all[1].SHA256 {
		t.Errorf("%+v, %v", all, err)
	}
	// The same content elsewhere means something else.
	elsewhere := filepath.Join(d.outside, "toolserver.yaml")
	d.write(elsewhere, first)
	t.Chdir(d.outside)
	d.loads("toolserver", config.OriginDefaults, elsewhere)
	t.Chdir(d.project)
	if was, err := config.Untrust("toolserver.yaml"); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := config.Untrust("toolserver.yaml"); was || err != nil {
		t.Error(was, err)
	}
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)

	for file, want := range map[string]string{"other.yaml": "needs no trust", "toolserver.yaml": "2:1: unknown key", "none/toolserver.yaml": "no such file"} {
		if file != "none/toolserver.yaml" {
			d.write(file, called("x")+"x: 1\n")
		}
		if _, _, err := config.TrustContent(file, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	t.Setenv("HOME", "")
	if _, _, err := config.TrustContent("toolserver.yaml", nil); err == nil {
		t.Error("trust is kept nowhere")
	}
}

// TestTrustIsShared has several processes trust at the same time.
func TestTrustIsShared(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		file := filepath.Join(d.outside, name, "toolserver.yaml")
		d.write(file, called(name))
		all.Go(func() {
			if _, _, err := config.TrustContent(file, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := config.TrustedContents(); err != nil || len(list) != 6 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestTrustLinks has links lead to a file that is looked for.
func TestTrustLinks(t *testing.T) {
	d := newDesk(t)
	real := filepath.Join(d.project, "conf", "real.yaml")
	d.write(real, called("real"))
	must(t, os.Symlink("conf/real.yaml", d.workspaceFile))
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	d.trust("toolserver.yaml")
	l := d.loads("real", config.OriginTrusted)
	must(t, os.Remove(d.workspaceFile))
	must(t, os.WriteFile(d.workspaceFile, []byte(called("evil")), 0o600))
	again, err := l.Again(nil) // of what the link led to
	if err != nil || again.Server.Name != "real" {
		t.Errorf("%+v, %v", again, err)
	}
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	// A project by another way is the same project.
	must(t, os.Symlink(d.project, filepath.Join(d.outside, "way")))
	d.trust(filepath.Join(d.outside, "way", "toolserver.yaml"))
	d.loads("evil", config.OriginTrusted)
	// The user's directory of configurations may be kept in a project.
	dotfiles := filepath.Join(d.project, "dotfiles")
	d.write(filepath.Join(dotfiles, "toolserver", "config.yaml"), called("dotfiles"))
	must(t, os.Symlink(dotfiles, filepath.Join(d.outside, "two")))
	must(t, os.Symlink("../outside/two", filepath.Join(d.home, ".config")))
	must(t, os.Remove(d.workspaceFile))
	d.loads("toolserver", config.OriginDefaults, d.userFile)
	t.Chdir(d.outside) // which has one of the links
	d.loads("toolserver", config.OriginDefaults, d.userFile)
	d.loadsIn([]string{filepath.Join(d.project, "conf")}, "dotfiles", config.OriginUser)
	d.trust(d.userFile)
	d.loads("dotfiles", config.OriginTrusted)
}

// TestUserFile obeys the user's configuration unless tools may write it.
func TestUserFile(t *testing.T) {
	d := newDesk(t)
	d.write(d.userFile, called("mine"))
	d.loads("mine", config.OriginUser)
	for _, dirs := range [][]string{{d.home}, {d.project, d.home}, {"..", d.outside}, {filepath.Dir(d.userFile)}, {"/"}} {
		d.loadsIn(dirs, "toolserver", config.OriginDefaults, d.userFile)
	}
	d.loadsIn([]string{d.outside, d.project}, "mine", config.OriginUser)
	t.Chdir(d.home)
	d.loads("toolserver", config.OriginDefaults, d.userFile)
	d.loadsIn([]string{d.outside}, "mine", config.OriginUser)
	t.Chdir(d.project)
	for _, text := range []string{"roots: [~]\n", "working_directory: ~\n", "tools: {write_file: {allowed_paths: [~/.config]}}\n", "tools: {append_file: {allowed_paths: [~/.config/toolserver/config.yaml]}}\n"} {
		d.write(d.userFile, called("mine")+text)
		d.loads("toolserver", config.OriginDefaults, d.userFile)
		d.trust(d.userFile)
		d.loads("mine", config.OriginTrusted)
	}
}

// TestUserFileWasExposed has one server write the configuration of the next, which
// works elsewhere.
func TestUserFileWasExposed(t *testing.T) {
	for _, tt := range []struct{ before, name, source string }{
		{"", "toolserver", config.OriginDefaults}, {called("mine"), "mine", config.OriginUser},
	} {
		d := newDesk(t)
		if tt.before != "" {
			d.write(d.userFile, tt.before)
		}
		must(t, d.loads(tt.name, tt.source).Prepare())
		if _, err := os.Stat(d.state); err == nil {
			t.Error("something is kept although nothing is exposed")
		}
		l, err := config.Load(config.Overrides{Directories: []string{d.home}})
		must(t, err)
		must(t, l.Prepare())
		must(t, l.Prepare())
		d.loads(tt.name, tt.source)
		d.write(d.userFile, called("planted"))
		d.loads("toolserver", config.OriginDefaults, d.userFile)
		must(t, l.Prepare()) // keeps what was there at first
		d.loads("toolserver", config.OriginDefaults, d.userFile)
		d.trust(d.userFile)
		d.loads("planted", config.OriginTrusted)
	}
}

// TestOdd has what is found be no file to read, which stops no server.
func TestOdd(t *testing.T) {
	d := newDesk(t)
	must(t, syscall.Mkfifo(d.workspaceFile, 0o600))
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	if _, _, err := config.TrustContent("toolserver.yaml", nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a FIFO is trusted: %v", err)
	}
	must(t, os.Remove(d.workspaceFile))
	must(t, os.Mkdir(d.workspaceFile, 0o755))
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	must(t, os.Remove(d.workspaceFile))
	must(t, os.Symlink("toolserver.yaml", d.workspaceFile))
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	must(t, os.Remove(d.workspaceFile))
	d.write(d.workspaceFile, "{ no: yaml\n")
	d.loads("toolserver", config.OriginDefaults, d.workspaceFile)
	must(t, os.Remove(d.workspaceFile))
	d.write(d.userFile, "{ no: yaml\n")
	if _, err := config.Load(config.Overrides{}); err == nil {
		t.Error("the user's configuration is left out, which may open what it closes")
	}
	d.write(d.userFile, called("mine"))
	d.write(d.store, "{}") // in directories that everybody may list
	must(t, os.Chmod(d.state, 0o755))
	if _, err := config.Load(config.Overrides{}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
	d.write(d.workspaceFile, called("here"))
	if _, _, err := config.TrustContent("toolserver.yaml", nil); err == nil {
		t.Error("trust is kept where others may read and write")
	}
}

// TestTrustAgain reads a trusted file anew.
func TestTrustAgain(t *testing.T) {
	d := newDesk(t)
	d.write(d.workspaceFile, called("first"))
	d.trust("toolserver.yaml")
	l := d.loads("first", config.OriginTrusted)
	d.write(d.workspaceFile, called("second"))
	if _, err := l.Again(nil); !untrusted(err) {
		t.Errorf("%v", err)
	}
	d.trust("toolserver.yaml")
	l, err := l.Again(nil)
	if err != nil || l.Server.Name != "second" {
		t.Fatalf("%+v, %v", l, err)
	}
	_, err = config.Untrust("toolserver.yaml")
	must(t, err)
	if _, err := l.Again(nil); !untrusted(err) {
		t.Errorf("%v", err)
	}
}

func untrusted(err error) bool {
	_, ok := errors.AsType[*config.Unused](err)
	return ok
}

func TestChanges(t *testing.T) {
	l, err := load(t, `
sandbox: {network: all, enforcement: best_effort, protect_default: false}
tools:
  write_file: {allowed_paths: [/]}
  bash: {allowed_commands: [ls, {name: go, args_deny: [-exec]}], timeout: 30}
users: {ann: {groups: [staff]}}
anthropic: {api_key: "very-secret-key"}
`)
	must(t, err)
	got := strings.Join(l.Changes(), "\n")
	for _, want := range []string{"sandbox.network: all\n", "sandbox.protect_default: false\n", "tools.write_file.allowed_paths: [/]\n", "tools.bash.allowed_commands: [ls, {name: go, args_deny: [-exec]", "users.ann.groups: [staff]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, not := range []string{"enforcement", "very-secret", "null"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
}
