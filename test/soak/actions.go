//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// action is one thing clients do.
type action struct {
	group, name string // to count it by
	weight      int
	do          func(c *client) error
}

// actions are what every client does, as often as their weights say.
var actions = []action{
	{"calls", "echo", 120, func(c *client) error {
		text := anyText(c.rng, c.number())
		return c.expectText("Echo: "+text, "echo", arguments{"message": text})
	}},
	{"calls", "echo, escaped", 40, (*client).echoEscaped},
	{"calls", "write_file", 48, (*client).writeFile},
	{"calls", "read_file", 48, func(c *client) error {
		name, _, err := c.anyLine()
		if err != nil {
			return err
		}
		return c.expectText(c.content(name), "read_file", arguments{"path": c.path(name)})
	}},
	{"calls", "edit_file", 40, (*client).editFile},
	{"calls", "grep", 24, func(c *client) error {
		name, i, err := c.anyLine()
		if err != nil {
			return err
		}
		line := c.lines[name][i]
		word, _, _ := strings.Cut(line, " ") // there is only one
		want := fmt.Sprintf("%s:%d:%s", c.path(name), i+1, line)
		return c.expectText(want, "grep", arguments{"pattern": "^" + word + " ", "path": c.name})
	}},
	{"calls", "search_files", 24, func(c *client) error {
		var got struct{ Matches []string }
		_, _, err := c.anyLine()
		if err == nil {
			_, err = c.call("search_files", arguments{"pattern": "*.txt", "path": c.name}, &got)
		}
		return c.expectPaths(got.Matches, err)
	}},
	{"calls", "switched tool", 24, (*client).listDirectory},
	{"calls", "bash", 24, (*client).bash},
	{"calls", "execute_command", 16, (*client).executeCommand},
	{"calls", "tools/list", 16, func(c *client) error {
		names, err := toolNames(c.ctx, c.link)
		return errors.Join(err, expect(err != nil || slices.Equal(names, c.tools), "the tools are %q instead of %q", names, c.tools))
	}},
	{"calls", "ping or discover", 24, (*client).ping},
	{"calls", "bad arguments", 32, func(c *client) error {
		return c.fails(wrongArguments[c.rng.IntN(len(wrongArguments))], jsonrpc.CodeInvalidParams)
	}},
	{"calls", "unknown tool", 16, func(c *client) error {
		return c.fails(toolCall(fmt.Sprintf("no_such_tool_%d", c.number()), arguments{"a": 1}), -32001)
	}},
	{"calls", "refused path", 16, func(c *client) error {
		path := []string{"../outside", "/etc/passwd", c.path("none.txt"), c.path("../../x")}[c.rng.IntN(4)]
		r, err := c.result(toolCall("read_file", arguments{"path": path}))
		return errors.Join(err, expect(err != nil || r.IsError, "reading %s was answered with %+v", path, r))
	}},
	{"calls", "progress", 1, (*client).progress},
	{"cancels", "of calls", 8, (*client).cancelCall},
	{"cancels", "of requests half sent over HTTP", 4, (*client).hangUp},
	{"malformed", "messages", 16, (*client).sendMalformed},
}

// expect returns an error unless ok.
func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// echoEscaped sends a request with an ID in one of the forms that IDs have, and
// with every character outside ASCII as an escape.
func (c *client) echoEscaped() error {
	c.lastSent = time.Now()
	n := c.number()
	id := [...]string{`"s-%d"`, `9007199254740993%d`, `"\u00e9\u0041ж%d"`, `-%d`, `"%d"`}[n%5]
	text := anyText(c.rng, n)
	params := map[string]any{"name": "echo", "arguments": arguments{"message": text}}
	if c.link.version == modern || c.link.server.url == "" && c.rng.IntN(2) == 0 { // which a connection may mix
		params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: modern, mcp.MetaKeyClientCapabilities: struct{}{}}
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	msg := jsonrpc.Request(json.RawMessage(fmt.Sprintf(id, n)), "tools/call", json.RawMessage(escaped(encoded)))
	raw, err := c.link.exchange(c.ctx, msg)
	if err != nil {
		return fmt.Errorf("%w; the request was %.300s", err, msg)
	}
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	return difference(r.text(), "Echo: "+text)
}

// anyLine returns one of the files and one of its lines. The first call writes a
// file.
func (c *client) anyLine() (name string, i int, err error) {
	if len(c.lines) == 0 {
		if err := c.writeFile(); err != nil {
			return "", 0, err
		}
	}
	paths := c.paths()
	name = filepath.Base(paths[c.rng.IntN(len(paths))])
	return name, c.rng.IntN(len(c.lines[name])), nil
}

func (c *client) writeFile() error {
	name := fmt.Sprintf("f%d.txt", c.rng.IntN(8))
	var lines []string
	for range 1 + c.rng.IntN(1<<c.rng.IntN(10)) {
		lines = append(lines, line(c.rng, c.number()))
	}
	_, existed := c.lines[name]
	c.lines[name] = lines
	content := c.content(name)
	type written struct {
		Path    string
		Bytes   int
		Created bool
	}
	var got written
	_, err := c.call("write_file", arguments{"path": c.path(name), "content": content}, &got)
	want := written{c.path(name), len(content), !existed}
	return errors.Join(err, expect(err != nil || got == want, "got %+v instead of %+v", got, want))
}

func (c *client) editFile() error {
	name, i, err := c.anyLine()
	if err != nil {
		return err
	}
	before, after := c.lines[name][i], line(c.rng, c.number())
	edits := []any{map[string]any{"old_text": before, "new_text": after}}
	text, err := c.call("edit_file", arguments{"path": c.path(name), "edits": edits}, nil)
	if err != nil {
		return err
	}
	c.lines[name][i] = after
	return expect(strings.Contains(text, "\n-"+before+"\n+"+after+"\n"),
		"replacing %q with %q in %s was answered with %.500q", before, after, c.path(name), text)
}

// listDirectory calls the tool that is not always there.
func (c *client) listDirectory() error {
	var got struct{ Entries []struct{ Name string } }
	_, err := c.call(switched, arguments{"path": c.name}, &got)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == -32004 {
		c.tally.add("calls", "  switched off then")
		return nil
	}
	var paths []string
	for _, e := range got.Entries {
		paths = append(paths, c.name+"/"+e.Name)
	}
	return c.expectPaths(paths, err)
}

// expectPaths returns err or, if that is nil, whether paths are not those of all
// files.
func (c *client) expectPaths(paths []string, err error) error {
	return errors.Join(err, expect(err != nil || slices.Equal(paths, c.paths()), "got %q instead of %q", paths, c.paths()))
}

func (c *client) bash() error {
	text, status := strings.ReplaceAll(line(c.rng, c.number()), "'", ""), c.rng.IntN(3)
	want := text
	if status != 0 {
		want = fmt.Sprintf("%s\n[exit code %d]", text, status)
	}
	command := fmt.Sprintf("printf '%%s\\n' '%s'; exit %d", text, status)
	r, err := c.result(toolCall("bash", arguments{"command": command, "working_dir": c.name}))
	if err != nil {
		return err
	}
	err = expect(r.IsError == (status != 0), "exit status %d was answered with %+v", status, r)
	return errors.Join(err, difference(r.text(), want))
}

func (c *client) executeCommand() error {
	n := 1 + c.rng.IntN(100_000)
	var got struct {
		ExitCode       int `json:"exit_code"`
		Stdout, Stderr string
	}
	args := arguments{"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo %d >&2", n, n)}
	if _, err := c.call("execute_command", args, &got); err != nil {
		return err
	}
	err := expect(got.ExitCode == 0 && got.Stderr == fmt.Sprintln(n), "got exit status %d and %q", got.ExitCode, got.Stderr)
	return errors.Join(err, difference(got.Stdout, strings.Repeat("x", n)))
}

// toolNames returns the names of the tools without the switched one.
func toolNames(ctx context.Context, l *link) (names []string, err error) {
	list, err := l.List(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	for _, raw := range list {
		var t struct{ Name string }
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, err
		}
		if t.Name != switched {
			names = append(names, t.Name)
		}
	}
	return names, expect(len(names) > 0 && slices.IsSorted(names), "the tools are not sorted: %q", names)
}

func (c *client) ping() error {
	if c.link.version == modern && c.rng.IntN(2) == 0 {
		return c.fails(mcpclient.Request{Method: "ping"}, jsonrpc.CodeMethodNotFound)
	}
	if c.link.version == legacy {
		result, err := c.do(mcpclient.Request{Method: "ping"})
		return errors.Join(err, expect(err != nil || string(result) == "{}", "ping was answered with %.300s", result))
	}
	result, err := c.do(mcpclient.Request{Method: "server/discover"})
	if err != nil {
		return err
	}
	var r struct{ SupportedVersions []string }
	err = json.Unmarshal(result, &r)
	return errors.Join(err, expect(slices.Contains(r.SupportedVersions, modern), "server/discover was answered with %.300s", result))
}

// wrongArguments are calls with arguments that tools refuse.
var wrongArguments = []mcpclient.Request{
	toolCall("echo", arguments{"massage": "x"}),
	toolCall("echo", arguments{"message": 3}),
	toolCall("read_file", arguments{}),
	toolCall("read_file", arguments{"path": "x", "lmit": 2}),
	toolCall("read_file", arguments{"path": []any{"x"}}),
	toolCall("grep", arguments{"pattern": "x", "max_results": -1}),
	toolCall("grep", arguments{"pattern": "x", "mode": "loud"}),
	toolCall("edit_file", arguments{"path": "x", "edits": "y"}),
	toolCall("bash", arguments{"command": ""}),
	toolCall("bash", arguments{"command": "true", "timeout": 0}),
}

// progress runs a command that prints something now and then.
func (c *client) progress() error {
	reports := 0
	req := toolCall("bash", arguments{"command": "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done"})
	req.Progress = func(mcpclient.Progress) { reports++ }
	r, err := c.result(req)
	if err != nil {
		return err
	}
	c.tally.sum("notifications", "progress", reports)
	return errors.Join(expect(reports > 0, "a command of 2 s reported no progress"), difference(r.text(), "1\n2\n3\n4\n5\n6"))
}

// runFolder is where commands make a file when they have started.
const runFolder = "run"

// mark is the argument of every sleep that must not come to its end. No other
// run of this program has the same.
var mark = fmt.Sprintf("9%07d.5", os.Getpid())

// flag returns the path of a file with which a command says that it has started.
func (c *client) flag() string { return fmt.Sprintf("%s/%d", runFolder, c.number()) }

// started waits until a command has made its file.
func (c *client) started(flag string) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(c.ctx, 5*time.Millisecond) {
		if os.Remove(filepath.Join(c.dir, flag)) == nil {
			return nil
		}
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
	}
	return errors.New("a command did not start")
}

// sleeping returns a call of a command that makes the file flag and then runs
// forever.
func (c *client) sleeping() (req mcpclient.Request, flag string) {
	flag = c.flag()
	command := fmt.Sprintf("touch %s; sleep %s & sleep %s", flag, mark, mark)
	return toolCall("bash", arguments{"command": command, "timeout": 600}), flag
}

// cancelCall cancels a call that runs, after which no answer may come. Over HTTP
// with a session, half of the calls stay on the line to see that.
func (c *client) cancelCall() error {
	c.lastSent = time.Now()
	req, flag := c.sleeping()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	ended := make(chan error, 1)
	if c.link.session == "" || c.rng.IntN(2) == 0 {
		go func() {
			result, err := c.link.Do(ctx, req)
			if errors.Is(err, context.Canceled) {
				err = nil
			} else {
				err = fmt.Errorf("got %.300s and %w", result, err)
			}
			ended <- err
		}()
		err := c.started(flag)
		cancel()
		return errors.Join(err, <-ended)
	}
	id := json.RawMessage(fmt.Sprintf(`"c-%d"`, c.number()))
	go func() {
		_, body, err := c.link.post(ctx, jsonrpc.Request(id, req.Method, req.Params))
		ended <- errors.Join(err, expect(len(bytes.TrimSpace(body)) == 0, "a call that was canceled got %.300q", body))
	}()
	if err := c.started(flag); err != nil {
		return err
	}
	canceled := jsonrpc.Request(nil, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": "soak"})
	_, _, err := c.link.post(c.ctx, canceled)
	return errors.Join(err, <-ended)
}

// hangUp sends a part of a request to the HTTP server and closes the connection.
func (c *client) hangUp() error {
	host := strings.TrimSuffix(strings.TrimPrefix(c.servers[0].url, "http://"), "/mcp")
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(c.ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte([...]string{
		"", "POST /mcp HT",
		"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"jsonrpc\":\"2.0\",",
	}[c.rng.IntN(3)]))
	return err
}

// wrongPosts are requests that are refused, with the status they get and a part
// of the answer.
var wrongPosts = []struct {
	body    string
	headers []string
	status  int
	part    string
}{
	{`{"jsonrpc":"2.0","id":1,"method":`, nil, http.StatusBadRequest, "-32700"},
	{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, http.StatusBadRequest, "-32600"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, http.StatusBadRequest, "Mcp-Session-Id"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Session-Id", "none"}, http.StatusNotFound, "session"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType, "Content-Type"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Accept", "text/html"}, http.StatusNotAcceptable, "Accept"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Origin", "http://evil.example"}, http.StatusForbidden, "origin"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"` + modern + `","` +
		mcp.MetaKeyClientCapabilities + `":{}}}}`,
		[]string{"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call"}, http.StatusBadRequest, "-32020"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		[]string{"MCP-Protocol-Version", modern, "Mcp-Method", "tools/list"}, http.StatusBadRequest, "-32602"},
	{strings.Repeat("\x00", maxMessage+1), nil, http.StatusRequestEntityTooLarge, "-32600"},
}

// wrongLines are answered with errors that have no ID.
var wrongLines = []struct {
	line string
	code int
}{
	{`{"jsonrpc":"2.0","id":1,"method":`, jsonrpc.CodeParseError},
	{`hello`, jsonrpc.CodeParseError},
	{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, jsonrpc.CodeInvalidRequest},
	{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.CodeInvalidRequest},
	{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, jsonrpc.CodeInvalidRequest},
	{strings.Repeat("x", maxMessage+maxMessage/2), jsonrpc.CodeInvalidRequest},
}

// sendMalformed sends a message that must be refused; a very long one, which is the
// last of the list, is rare.
func (c *client) sendMalformed() error {
	v := c.link.server
	rare := c.rng.IntN(50) == 0
	if v.url == "" {
		wrong := wrongLines[len(wrongLines)-1]
		if !rare {
			wrong = wrongLines[c.rng.IntN(len(wrongLines)-1)]
		}
		return c.refused(wrong.line, wrong.code)
	}
	wrong := wrongPosts[len(wrongPosts)-1]
	if !rare {
		wrong = wrongPosts[c.rng.IntN(len(wrongPosts)-1)]
	}
	status, body, err := v.send(c.ctx, v.transport, http.MethodPost, []byte(wrong.body), wrong.headers...)
	return errors.Join(err, expect(err != nil || status == wrong.status && strings.Contains(string(body), wrong.part),
		"%.300s with %q: got status %d instead of %d, and %.300s", wrong.body, wrong.headers, status, wrong.status, body))
}

// refused sends a line and waits for the error that answers it without ID.
func (c *client) refused(line string, code int) error {
	l := c.link
	l.refusal.Lock()
	defer l.refusal.Unlock()
	if err := l.writeRaw([]byte(line)); err != nil {
		return err
	}
	select {
	case e := <-l.noID:
		return expect(e.Code == code, "%.100q: got %d instead of %d: %s", line, e.Code, code, e.Message)
	case <-time.After(patience):
		return fmt.Errorf("%.100q: no answer within %s", line, patience)
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}
