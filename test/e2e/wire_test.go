package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

// wire is a running binary that is sent raw bytes and whose lines are taken as
// they come. Every line it says is held to the protocol.
type wire struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *os.File
	lines  chan wireLine // closed at the end of the output
	exited chan struct{}
	stderr string     // the file that gets it
	before []wireLine // what answer has passed over
}

// wireLine is one line of a server: an answer, a notification or a batch of
// answers, of which it has only Raw.
type wireLine struct {
	Raw    []byte `json:"-"`
	ID     json.RawMessage
	Method string
	Params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64
		Meta     map[string]json.RawMessage `json:"_meta"`
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (r wireLine) String() string { return string(r.Raw) }

// code returns that of an error, or 0.
func (r wireLine) code() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

// open starts a server over stdio.
func open(t *testing.T, path string, args ...string) *wire {
	t.Helper()
	return launch(t, append([]string{path, "serve", "--stdio"}, args...)...)
}

// launch starts a program and takes its lines.
func launch(t *testing.T, argv ...string) *wire {
	t.Helper()
	return launchLogging(t, nil, argv...)
}

// launchLogging is launch with a standard error, which it closes.
func launchLogging(t *testing.T, stderr *os.File, argv ...string) *wire {
	t.Helper()
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := spawn(t, stdout, stderr, argv...)
	w.lines = make(chan wireLine, 1<<14)
	go w.read(out)
	t.Cleanup(func() {
		w.kill()
		out.SetReadDeadline(time.Now().Add(patience)) // something may have inherited it
		for range w.lines {
		}
		out.Close()
	})
	return w
}

// spawn starts a program with almost no environment, and closes the files that
// are its standard output and error, the latter a temporary file if nil. The
// streams are files, so that waiting for the program does not wait for what it
// leaves behind.
func spawn(t *testing.T, stdout, stderr *os.File, argv ...string) *wire {
	t.Helper()
	defer stdout.Close()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if stderr == nil {
		if stderr, err = os.CreateTemp(t.TempDir(), "stderr"); err != nil {
			t.Fatal(err)
		}
	}
	defer stderr.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, cmd: cmd, in: in, exited: make(chan struct{}), stderr: stderr.Name()}
	go func() {
		defer close(w.exited)
		_ = cmd.Wait() // the state has it all
	}()
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", argv, w.log())
		}
	})
	return w
}

// kill ends the program if it still runs.
func (w *wire) kill() {
	w.in.Close()
	w.cmd.Process.Kill()
	<-w.exited
}

// read takes lines until there are no more.
func (w *wire) read(out *os.File) {
	defer close(w.lines)
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			w.lines <- w.parse(line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.t.Errorf("standard output: %v", err)
			}
			return
		}
	}
}

// parse reads a line and checks that it is protocol.
func (w *wire) parse(line []byte) (r wireLine) {
	raw, ended := bytes.CutSuffix(line, []byte("\n"))
	r.Raw = raw
	messages := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		messages = nil // or it would be decoded into raw
		if err := json.Unmarshal(raw, &messages); err != nil {
			w.t.Errorf("standard output has %.200q: %v", raw, err)
			return r
		}
	} else if err := json.Unmarshal(raw, &r); err != nil {
		w.t.Errorf("standard output has %.200q: %v", raw, err)
		return r
	}
	for _, m := range messages {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(m, &parts); err != nil || string(parts["jsonrpc"]) != `"2.0"` {
			w.t.Errorf("standard output has %.200q: not JSON-RPC (%v)", m, err)
		}
		kinds := 0
		for _, kind := range []string{"result", "error", "method"} {
			if parts[kind] != nil {
				kinds++
			}
		}
		if kinds != 1 || parts["method"] == nil && parts["id"] == nil {
			w.t.Errorf("standard output has %.200q: neither an answer nor a request nor a notification", m)
		}
	}
	if !ended || !utf8.Valid(raw) || len(messages) == 0 {
		w.t.Errorf("standard output has %.200q", line)
	}
	return r
}

// write sends bytes as they are.
func (w *wire) write(raw string) {
	w.t.Helper()
	w.in.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(w.in, raw); err != nil {
		w.t.Fatalf("standard input: %v", err)
	}
}

// send sends a line.
func (w *wire) send(line string) {
	w.t.Helper()
	w.write(line + "\n")
}

// receive returns the next line.
func (w *wire) receive() wireLine {
	w.t.Helper()
	select {
	case r, ok := <-w.lines:
		if !ok {
			w.t.Fatal("standard output has ended")
		}
		return r
	case <-time.After(patience):
		w.t.Fatal("nothing comes")
	}
	return wireLine{}
}

// answer returns the answer to the request with the id, written as it was
// sent. What comes before it is kept.
func (w *wire) answer(id string) wireLine {
	w.t.Helper()
	for {
		r := w.receive()
		if r.Method == "" && string(r.ID) == id {
			return r
		}
		w.before = append(w.before, r)
	}
}

// ping returns how long a ping takes.
func (w *wire) ping() time.Duration {
	w.t.Helper()
	id := fmt.Sprintf(`"ping %d"`, unique.Add(1))
	start := time.Now()
	w.send(request(id, "ping", "{}"))
	if r := w.answer(id); r.Error != nil {
		w.t.Fatalf("a ping is answered with %s", r.Raw)
	}
	return time.Since(start)
}

// handshake begins a session of the legacy era.
func (w *wire) handshake(version string) {
	w.t.Helper()
	params := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, version)
	w.send(request(`"handshake"`, "initialize", params))
	if r := w.answer(`"handshake"`); !strings.Contains(string(r.Result), fmt.Sprintf(`"protocolVersion":%q`, version)) {
		w.t.Fatalf("got %s", r.Raw)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// rest returns what else the server says until it ends.
func (w *wire) rest() (all []wireLine) {
	w.t.Helper()
	late := time.After(patience)
	for {
		select {
		case r, ok := <-w.lines:
			if !ok {
				return all
			}
			all = append(all, r)
		case <-late:
			w.t.Fatal("standard output does not end")
		}
	}
}

// end waits for the program to end, and returns how long that takes.
func (w *wire) end() time.Duration {
	w.t.Helper()
	start := time.Now()
	select {
	case <-w.exited:
	case <-time.After(patience):
		w.t.Fatal("the server does not end")
	}
	return time.Since(start)
}

func (w *wire) log() string {
	b, _ := os.ReadFile(w.stderr)
	return string(b)
}

// play sends input and its end, and returns what a server says to it.
func play(t *testing.T, input string, args ...string) []wireLine {
	t.Helper()
	w := open(t, binary(), args...)
	w.write(input)
	w.in.Close()
	all := w.rest()
	w.end()
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	return all
}

// request writes a request. Its id and params are JSON.
func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// modernMeta is what a request of the modern era says about itself.
const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// modern makes a request one of the modern era.
func modern(request string) string {
	return strings.Replace(request, `"params":{`, `"params":{"_meta":{`+modernMeta+`},`, 1)
}

// bash writes a call that runs a command.
func bash(id, command string) string {
	quoted, err := json.Marshal(command)
	if err != nil {
		panic(err) // a string is JSON
	}
	return request(id, "tools/call", fmt.Sprintf(`{"name":"bash","arguments":{"command":%s}}`, quoted))
}

// cancel takes a request back.
func cancel(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"no more"}}`, id)
}

// configured writes a configuration to a folder of its own, and returns both.
func configured(t *testing.T, text string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "config.yaml")
	reconfigure(t, file, text)
	return file, dir
}

// reconfigure replaces a configuration as editors do.
func reconfigure(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte("working_directory: .\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

var unique atomic.Int64

// newMarker returns a fraction of seconds that no other command sleeps.
func newMarker() string { return fmt.Sprintf("%d%06d7", os.Getpid(), unique.Add(1)) }

// own returns a copy of a binary, so that its processes can be told from those
// of others. Another process makes it: a program that this one has had open for
// writing could still be so in what it forks meanwhile, and cannot be run then.
func own(t *testing.T, binary string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as the kernel names it
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "toolserver")
	if out, err := exec.Command("cp", binary, path).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	return path
}

// running returns the processes that run the binary: a server, its supervisors.
func running(t *testing.T, path string) (pids []string) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil || len(entries) == 0 {
		t.Skip("no /proc here")
	}
	for _, entry := range entries {
		if exe, _ := os.Readlink(entry); exe == path {
			pids = append(pids, strings.Split(entry, "/")[2])
		}
	}
	return pids
}

// ended waits until no process runs the binary.
func ended(t *testing.T, path string) {
	t.Helper()
	eventually(t, "every process of the server ends", func() bool { return len(running(t, path)) == 0 })
}

// eventually waits for something that must come.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
