// Package windows tests the server's program for Windows from outside, under wine.
// test/windows/run makes what it needs and runs it; TOOLSERVER_EXE names the program and
// CHILD_EXE that of the directory child.
package windows

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// patience is how long a test waits for what should come at once.
const patience = 60 * time.Second

// TestMain runs nothing where TOOLSERVER_EXE names no program.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLSERVER_EXE") == "" {
		fmt.Println("tests of the program for Windows not run: make test-windows runs them")
		return
	}
	os.Exit(m.Run())
}

// checks are all that is tested, and what wine does not let us test.
var checks = []struct {
	name string
	run  func(t *testing.T)
	skip string
}{
	{name: "initialize, list, files and commands over stdio", run: checkTools},
	{name: "paths that are other names of files", run: checkPaths},
	{name: "lists of paths and commands", run: checkPolicy},
	{name: "a command's processes end with it", run: checkTree},
	{name: "the end of the input ends the server", run: checkEOF},
	{name: "the end of the parent ends the server", run: checkParent},
	{name: "an MCP server that is a batch file", run: checkBatch},
	{name: "HTTP requires the token", run: checkHTTP},
	{name: "a temporary file that is left is logged", run: checkLeft},
	{name: "check and descriptions name what holds commands", run: checkSaid},
	{name: "install writes the file that Claude Desktop reads in its package", run: checkInstall},
	{name: "a new file leaves no temporary file", skip: "os.Root.Remove fails in wine 8: Invalid function"},
	{name: "a junction is followed and judged by where it leads", skip: "wine 8 makes no junctions: mklink /J fails"},
	{name: "a command that times out gets Ctrl+Break first", skip: "programs have no console without a window system"},
	{name: "a program in the working directory is not found by its name", skip: "cmd.exe of wine 8 ignores NoDefaultCurrentDirectoryInExePath"},
	{name: "output in another code page", skip: "without a console the code page of cmd.exe is not that of a console"},
}

func TestWindows(t *testing.T) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if c.skip != "" {
				t.Skip(c.skip)
			}
			t.Parallel()
			c.run(t)
		})
	}
}

// server is the program over stdio, with a directory of its own on drive C.
type server struct {
	t         *testing.T
	dir       string // as Windows spells it
	unix      string // as Linux does
	mcp       *mcpclient.Client
	in, out   *os.File
	log       *os.File
	cmd       *exec.Cmd
	waited    chan struct{}
	waitError error
}

// newDir makes a directory on drive C.
func newDir(t *testing.T) (unix, windows string) {
	unix, err := os.MkdirTemp(filepath.Join(os.Getenv("WINEPREFIX"), "drive_c"), "test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(unix) })
	return unix, `C:\` + filepath.Base(unix)
}

func exe(t *testing.T, variable string) string {
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s names no program; make test-windows builds it", variable)
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}

// serve starts the program with a configuration, in which DIR is its directory. The
// arguments in front, if any, start another program that starts it.
func serve(t *testing.T, config string, front ...string) *server {
	s := &server{t: t, waited: make(chan struct{})}
	s.unix, s.dir = newDir(t)
	file, name := newDir(t)
	config = strings.ReplaceAll("working_directory: DIR\n"+config, "DIR", strings.ReplaceAll(s.dir, `\`, "/"))
	must(t, os.WriteFile(filepath.Join(file, "c.yaml"), []byte(config), 0o600))
	var err error
	s.log, err = os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	theirs, ours, err := os.Pipe()
	must(t, err)
	out, stdout, err := os.Pipe()
	must(t, err)
	s.in, s.out = ours, out
	s.cmd = exec.Command("wine", slices.Concat(front, []string{exe(t, "TOOLSERVER_EXE"), "serve", "--stdio", "--config", name + `\c.yaml`})...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, stdout, s.log
	must(t, s.cmd.Start())
	must(t, errors.Join(theirs.Close(), stdout.Close()))
	go func() { s.waitError = s.cmd.Wait(); close(s.waited) }()
	t.Cleanup(func() {
		if s.mcp != nil {
			s.mcp.Close()
		}
		s.in.Close()
		select { // it may still write what a test has seen enough of
		case <-s.waited:
		case <-time.After(patience):
			t.Error("the server does not end")
			s.cmd.Process.Kill()
		}
		if t.Failed() {
			t.Logf("log: %.4000s", s.logged())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.mcp, err = mcpclient.Connect(ctx, s, mcpclient.Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxMessageBytes: 1 << 20, ConnectTimeout: patience})
	must(t, err)
	return s
}

func (s *server) Read(b []byte) (int, error)  { return s.out.Read(b) }
func (s *server) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s *server) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

func (s *server) logged() string {
	data, err := os.ReadFile(s.log.Name())
	must(s.t, err)
	return string(data)
}

type arguments map[string]any

// result is what a tool answers.
type result struct {
	Content []struct{ Text string }
	Data    map[string]any `json:"structuredContent"`
	IsError bool
}

func (r result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// call calls a tool. A protocol error is a result that is its message.
func (s *server) call(tool string, args arguments) (r result) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	raw, err := s.mcp.CallTool(ctx, tool, args, nil)
	if err != nil {
		r.IsError = true
		r.Content = append(r.Content, struct{ Text string }{err.Error()})
		return r
	}
	must(s.t, json.Unmarshal(raw, &r))
	return r
}

// row is a call, and what its answer is.
type row struct {
	tool    string
	args    arguments
	failed  bool
	says    string // in the text, between two |
	written string // NAME=content of a file there is afterwards
}

func (s *server) rows(rows []row) {
	s.t.Helper()
	for _, c := range rows {
		r := s.call(c.tool, c.args)
		if r.IsError != c.failed {
			s.t.Errorf("%s %v: failed is %v: %s", c.tool, c.args, r.IsError, r.text())
		}
		for part := range strings.SplitSeq(c.says, "|") {
			if !strings.Contains(r.text(), part) {
				s.t.Errorf("%s %v does not say %q: %s", c.tool, c.args, part, r.text())
			}
		}
		if name, want, ok := strings.Cut(c.written, "="); ok {
			if got, err := os.ReadFile(filepath.Join(s.unix, name)); string(got) != want {
				s.t.Errorf("%s %v: %s has %q: %v", c.tool, c.args, name, got, err)
			}
		}
	}
}

func checkTools(t *testing.T) {
	s := serve(t, "")
	listed, err := s.mcp.List(t.Context(), "tools/list")
	if must(t, err); len(listed) < 15 {
		t.Errorf("%d tools", len(listed))
	}
	s.rows([]row{
		{tool: "write_file", args: arguments{"path": `sub\a b.txt`, "content": "one\ntwo é\n"}, says: "Successfully wrote 11 bytes", written: "sub/a b.txt=one\ntwo é\n"},
		{tool: "read_file", args: arguments{"path": `sub/A B.TXT`}, says: "one\ntwo é"},
		{tool: "read_file", args: arguments{"path": s.dir + `\sub\a b.txt`, "offset": 2}, says: "two é"},
		{tool: "edit_file", args: arguments{"path": `sub\a b.txt`, "edits": []arguments{{"old_text": "two", "new_text": "three"}}}, says: "+three é", written: "sub/a b.txt=one\nthree é\n"},
		{tool: "grep", args: arguments{"pattern": "thr.e", "path": "."}, says: "three é"},
		{tool: "list_directory", args: arguments{"path": "."}, says: "sub"},
		{tool: "read_file", args: arguments{"path": "none.txt"}, failed: true, says: "does not exist"},
		{tool: "bash", args: arguments{"command": `echo a & echo "b c" & cd`}, says: "a |\"b c\"|" + s.dir},
		{tool: "bash", args: arguments{"command": "exit 3"}, failed: true, says: "[exit code 3]"},
		{tool: "bash", args: arguments{"command": "echo one\necho two"}, failed: true, says: "several lines"},
		{tool: "bash", args: arguments{"command": "cd", "working_dir": "sub"}, says: s.dir + `\sub`},
		{tool: "execute_command", args: arguments{"command": `echo out& echo err 1>&2& exit 4`}, failed: true, says: `"exit_code":4|"stdout":"out|"stderr":"err`},
		{tool: "execute_command", args: arguments{"command": "echo %X%", "env": arguments{"X": "y z"}}, says: `y z`},
		{tool: "execute_command", args: arguments{"command": "cmd.exe", "env": arguments{"COMSPEC": "none.exe"}}, says: `"exit_code":0`},
		{tool: "execute_command", args: arguments{"command": "for /l %i in (1,1,500) do @echo " + strings.Repeat("1234567890", 20)}, says: `"truncated":true`},
	})
}

func checkPaths(t *testing.T) {
	s := serve(t, "tools: {write_file: {denied_paths: [Secret]}, read_file: {denied_paths: [Secret, '*.KEY']}}\n")
	must(t, os.MkdirAll(filepath.Join(s.unix, "Secret"), 0o755))
	for _, name := range []string{"Secret/a.txt", "open.txt", "x.key", ".env", "Long Name File.txt"} {
		must(t, os.WriteFile(filepath.Join(s.unix, name), []byte("content"), 0o644))
	}
	for _, c := range []struct{ reason, paths string }{
		{"", `open.txt¦OPEN.TXT¦.\open.txt¦./open.txt¦Secret\..\open.txt¦` + s.dir + `\open.txt¦` + strings.ToLower(s.dir) + `/Open.txt¦long name file.TXT`},
		{"denied by the rule", `Secret\a.txt¦SECRET\A.TXT¦secret/a.txt¦.\.\sEcReT\a.txt¦` + s.dir + `\secret\a.txt¦` + strings.ToUpper(s.dir) + `/SECRET/a.txt¦X.KEY¦x.Key¦sub\..\Secret\a.txt`},
		{"protected", `.env¦.ENV¦.\.Env`},
		{"outside the allowed paths", `..\x¦../x¦C:\windows\win.ini¦c:/WINDOWS/win.ini¦` + s.dir + `\..\x¦` + s.dir + `x\a¦Z:\etc\passwd`},
		{"alternate data stream", `open.txt:x¦open.txt::$DATA¦Secret:x\a.txt¦.env::$DATA`},
		{"ends in a dot or a space", `open.txt.¦open.txt ¦Secret.\a.txt¦.env.¦.env `},
		{"name of a device", `NUL¦nul.txt¦CON¦COM1¦sub\aux¦LPT1.txt`},
		{"short (8.3) name", `LONGNA~1.TXT¦SECRE~1\a.txt¦ENV~1`},
		{"network or device path", `\\localhost\c$\x¦//localhost/c$/x¦\\?\` + s.dir + `\open.txt¦\\.\` + s.dir + `\open.txt¦\\.\pipe\x¦//?/C:/x`},
		{"current directory of a drive", `C:open.txt¦c:..\x`},
		{"current drive", `\windows\win.ini¦/windows/win.ini`},
	} {
		for path := range strings.SplitSeq(c.paths, "¦") {
			for _, call := range []row{{tool: "read_file", args: arguments{"path": path}}, {tool: "write_file", args: arguments{"path": path, "content": "content"}}} {
				if call.tool == "write_file" && strings.EqualFold(path, "x.key") {
					continue
				}
				call.failed, call.says = c.reason != "", c.reason
				s.rows([]row{call})
			}
		}
	}
}

func checkPolicy(t *testing.T) {
	s := serve(t, "tools: {execute_command: {allowed_commands: [hostname, echo], denied_commands: [del]}}\n")
	s.rows([]row{
		{tool: "bash", args: arguments{"command": "echo a b"}, says: "a b"},
		{tool: "bash", args: arguments{"command": "del x"}, failed: true, says: "denied by policy"},
		{tool: "bash", args: arguments{"command": "echo a & del x"}, failed: true, says: "denied by policy"},
		{tool: "bash", args: arguments{"command": "echo %COMSPEC%"}, failed: true, says: "plain words"},
		{tool: "execute_command", args: arguments{"command": "hostname", "env": arguments{"PATHEXT": ".BAT"}}, failed: true, says: "no variables"},
	})
}

// witness sees the end of processes: they hold connections to it.
type witness struct {
	*testing.T
	net.Listener
}

func newWitness(t *testing.T) witness {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return witness{t, l}
}

// came returns a process that has started.
func (w witness) came() net.Conn {
	w.Helper()
	must(w.T, w.Listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	conn, err := w.Accept()
	must(w.T, err)
	w.Cleanup(func() { conn.Close() })
	return conn
}

// ended waits for the end of a process.
func (w witness) ended(what string, conn net.Conn) {
	w.Helper()
	must(w.T, conn.SetReadDeadline(time.Now().Add(patience)))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		w.Errorf("%s survives", what)
	}
}

func checkTree(t *testing.T) {
	s, w := serve(t, ""), newWitness(t)
	child := exe(t, "CHILD_EXE") + " " + w.Addr().String()
	answers := make(chan result, 1)
	go func() { answers <- s.call("execute_command", arguments{"command": child, "timeout": 2}) }()
	conn := w.came()
	if r := <-answers; r.Data["timed_out"] != true && !strings.Contains(r.text(), "timed out") {
		t.Errorf("a command that takes too long: %+v", r)
	}
	w.ended("a command that timed out", conn)

	go func() { answers <- s.call("bash", arguments{"command": child + " leave"}) }()
	first, second := w.came(), w.came()
	_, err := first.Write([]byte{1})
	must(t, err)
	if r := <-answers; r.IsError {
		t.Errorf("a command that leaves a process: %s", r.text())
	}
	w.ended("what a command has left", second)

	r := s.call("bash", arguments{"command": child, "background": true})
	conn = w.came()
	if r.IsError {
		t.Errorf("a background job: %s", r.text())
	}
	must(t, s.in.Close())
	w.ended("a background job of a server that ended", conn)
}

func checkEOF(t *testing.T) {
	s := serve(t, "")
	must(t, s.in.Close())
	select {
	case <-s.waited:
		if s.waitError != nil {
			t.Errorf("exit status: %v", s.waitError)
		}
	case <-time.After(patience):
		t.Error("the server goes on")
	}
}

// The test keeps the input open, as another child of a killed client may.
func checkParent(t *testing.T) {
	s, w := serve(t, "", "cmd.exe", "/d", "/c"), newWitness(t)
	s.call("bash", arguments{"command": exe(t, "CHILD_EXE") + " " + w.Addr().String(), "background": true})
	job := w.came()
	must(t, s.cmd.Process.Kill())
	select {
	case <-s.mcp.Done():
	case <-time.After(patience):
		t.Error("the server goes on")
	}
	w.ended("a job of a server whose parent was killed", job)
}

// command runs a command line of the program, and returns what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "wine", append([]string{exe(t, "TOOLSERVER_EXE")}, args...)...)
	cmd.WaitDelay = patience
	out, _ := cmd.CombinedOutput() // a failure is told there
	return string(out)
}

func checkBatch(t *testing.T) {
	unix, dir := newDir(t)
	must(t, os.Mkdir(filepath.Join(unix, "a b"), 0o755))
	must(t, os.WriteFile(filepath.Join(unix, "inner.cmd"), []byte("@\""+exe(t, "TOOLSERVER_EXE")+"\" %*\r\n"), 0o755))
	config := strings.ReplaceAll(`working_directory: DIR
mcp_servers:
  inner: {command: DIR/inner.cmd, args: [serve, --stdio, "DIR/a b"], sandbox: false}
  evil: {command: DIR/inner.cmd, args: [serve, --stdio, 'x" & echo > C:\pwned & "'], sandbox: false}
`, "DIR", strings.ReplaceAll(dir, `\`, "/"))
	must(t, os.WriteFile(filepath.Join(unix, "c.yaml"), []byte(config), 0o600))
	said := command(t, "call", "inner__write_file", "x.txt", "y", "--config", dir+`\c.yaml`)
	if got, err := os.ReadFile(filepath.Join(unix, "a b", "x.txt")); string(got) != "y" {
		t.Errorf("a call: %v: %s", err, said)
	}
	if said = command(t, "upstream", "list", "--config", dir+`\c.yaml`); !strings.Contains(said, "means something to cmd.exe") {
		t.Errorf("an argument that cmd.exe acts on: %s", said)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "pwned")); err == nil {
		t.Error("an argument was run")
	}
}

func checkHTTP(t *testing.T) {
	_, dir := newDir(t)
	cmd := exec.Command("wine", exe(t, "TOOLSERVER_EXE"), "serve", "--http", "127.0.0.1:0", dir)
	said, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	stuck := time.AfterFunc(2*patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() { stuck.Stop(); cmd.Process.Kill(); cmd.Wait() })
	entry := regexp.MustCompile(`"url": "([^"]+)", "headers": {"Authorization": "(Bearer [^"]+)"`)
	var found []string
	lines := bufio.NewScanner(said)
	for found == nil && lines.Scan() {
		found = entry.FindStringSubmatch(lines.Text())
	}
	if found == nil {
		t.Fatalf("the server gives no address and token: %v", lines.Err())
	}
	go io.Copy(io.Discard, said)
	options := mcpclient.Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxMessageBytes: 1 << 20, ConnectTimeout: patience}
	if _, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, found[1], http.Header{}, options); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without the token: %v", err)
	}
	c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, found[1], http.Header{"Authorization": {found[2]}}, options)
	must(t, err)
	defer c.Close()
	s := &server{t: t, mcp: c}
	s.rows([]row{{tool: "bash", args: arguments{"command": "cd"}, says: dir}})
}

func checkLeft(t *testing.T) {
	s := serve(t, "")
	r := s.call("write_file", arguments{"path": "a.txt", "content": "x"})
	if r.IsError || r.Data["created"] != true {
		t.Errorf("a new file: %+v", r)
	}
	left, err := filepath.Glob(filepath.Join(s.unix, ".toolserver-*.tmp"))
	must(t, err)
	if said := strings.Contains(s.logged(), "a temporary file could not be removed"); said != (len(left) > 0) {
		t.Errorf("left: %s; the log says so: %v", cmp.Or(strings.Join(left, " "), "nothing"), said)
	}
}

func checkSaid(t *testing.T) {
	for args, parts := range map[string][]string{
		"check":            {`ok   shell          C:\windows\System32\cmd.exe`, "ok   process tree   job object", "the confinement of commands cannot be enforced"},
		"tools --json":     {"with cmd.exe", "Not confined"},
		"explain bash dir": {"process tree: job object"},
	} {
		said := command(t, strings.Fields(args)...)
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("%s does not say %q: %.3000s", args, part, said)
			}
		}
		if strings.Contains(said, "No network") {
			t.Errorf("%s promises what nothing keeps: %.3000s", args, said)
		}
	}
}

func checkInstall(t *testing.T) {
	_, dir := newDir(t)
	me, err := user.Current()
	must(t, err)
	profile := filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "users", me.Username, "AppData") // wine has no other
	packaged, classic := filepath.Join(profile, "Local", "Packages"), filepath.Join(profile, "Roaming", "Claude")
	t.Cleanup(func() { must(t, errors.Join(os.RemoveAll(packaged), os.RemoveAll(classic))) })
	inPackage := filepath.Join(packaged, "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude")
	must(t, errors.Join(os.MkdirAll(inPackage, 0o755), os.MkdirAll(classic, 0o755)))
	const before = "{\r\n  \"theme\": \"dark\"\r\n}\r\n"
	file := filepath.Join(inPackage, "claude_desktop_config.json")
	must(t, os.WriteFile(file, []byte(before), 0o644))
	said := command(t, "install", "claude-desktop", "--dir", dir, "--yes")
	text, err := os.ReadFile(file)
	must(t, err)
	var written struct {
		Theme   string
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &written); err != nil || written.Theme != "dark" {
		t.Fatalf("%v in %s: %s", err, text, said)
	}
	entry := written.Servers["toolserver"]
	if !strings.HasSuffix(entry.Command, `\toolserver.exe`) || len(entry.Args) < 3 || entry.Args[2] != dir || strings.Count(string(text), "\n") != strings.Count(string(text), "\r\n") {
		t.Errorf("wrote %q: %s", text, said)
	}
	if _, err := os.Stat(filepath.Join(classic, "claude_desktop_config.json")); err == nil {
		t.Error("wrote the file that the app does not read")
	}
	if again := command(t, "install", "claude-desktop", "--dir", dir, "--yes"); !strings.Contains(again, "needs no change") {
		t.Errorf("a second time: %s", again)
	}
	said = command(t, "uninstall", "claude-desktop")
	if text, _ := os.ReadFile(file); string(text) != before {
		t.Errorf("uninstall leaves %q: %s", text, said)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
