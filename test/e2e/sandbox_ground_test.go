//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// account is a user that a server runs as.
type account struct {
	name string
	id   int
}

// eachAccount runs a test as the user of the tests and, if that is root, as
// somebody without rights too.
func eachAccount(t *testing.T, f func(t *testing.T, who account)) {
	list := []account{{"own", os.Geteuid()}}
	if os.Geteuid() == 0 {
		list = []account{{"root", 0}, {"nobody", 65534}}
	}
	for _, who := range list {
		t.Run(who.name, func(t *testing.T) { f(t, who) })
	}
}

// ground is where a server works. All of it belongs to its user, so that only the
// sandbox protects it from commands.
type ground struct {
	t    *testing.T
	who  account
	exe  string // a copy of the binary, for this server alone
	dir  string // holds what follows
	work string // the working directory
	home string
	temp string // for temporary files
	out  string // a directory that policy says nothing about
}

func newGround(t *testing.T, who account) *ground {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, who: who, exe: shared(t, own(t, binary())), dir: dir}
	for _, d := range []struct {
		path *string
		name string
	}{{&g.work, "work"}, {&g.home, "home"}, {&g.temp, "temp"}, {&g.out, "out"}} {
		*d.path = filepath.Join(dir, d.name)
		must(t, os.Mkdir(*d.path, 0o755))
		must(t, os.Chown(*d.path, who.id, who.id))
	}
	t.Cleanup(func() { // what commands made unreadable would stay
		_ = exec.Command("chmod", "-R", "u+rwX", dir).Run()
	})
	return g
}

// shared lets everybody reach a file of a test, and run it, and returns it.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir := filepath.Dir(path)
	for _, p := range []string{filepath.Dir(dir), dir, path} { // the first two are of the tests' user alone
		must(t, os.Chmod(p, 0o755))
	}
	return path
}

// file makes a file of the server's user, with the directories it takes.
func (g *ground) file(path, content string, mode os.FileMode) string {
	g.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.work, path)
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if err := os.Mkdir(dir, 0o755); err == nil {
			defer func() { must(g.t, os.Chown(dir, g.who.id, g.who.id)) }()
		} else if os.IsExist(err) {
			break
		}
	}
	must(g.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(g.t, os.WriteFile(path, []byte(content), 0o600))
	must(g.t, os.Chown(path, g.who.id, g.who.id))
	must(g.t, os.Chmod(path, mode))
	return path
}

// setup is how a server is started.
type setup struct {
	config  string   // text of the configuration
	file    string   // where it is, if not beside the working directory
	env     []string // besides PATH, HOME and TMPDIR
	without string   // layers the machine seems to lack, see test/launcher
	command []string // instead of serve --stdio
}

// configure replaces a configuration as editors do.
func (g *ground) configure(file, text string) {
	g.t.Helper()
	must(g.t, os.WriteFile(file+".new", []byte("working_directory: "+g.work+"\n"+text), 0o644))
	must(g.t, os.Rename(file+".new", file))
}

// argv returns what starts a server.
func (g *ground) argv(s setup) []string {
	g.t.Helper()
	argv := []string{built(g.t, "launcher"), "-without", s.without}
	if g.who.id != os.Geteuid() {
		argv = append(argv, "-user", strconv.Itoa(g.who.id))
	}
	file := s.file
	if file == "" {
		file = filepath.Join(g.dir, "config.yaml")
		g.configure(file, s.config)
	}
	for _, v := range append([]string{"PATH=" + os.Getenv("PATH") + ":" + filepath.Dir(argv[0]), "HOME=" + g.home, "TMPDIR=" + g.temp, "TOOLSERVER_CONFIG=" + file}, s.env...) {
		argv = append(argv, "-env", v)
	}
	command := s.command
	if command == nil {
		command = []string{"serve", "--stdio"}
	}
	return append(append(argv, g.exe), command...)
}
