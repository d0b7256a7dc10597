package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// play serves input and returns the lines that come of it.
func play(t *testing.T, s *Server, input string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), local, strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestFraming(t *testing.T) {
	s, _ := fixture(t)
	ping := request(`1`, "ping", `{}`, false)
	pong := `{"jsonrpc":"2.0","id":1,"result":{}}`
	refused := func(id, code, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%q}}`, id, code, text)
	}
	tooLong := "the message is longer than server.max_message allows (1048576 bytes); send less at once, or ask the operator to raise it"
	for _, test := range []struct {
		name, input string
		want        []string
	}{
		{"nothing", "", nil},
		{"no newline at the end", ping, []string{pong}},
		{"blank lines", "\n \n\r\n" + ping + "\n\n", []string{pong}},
		{"carriage return", ping + "\r\n", []string{pong}},
		{"not JSON", "{oops\n" + ping, []string{refused("null", "-32700", "the message is not JSON at byte 1: expected a string"), pong}},
		{"not UTF-8", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + "\xff" + `"}}` + "\n" + ping, []string{refused("null", "-32700", "the message is not UTF-8"), pong}},
		{"no version", `{"id":1,"method":"ping"}`, []string{refused("1", "-32600", `"jsonrpc" must be "2.0"`)}},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, []string{refused("null", "-32600", `"id" must be a string or a number`)}},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, []string{refused("null", "-32600", `"id" must be a string or a number`)}},
		{"no method", `{"jsonrpc":"2.0","id":1}`, []string{refused("1", "-32600", `"method" is missing`)}},
		{"answer nobody asked for", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, nil},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil},
		{"batch not negotiated", "[" + ping + "]", []string{refused("null", "-32600", "batches belong to protocol version 2025-03-26, which this session has not negotiated")}},
		{"too long", strings.Repeat("x", 20<<20) + "\n" + ping, []string{refused("null", "-32600", tooLong), pong}},
		{"too long, with its id", `{"method":"ping","params":{"id":3,"x":"` + strings.Repeat("x", 2<<20) + `"},"jsonrpc":"2.0","id":"a"}` + "\n" + ping, []string{refused(`"a"`, "-32600", tooLong), pong}},
		{"too long at the end", ping + "\n" + strings.Repeat("x", 3<<20), []string{pong, refused("null", "-32600", tooLong)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := play(t, s, test.input)
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	s, _ := fixture(t)
	lines := play(t, s, initialize("2025-03-26")+"\n["+
		request(`1`, "ping", `{}`, false)+`,{"jsonrpc":"2.0","method":"notifications/initialized"},{"x":1},`+
		request(`2`, "tools/call", `{"name":"nap"}`, false)+"]\n[]\n"+`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	if len(lines) != 3 {
		t.Fatalf("got %q", lines)
	}
	answers := strings.Join(lines, "\n")
	for _, want := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `"id":2,"result":{"content":[{"type":"text","text":"rested"}`, `"id":null,"error":{"code":-32600`, "the batch is empty"} {
		if !strings.Contains(answers, want) {
			t.Errorf("no %s in %s", want, answers)
		}
	}
}

// TestBatchCanceled cancels requests of a batch in the line after it: however
// fast that is read, they are canceled, and the batch has no answer.
func TestBatchCanceled(t *testing.T) {
	s, _ := fixture(t)
	s.opts.Grace = 20 * time.Millisecond // after it, a call that is not canceled is answered
	before := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"`+strings.Repeat("x", 1000)+`"}},`, maxBatch-1)
	input := initialize("2025-03-26") + "\n[" + before + request(`7`, "tools/call", `{"name":"wait"}`, false) + "]\n" +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n"
	for range 20 {
		if lines := play(t, s, input); len(lines) != 1 {
			t.Fatalf("the batch was answered: %.200q", lines[1])
		}
	}
}

// TestInputEnds checks that what is under way when the input ends is answered.
func TestInputEnds(t *testing.T) {
	s, _ := fixture(t)
	var input strings.Builder
	for i := range 50 {
		input.WriteString(request(fmt.Sprint(i), "tools/call", `{"name":"nap"}`, false) + "\n")
	}
	if got := play(t, s, input.String()); len(got) != 50 {
		t.Errorf("%d of 50 calls answered", len(got))
	}
}

// TestGraceEnds checks that a call does not keep a server alive whose client is
// gone.
func TestGraceEnds(t *testing.T) {
	s, _ := fixture(t)
	s.opts.Grace = 10 * time.Millisecond
	for _, call := range []string{
		request(`1`, "tools/call", `{"name":"wait"}`, false),
		request(`1`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, true),
	} {
		start := time.Now()
		got := play(t, s, call)
		if took := time.Since(start); took > stopTime || len(got) == 0 {
			t.Errorf("%s\ntook %v, got %q", call, took, got)
		}
	}
}

// client talks to a server over pipes.
type client struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func dial(t *testing.T, s *Server) *client {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, local, in, out) }()
	t.Cleanup(func() {
		cancel()
		toServer.Close()
		go io.Copy(io.Discard, fromServer)
		<-done
	})
	return &client{t, toServer, bufio.NewReader(fromServer)}
}

func (c *client) send(msg string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, msg); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// TestCancel checks that a canceled call gives no answer, and that others go on
// while it runs.
func TestCancel(t *testing.T) {
	s, _ := fixture(t)
	c := dial(t, s)
	c.send(request(`"a"`, "tools/call", `{"name":"wait"}`, false))
	c.send(request(`2`, "ping", `{}`, false))
	if got := c.receive(); !strings.Contains(got, `"id":2`) {
		t.Fatalf("got %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":"\u0061","method":"tools/list"}`)
	if got := c.receive(); !strings.Contains(got, "is in flight already") {
		t.Errorf("the same id twice: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061","reason":"no more"}}`)
	c.send(request(`3`, "tools/call", `{"name":"nap"}`, false))
	if got := c.receive(); !strings.Contains(got, `"id":3`) {
		t.Errorf("got %s", got)
	}
}

func TestTooManyRequests(t *testing.T) {
	s, _ := fixture(t)
	s.opts.MaxInFlight = 2
	c := dial(t, s)
	for i := range 3 {
		c.send(request(fmt.Sprint(i), "tools/call", `{"name":"wait"}`, false))
	}
	if got := c.receive(); !strings.Contains(got, `"id":2,"error":{"code":-32600,"message":"2 requests are in flight already`) {
		t.Errorf("got %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if got := c.receive(); got != `{"jsonrpc":"2.0","id":"p","result":{}}` {
		t.Errorf("ping: %s", got)
	}
}

// TestManyAtOnce checks that slow calls run side by side, and that a ping does
// not wait for them.
func TestManyAtOnce(t *testing.T) {
	s, _ := fixture(t)
	c := dial(t, s)
	go func() {
		for i := range 200 {
			c.send(request(fmt.Sprint(i), "tools/call", `{"name":"nap"}`, false))
		}
		c.send(request(`"ping"`, "ping", `{}`, false))
	}()
	seen := map[string]bool{}
	for range 201 {
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(c.receive()), &m); err != nil {
			t.Fatal(err)
		}
		seen[string(m.ID)] = true
	}
	if len(seen) != 201 {
		t.Errorf("%d different answers", len(seen))
	}
}

// TestHandOver makes calls that end just when another goroutine takes over
// reading: each answer must come, although nothing follows that would flush it.
func TestHandOver(t *testing.T) {
	s, _ := fixture(t)
	var clients sync.WaitGroup
	for range 4 {
		c := dial(t, s)
		clients.Go(func() {
			for i := range 1000 {
				fmt.Fprintln(c.in, request(fmt.Sprint(i), "tools/call", `{"name":"spin"}`, false))
				if line, err := c.out.ReadString('\n'); err != nil || !strings.Contains(line, "just so") {
					t.Errorf("%q, %v", line, err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// TestProgressPrecedesAnswer checks both for fast calls.
func TestProgressPrecedesAnswer(t *testing.T) {
	s, _ := fixture(t)
	c := dial(t, s)
	for i := range 200 {
		for _, modern := range []bool{false, true} {
			msg := request(fmt.Sprint(i), "tools/call", `{"name":"steps"}`, modern)
			if modern {
				msg = strings.Replace(msg, `"_meta":{`, `"_meta":{"progressToken":"tok",`, 1)
			} else {
				msg = strings.Replace(msg, `"params":{`, `"params":{"_meta":{"progressToken":"tok"},`, 1)
			}
			c.send(msg)
			for step := 1; step <= 3; step++ {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":%d,"total":3}}`, step)
				if got := c.receive(); got != want {
					t.Fatalf("got %s; want %s", got, want)
				}
			}
			if got := c.receive(); !strings.Contains(got, `"text":"done"`) {
				t.Fatalf("got %s", got)
			}
		}
	}
}

func TestToolsChanged(t *testing.T) {
	s, registry := fixture(t)
	c := dial(t, s)
	c.send(request(`"sub"`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`, true))
	if got, want := c.receive(), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := registry.Disable("nap"); err != nil {
		t.Fatal(err)
	}
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`
	if got := c.receive(); got != changed {
		t.Errorf("got %s", got)
	}
	c.send(initialize("2025-06-18"))
	if got := c.receive(); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Errorf("got %s", got)
	}
	if err := registry.Enable("nap"); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for range 3 { // the handshake may have come in time to hear of the first change, too
		got[c.receive()] = true
		if got[changed] && got[`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`] {
			return
		}
	}
	t.Errorf("got %v", got)
}

func TestListTools(t *testing.T) {
	s, registry := fixture(t)
	list := func(modern bool, cursor string) string {
		params := `{}`
		if cursor != "" {
			params = fmt.Sprintf(`{"cursor":%q}`, cursor)
		}
		return play(t, s, request(`1`, "tools/list", params, modern))[0]
	}
	first := list(false, "")
	if !strings.HasPrefix(first, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"broken","description":"A tool.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}},`) {
		t.Errorf("got %s", first)
	}
	if strings.Contains(first, `"off"`) || strings.Contains(first, `"staff"`) || strings.Contains(first, "ttlMs") {
		t.Errorf("got %s", first)
	}
	if again := list(false, ""); again != first {
		t.Error("the cache answers otherwise")
	}
	if modern := list(true, ""); !strings.HasSuffix(modern, `,"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1"}}}}`) {
		t.Errorf("got %s", modern)
	}
	if bad := list(false, "?"); !strings.Contains(bad, `"code":-32602`) {
		t.Errorf("got %s", bad)
	}
	registry.Unregister("built-in")
	add(s, domain.Define(domain.Tool{Name: "new", Description: "Is new."}, func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text(""), nil }))
	if next := list(true, ""); strings.Contains(next, `"broken"`) || !strings.Contains(next, `"new"`) || !strings.Contains(next, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("the cache outlives a change: %s", next)
	}
}

// TestUnknownMethod checks methods that there are not, in one era or at all.
func TestUnknownMethod(t *testing.T) {
	s, _ := fixture(t)
	for _, msg := range []string{
		request(`9007199254740993`, "no/such", `{}`, false), request(`9007199254740993`, "no/such", `{}`, true),
		request(`9007199254740993`, "ping", `{}`, true), request(`9007199254740993`, "subscriptions/listen", `{}`, false),
	} {
		if got := play(t, s, msg)[0]; !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601`) {
			t.Errorf("%s\n got %s", msg, got)
		}
	}
	future := strings.ReplaceAll(request(`1`, "tools/list", `{}`, true), "2026-07-28", "2099-01-01")
	if got := play(t, s, future)[0]; !strings.Contains(got, `"code":-32022`) || !strings.Contains(got, `"requested":"2099-01-01"`) {
		t.Errorf("got %s", got)
	}
	bare := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	if got := play(t, s, bare)[0]; !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, "clientCapabilities") {
		t.Errorf("got %s", got)
	}
}

// stuckWriter is a client that has stopped to exist.
type stuckWriter struct{}

func (stuckWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestClientGone(t *testing.T) {
	s, _ := fixture(t)
	in, toServer := io.Pipe()
	go fmt.Fprintln(toServer, request(`1`, "ping", `{}`, false))
	defer toServer.Close()
	if err := s.ServeStdio(t.Context(), local, in, stuckWriter{}); err == nil {
		t.Error("the server did not notice")
	}
}

// FuzzStdio checks that no input stops the server, and that all it says is
// JSON, a line each.
func FuzzStdio(f *testing.F) {
	for _, s := range []string{initialize("2025-03-26") + "\n[{}]", request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"x"}}`, true), "\x00\n{}\n[]\n\"x\"", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`} {
		f.Add(s)
	}
	s, _ := fixture(f)
	s.opts.Grace = time.Second
	f.Fuzz(func(t *testing.T, input string) {
		if strings.Contains(input, "wait") || strings.Contains(input, `\u`) {
			return // a call that waits for its end, possibly in disguise
		}
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), local, strings.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q made the server say %q", input, line)
			}
		}
	})
}

// TestSlowAfterAll checks that requests that were fast before, and are not now,
// do not keep others waiting for long.
func TestSlowAfterAll(t *testing.T) {
	s, _ := fixture(t)
	hold := make(chan struct{})
	held := false
	add(s, domain.Define(domain.Tool{Name: "moody", Description: "Is fast once."}, func(ctx context.Context, _ noInput) (domain.ToolResult, error) {
		if held {
			select {
			case <-hold:
			case <-ctx.Done():
			}
		}
		return domain.Text("done"), nil
	}))
	c := dial(t, s)
	call := func(id int) { c.send(request(fmt.Sprint(id), "tools/call", `{"name":"moody"}`, false)) }
	for s.pace.of([]byte(`"moody"`)).Load() == 0 {
		call(0)
		c.receive()
	}
	held = true
	for id := range 100 {
		call(id)
	}
	c.send(request(`"p"`, "ping", `{}`, false))
	if got, want := c.receive(), `{"jsonrpc":"2.0","id":"p","result":{}}`; got != want {
		t.Fatalf("got %s; want %s", got, want)
	}
	close(hold)
	for range 100 {
		if got := c.receive(); !strings.Contains(got, `"text":"done"`) {
			t.Fatal(got)
		}
	}
}

// TestBeforeAnswers checks that what has to happen before answers does, over
// both transports.
func TestBeforeAnswers(t *testing.T) {
	s, _ := fixture(t)
	var calls atomic.Int32
	s.opts.BeforeAnswers = func() { calls.Add(1) }
	play(t, s, request(`1`, "ping", `{}`, false))
	if calls.Swap(0) == 0 {
		t.Error("not over stdio")
	}
	post(t, httpFixture(t, s, nil).URL+"/mcp", "", request(`1`, "tools/list", `{}`, true), true, nil).Body.Close()
	if calls.Load() == 0 {
		t.Error("not over HTTP")
	}
}

// startsBehind sends calls that each work for a while before they wait for something,
// and a ping after them. It returns how many had begun when the ping was answered.
func startsBehind(t testing.TB, calls int) (begun int64) {
	s, _ := fixture(t)
	s.opts.Grace = 0
	var started atomic.Int64
	add(s, domain.Define(domain.Tool{Name: "start", Description: "A tool.", Timeout: time.Minute}, func(ctx context.Context, _ noInput) (domain.ToolResult, error) {
		for begun := time.Now(); time.Since(begun) < time.Millisecond; {
		}
		started.Add(1)
		<-ctx.Done()
		return domain.ToolResult{}, ctx.Err()
	}))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), local, in, out) }()
	var lines strings.Builder
	for i := range calls {
		lines.WriteString(request(fmt.Sprint(i), "tools/call", `{"name":"start"}`, false) + "\n")
	}
	lines.WriteString(request(`"p"`, "ping", `{}`, false) + "\n")
	go io.WriteString(toServer, lines.String())
	answer, err := bufio.NewReader(fromServer).ReadString('\n')
	begun = started.Load()
	if err != nil || !strings.Contains(answer, `"id":"p"`) {
		t.Fatalf("got %q, %v", answer, err)
	}
	toServer.Close()
	go io.Copy(io.Discard, fromServer)
	if err := <-done; err != nil {
		t.Error(err)
	}
	return begun
}

// TestPingBehindStarts checks that a ping does not wait until the calls before it have
// been started, whatever a start takes.
func TestPingBehindStarts(t *testing.T) {
	const calls = 400
	if begun := startsBehind(t, calls); begun > calls/4 {
		t.Errorf("%d of %d calls were started before a ping behind them was answered", begun, calls)
	}
}
