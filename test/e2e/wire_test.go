package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// wire is a running program that is sent raw bytes and whose lines are taken as
// they come. Every line it says is held to the protocol.
type wire struct {
	*program
	lines  chan wireLine // closed at the end of the output
	before []wireLine    // what answer has passed over
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
	w := &wire{program: spawn(t, stdout, stderr, argv...), lines: make(chan wireLine, 1<<14)}
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

// read takes lines until there are no more.
func (w *wire) read(out *os.File) {
	defer close(w.lines)
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			w.lines <- parseLine(w.t, line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.t.Errorf("standard output: %v", err)
			}
			return
		}
	}
}

// parseLine reads a line and checks that it is protocol.
func parseLine(t *testing.T, line []byte) (r wireLine) {
	raw, ended := bytes.CutSuffix(line, []byte("\n"))
	r.Raw = raw
	messages := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		messages = nil // or it would be decoded into raw
		if err := json.Unmarshal(raw, &messages); err != nil {
			t.Errorf("standard output has %.200q: %v", raw, err)
			return r
		}
	} else if err := json.Unmarshal(raw, &r); err != nil {
		t.Errorf("standard output has %.200q: %v", raw, err)
		return r
	}
	for _, m := range messages {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(m, &parts); err != nil || string(parts["jsonrpc"]) != `"2.0"` {
			t.Errorf("standard output has %.200q: not JSON-RPC (%v)", m, err)
		}
		kinds := 0
		for _, kind := range []string{"result", "error", "method"} {
			if parts[kind] != nil {
				kinds++
			}
		}
		if kinds != 1 || parts["method"] == nil && parts["id"] == nil {
			t.Errorf("standard output has %.200q: neither an answer nor a request nor a notification", m)
		}
	}
	if !ended || !utf8.Valid(raw) || len(messages) == 0 {
		t.Errorf("standard output has %.200q", line)
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

// play sends input and its end, and returns what a server says to it.
func play(t *testing.T, input string, args ...string) []wireLine {
	t.Helper()
	return playing(t, func(w *wire) { w.write(input) }, args...)
}

// playing does the same with what input sends.
func playing(t *testing.T, input func(*wire), args ...string) []wireLine {
	t.Helper()
	w := open(t, binary(), args...)
	input(w)
	w.in.Close()
	all := w.rest()
	w.succeeded()
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
