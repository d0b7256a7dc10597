//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	exe := own(t, binary(t))
	for _, d := range []string{filepath.Dir(dir), filepath.Dir(exe), exe} { // of the tests' user alone, so far
		must(t, os.Chmod(d, 0o755))
	}
	g := &ground{t: t, who: who, exe: exe, dir: dir}
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
	without string   // layers the machine seems to lack, see testdata/launcher
	command []string // instead of serve --stdio
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
		must(g.t, os.WriteFile(file, []byte(fmt.Sprintf("working_directory: %s\n%s", g.work, s.config)), 0o644))
	}
	for _, v := range append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + g.temp, "TOOLSERVER_CONFIG=" + file}, s.env...) {
		argv = append(argv, "-env", v)
	}
	command := s.command
	if command == nil {
		command = []string{"serve", "--stdio"}
	}
	return append(append(argv, g.exe), command...)
}

// open starts a server.
func (g *ground) open(s setup) *box {
	g.t.Helper()
	return &box{wire: launch(g.t, g.argv(s)...), ground: g}
}

// run runs the program to its end and returns what it says.
func (g *ground) run(s setup) (text string, code int) {
	g.t.Helper()
	argv := g.argv(s)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	b, _ := cmd.CombinedOutput() // the code tells
	return string(b), cmd.ProcessState.ExitCode()
}

// box is a server with its ground.
type box struct {
	*wire
	*ground
	last int
}

// outcome is how a call ended.
type outcome struct {
	text      string
	structure map[string]any
	failed    bool
	errorType string
}

func (o outcome) String() string { return fmt.Sprintf("%t %s %.2000q", o.failed, o.errorType, o.text) }

// begin sends a call and returns its id.
func (b *box) begin(tool string, args map[string]any) string {
	b.wire.t.Helper()
	b.last++
	id := strconv.Itoa(b.last)
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	must(b.wire.t, err)
	b.send(request(id, "tools/call", string(params)))
	return id
}

func (b *box) finish(id string) outcome {
	b.wire.t.Helper()
	return b.outcome(b.answer(id))
}

func (b *box) outcome(r wireLine) (o outcome) {
	b.wire.t.Helper()
	if r.Error != nil {
		return outcome{text: r.Error.Message, failed: true, errorType: strconv.Itoa(r.Error.Code)}
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent map[string]any
		IsError           bool
	}
	must(b.wire.t, json.Unmarshal(r.Result, &result))
	o.failed, o.structure = result.IsError, result.StructuredContent
	o.errorType, _ = o.structure["error_type"].(string)
	for _, c := range result.Content {
		o.text += c.Text
	}
	return o
}

func (b *box) call(tool string, args map[string]any) outcome {
	b.wire.t.Helper()
	return b.finish(b.begin(tool, args))
}

// bash runs a command that ends soon.
func (b *box) bash(command string) outcome {
	b.wire.t.Helper()
	return b.call("bash", map[string]any{"command": command})
}

// resource reads one.
func (b *box) resource(uri string) string {
	b.wire.t.Helper()
	b.last++
	id := strconv.Itoa(b.last)
	b.send(request(id, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)))
	r := b.answer(id)
	var result struct{ Contents []struct{ Text string } }
	if r.Error != nil || json.Unmarshal(r.Result, &result) != nil || len(result.Contents) != 1 {
		b.wire.t.Fatalf("%s is %s", uri, r.Raw)
	}
	return result.Contents[0].Text
}

// stop ends the server as clients do.
func (b *box) stop() {
	b.wire.t.Helper()
	b.in.Close()
	b.end()
}

// programs are those of testdata that tests run, built when they are first needed.
var programs = struct {
	sync.Mutex
	dir   string
	built []string
}{}

// built returns the path of a program of testdata, which anybody may run.
func built(t *testing.T, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "e2e-programs-")
		must(t, err)
		must(t, os.Chmod(dir, 0o755))
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if !slices.Contains(programs.built, name) {
		cmd := exec.Command("go", "build", "-trimpath", "-o", path, "../"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		programs.built = append(programs.built, name)
	}
	return path
}

// TestMain removes the programs that tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// lines returns the lines of text that hold part.
func lines(text, part string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
