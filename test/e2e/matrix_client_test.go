package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/test/fakes/covered"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// door is a way to reach the fixture: a transport and an era, or the command line.
type door struct {
	name         string
	http, modern bool
	cli          bool
}

var doors = []door{{name: "stdio legacy"}, {name: "stdio modern", modern: true}, {name: "http legacy", http: true}, {name: "http modern", http: true, modern: true}, {name: "cli", cli: true}}

// The kinds of requests.
const (
	kindTool, kindResource, kindPrompt, kindCompletion = "tool", "resource", "prompt", "completion"
	kindList, kindSubscribe, kindBatch, kindTask       = "list", "subscribe", "batch", "task"
	kindSkill, kindUpload                              = "skill", "upload" // a file of one; a file of the client
)

var (
	requestKinds = []string{kindTool, kindResource, kindPrompt, kindCompletion, kindList, kindSubscribe, kindBatch, kindTask, kindSkill, kindUpload}
	// calls are the kinds that run something of the fixture's.
	calls = []string{kindTool, kindResource, kindPrompt, kindCompletion, kindBatch, kindTask, kindSkill}
)

// client is one client of a fixture of its own, which it reaches through a door.
type client struct {
	door
	kind   string
	server *httpServer // over HTTP
	peer   *peer       // writes messages; over HTTP it sends them, too
	wire   *wire       // over stdio
	config string      // the configuration file
	dir    string      // the working directory

	serving string   // further settings of server
	tokens  []string // who has one, over HTTP; ann and bob if nil

	mu      sync.Mutex
	lastID  int
	waiting map[string]chan response
	all     strings.Builder

	heard    chan message  // what is said besides answers
	streamed chan struct{} // closed at the end of the session's stream
}

// message is what a server says.
type message struct {
	Raw    string `json:"-"`
	ID     json.RawMessage
	Method string
	Params struct {
		URI  string
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct{ Code int }
}

// response is what became of a request. The code is that of its error, or 0; a
// request with no answer has a status at most.
type response struct {
	code   int
	text   string
	status int // of HTTP
	none   bool
	parts  []response // of a batch
}

func (o response) String() string {
	return fmt.Sprintf("code %d, status %d, answered %t: %.600s", o.code, o.status, !o.none, o.text)
}

// sent is a request under way.
type sent struct {
	t      *testing.T
	client *client
	id     string
	answer chan response
	hangUp func()        // of HTTP, or a signal to a command
	wrote  chan struct{} // closed when all of the request is sent, over HTTP
	over   chan struct{} // closed when all of the answer has come, over HTTP
	task   string        // that the request has become, once it is sent
}

// start starts the fixture under a configuration and connects to it.
func (c *client) start(t *testing.T, yaml string) {
	t.Helper()
	c.dir = t.TempDir()
	c.prepare("anns")
	version := c.version()
	c.config = filepath.Join(t.TempDir(), "toolserver.yaml")
	c.write(t, yaml)
	switch {
	case c.cli:
	case c.http:
		c.server = startHTTP(t, fixtureBinary(t), "--config", c.config)
		c.connect(t, version)
	default:
		c.wire = open(t, fixtureBinary(t), "--config", c.config)
		go func() {
			for line := range c.wire.lines {
				c.take(string(line.Raw))
			}
		}()
		if !c.modern {
			c.request(t, "initialize", fmt.Sprintf(`"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}`, version, c.peer.can)).wait()
			c.wire.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			c.request(t, "logging/setLevel", `"level":"error"`).wait()
		}
	}
}

// takesTasks are the capabilities of a client that takes tasks.
const takesTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}`

// prepare makes the client ready to send, over HTTP with a token.
func (c *client) prepare(token string) {
	c.waiting, c.heard, c.streamed = map[string]chan response{}, make(chan message, 1<<12), make(chan struct{})
	c.peer = &peer{modern: c.modern, can: `{"elicitation":{}}`}
	switch c.kind {
	case kindTask:
		c.peer.can = takesTasks
	case kindUpload:
		c.peer.can = `{"extensions":{"io.modelcontextprotocol/files":{"upload":{}}}}`
	}
	if c.http {
		c.peer.token = token
	}
}

// connect connects over HTTP.
func (c *client) connect(t *testing.T, version string) {
	t.Helper()
	c.peer.server = c.server
	if c.modern {
		return
	}
	c.peer.begin(t, version)
	c.peer.post(t, c.peer.message("0", "logging/setLevel", `"level":"error"`, ""), nil)
	stream := c.peer.listen(t, "GET", "")
	go func() {
		defer close(c.streamed)
		for line, ok := stream.next("data: "); ok; line, ok = stream.next("data: ") {
			c.take(line)
		}
	}()
}

// beside returns another client of the same server, of whoever has the token.
func (c *client) beside(t *testing.T, token string, modern bool) *client {
	t.Helper()
	other := &client{door: door{http: true, modern: modern}, server: c.server, config: c.config, dir: c.dir}
	other.prepare(token)
	other.connect(t, "2025-11-25")
	return other
}

// write writes a configuration. The section server is the client's.
func (c *client) write(t *testing.T, yaml string) {
	t.Helper()
	tokens := c.tokens
	if tokens == nil {
		tokens = []string{"ann", "bob"}
	}
	var entries []string
	for _, name := range tokens {
		if c.http {
			entries = append(entries, tokenEntry(name, name+"s"))
		}
	}
	if c.kind == kindUpload {
		yaml += "\nprotocol: {experimental: true}"
	}
	text := fmt.Sprintf("working_directory: %s\nsandbox: {enforcement: parse_only}\nserver: {%stokens: [%s]}\n%s\n", c.dir, c.serving, strings.Join(entries, ", "), yaml)
	if err := errors.Join(os.WriteFile(c.config+".new", []byte(text), 0o600), os.Rename(c.config+".new", c.config)); err != nil {
		t.Fatal(err)
	}
}

// version returns the protocol version that the cell is about.
func (c *client) version() string {
	switch {
	case c.modern:
		return modernVersion
	case c.kind == kindBatch:
		return "2025-03-26"
	}
	return "2025-11-25"
}

// reload replaces the configuration and waits until it is in force. A command
// reads it anew.
func (c *client) reload(t *testing.T, yaml string) {
	t.Helper()
	reloads := func() int { return strings.Count(c.log(), "configuration reloaded") }
	before := reloads()
	c.write(t, yaml)
	if !c.cli {
		eventually(t, "the configuration is reloaded", func() bool { return reloads() > before })
	}
}

// log returns what the server has logged.
func (c *client) log() string {
	switch {
	case c.http:
		return c.server.log()
	case c.wire != nil:
		return c.wire.log()
	}
	return ""
}

// take sorts what the server says: answers to whoever waits, the rest as heard.
func (c *client) take(raw string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.WriteString(raw + "\n")
	if strings.HasPrefix(raw, "[") {
		o := response{text: raw}
		var parts []json.RawMessage
		_ = json.Unmarshal([]byte(raw), &parts)
		for _, part := range parts {
			m := parse(string(part))
			o.parts = append(o.parts, m.response())
			if waiting := c.waiting[string(m.ID)]; waiting != nil {
				defer func() { waiting <- o }()
				delete(c.waiting, string(m.ID))
			}
		}
		return
	}
	m := parse(raw)
	id := string(m.ID)
	if m.Method == "notifications/subscriptions/acknowledged" {
		id, m.Method = string(m.Params.Meta[subscriptionID]), "" // a subscription's answer comes at its end
	}
	if waiting := c.waiting[id]; waiting != nil && m.Method == "" {
		delete(c.waiting, id)
		waiting <- m.response()
		return
	}
	c.heard <- m
}

func parse(raw string) (m message) {
	_ = json.Unmarshal([]byte(raw), &m)
	m.Raw = raw
	return m
}

func (m message) response() response {
	o := response{text: m.Raw}
	if m.Error != nil {
		o.code = m.Error.Code
	}
	return o
}

// request sends a request.
func (c *client) request(t *testing.T, method, params string) *sent {
	t.Helper()
	id := c.newID()
	return c.send(t, id, c.message(id, method, params))
}

func (c *client) newID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	return fmt.Sprint(c.lastID)
}

// message writes a request that wants to hear of everything.
func (c *client) message(id, method, params string) string {
	meta := `"progressToken":` + id
	if c.modern {
		meta += `,"io.modelcontextprotocol/logLevel":"error"`
	}
	return c.peer.message(id, method, params, meta)
}

// send sends a message, whose answer has the id.
func (c *client) send(t *testing.T, id, msg string) *sent {
	t.Helper()
	s := &sent{t: t, client: c, id: id, answer: make(chan response, 2), wrote: make(chan struct{}), over: make(chan struct{})}
	c.mu.Lock()
	c.waiting[id] = s.answer
	c.mu.Unlock()
	if !c.http {
		c.wire.send(msg)
		return s
	}
	ctx, hangUp := context.WithCancel(t.Context())
	ctx = onWrite(ctx, s.wrote)
	s.hangUp = hangUp
	header := c.peer.headers(msg, nil)
	go func() {
		defer close(s.over)
		o := response{none: true}
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if waiting := c.waiting[id]; waiting != nil && waiting == s.answer {
				delete(c.waiting, id)
				waiting <- o
			}
		}()
		resp, err := c.server.try(ctx, "POST", "/mcp", strings.NewReader(msg), header)
		if err != nil {
			o.text = err.Error()
			return
		}
		defer resp.Body.Close()
		o.status = resp.StatusCode
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			b, _ := io.ReadAll(resp.Body)
			o.text = string(b)
			if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
				c.take(o.text)
			}
			return
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Buffer(nil, 64<<20); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				c.take(data)
			}
		}
	}()
	return s
}

// The documents of the fixture that change, in this order.
const (
	watchedURI = "fixture://watched"
	controlURI = "fixture://control"
)

// document is a URI of the fixture's that behaves.
func document(do, at string) string { return "fixture://" + at + "?do=" + do }

// ask makes a request of a kind that has the fixture do something. A batch asks
// for a tool and a prompt.
func (c *client) ask(t *testing.T, kind, do, at string) *sent {
	t.Helper()
	at = cmp.Or(at, "-")
	if c.cli {
		if kind == kindList {
			return c.command(t, "tools")
		}
		return c.command(t, "call", "fixture_do", do, "--at", at)
	}
	if kind == kindTask {
		return c.follow(t, c.request(t, methods[kindTool], params(kindTool, "task "+do, at)))
	}
	if kind == kindUpload {
		return c.upload(t, at)
	}
	if kind == kindBatch {
		tool, prompt := c.newID(), c.newID()
		return c.send(t, tool, "["+c.message(tool, "tools/call", params(kindTool, do, at))+","+c.message(prompt, "prompts/get", params(kindPrompt, do, at))+"]")
	}
	if kind == kindSubscribe && c.modern {
		return c.request(t, "subscriptions/listen", fmt.Sprintf(`"notifications":{"promptsListChanged":true,"resourceSubscriptions":[%q]}`, document(do, at)))
	}
	return c.request(t, methods[kind], params(kind, do, at))
}

// follow returns what has the outcome of the task that a request becomes as its answer: that of the
// request, if it becomes none.
func (c *client) follow(t *testing.T, call *sent) *sent {
	s := &sent{t: t, client: c, answer: make(chan response, 2), wrote: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(s.over)
		var o response
		next := func(call *sent) bool {
			select {
			case o = <-call.answer:
				return true
			case <-t.Context().Done(): // the test is over, and may not be failed any more
				return false
			}
		}
		if !next(call) {
			return
		}
		result := rawjson.Member([]byte(o.text), "result")
		s.task, _ = rawjson.String(rawjson.Member(result, "taskId"))
		close(s.wrote)
		for s.task != "" && t.Context().Err() == nil {
			if !next(c.request(t, "tasks/get", fmt.Sprintf(`"taskId":%q`, s.task))) {
				return
			}
			result := rawjson.Member([]byte(o.text), "result")
			status, _ := rawjson.String(rawjson.Member(result, "status"))
			if failed := rawjson.Member(result, "error"); failed != nil {
				must(t, json.Unmarshal(rawjson.Member(failed, "code"), &o.code))
			}
			if status != "working" && status != "input_required" {
				break
			}
			if requests := rawjson.Member(result, "inputRequests"); requests != nil {
				c.answer(t, s.task, requests)
			}
			time.Sleep(5 * time.Millisecond) // or nothing else would get a turn
		}
		s.answer <- o
	}()
	return s
}

// upload sends a file to a path, and returns what has the outcome as its answer.
func (c *client) upload(t *testing.T, path string) *sent {
	const call = `"name":"upload_file","arguments":{"path":%q,"file":{"id":"f1","name":"f","mimeType":"text/plain","size":5}}`
	first := c.request(t, "tools/call", fmt.Sprintf(call, path))
	s := &sent{t: t, client: c, answer: make(chan response, 2)}
	go func() {
		o := first.wait()
		result := rawjson.Member([]byte(o.text), "result")
		var targets []struct {
			Path    string
			Headers map[string]string
		}
		if json.Unmarshal(rawjson.Member(result, "uploads"), &targets) == nil && len(targets) == 1 {
			header := map[string]string{"Content-Type": "text/plain"}
			for name, value := range c.peer.headers("", targets[0].Headers) {
				header[name] = value
			}
			if resp, err := c.server.try(t.Context(), "PUT", "/mcp"+targets[0].Path, strings.NewReader("hello"), header); err == nil {
				resp.Body.Close()
			}
			o = c.request(t, "tools/call", fmt.Sprintf(call+`,"requestState":%s`, path, rawjson.Member(result, "requestState"))).wait()
		}
		s.answer <- o
	}()
	return s
}

// answer agrees to everything that a task asks.
func (c *client) answer(t *testing.T, task string, requests json.RawMessage) {
	redacted(t, response{text: string(requests)})
	answers := ""
	_ = rawjson.Object(requests, func(name, _ []byte) error {
		answers = members(answers, fmt.Sprintf(`%q:{"action":"accept","content":{}}`, name))
		return nil
	})
	c.good(t, c.request(t, "tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{%s}`, task, answers)).wait())
}

var methods = map[string]string{
	kindTool: "tools/call", kindResource: "resources/read", kindPrompt: "prompts/get", kindCompletion: "completion/complete",
	kindSkill: "resources/read", kindList: "tools/list", kindSubscribe: "resources/subscribe",
}

func params(kind, do, at string) string {
	switch kind {
	case kindTool, kindPrompt:
		return fmt.Sprintf(`"name":"fixture_do","arguments":{"do":%q,"at":%q}`, do, at)
	case kindCompletion:
		return fmt.Sprintf(`"ref":{"type":"ref/prompt","name":"fixture_do"},"argument":{"name":"do","value":%q},"context":{"arguments":{"at":%q}}`, do, at)
	case kindSkill:
		return fmt.Sprintf(`"uri":"skill://fixture/do/%s/%s"`, url.PathEscape(do), url.PathEscape(at))
	case kindList:
		return fmt.Sprintf(`"unknown":%q`, at)
	}
	return fmt.Sprintf(`"uri":%q`, document(do, at))
}

// command runs the program; its exit code is the response's, and all it prints
// the text.
func (c *client) command(t *testing.T, args ...string) *sent {
	t.Helper()
	cmd := exec.Command(fixtureBinary(t), append([]string{args[0], "--config", c.config}, args[1:]...)...)
	cmd.Env = append(covered.Env(), "PATH="+os.Getenv("PATH"), "HOME=/nonexistent")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &sent{t: t, client: c, answer: make(chan response, 1), hangUp: func() { cmd.Process.Signal(syscall.SIGINT) }}
	go func() {
		_ = cmd.Wait() // the exit code says it
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all.WriteString(out.String())
		s.answer <- response{code: cmd.ProcessState.ExitCode(), text: out.String()}
	}()
	return s
}

// wait returns what became of the request.
func (s *sent) wait() response {
	s.t.Helper()
	select {
	case o := <-s.answer:
		return o
	case <-time.After(patience):
		s.t.Fatal("there is no answer")
	}
	return response{}
}

// cancel takes the request back as its client may. Over HTTP it has to have arrived.
func (s *sent) cancel() {
	s.t.Helper()
	c := s.client
	switch {
	case c.kind == kindTask:
		<-s.wrote
		c.good(s.t, c.request(s.t, "tasks/cancel", fmt.Sprintf(`"taskId":%q`, s.task)).wait())
	case c.http && c.modern:
		<-s.wrote
		s.hangUp()
	case c.cli:
		s.hangUp()
	case c.http:
		if r := c.peer.post(s.t, cancel(s.id), nil); r.status != http.StatusAccepted {
			s.t.Errorf("cancel: %d %s", r.status, r.body)
		}
	default:
		c.wire.send(cancel(s.id))
	}
}

// hear waits for something the server says besides answers, and drops what comes
// before it.
func (c *client) hear(t *testing.T, what string, is func(message) bool) message {
	t.Helper()
	for late := time.After(patience); ; {
		select {
		case m := <-c.heard:
			if is(m) {
				return m
			}
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// said returns all the server has said and logged.
func (c *client) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.String() + c.log()
}
