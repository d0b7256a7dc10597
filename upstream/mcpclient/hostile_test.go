package mcpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

type answer struct {
	result json.RawMessage
	err    error
}

// begin starts a call and returns its request.
func begin(ctx context.Context, c *mcpclient.Client, s *script, params any) (jsonrpc.Message, <-chan answer) {
	got := make(chan answer, 1)
	go func() {
		result, err := c.Call(ctx, "tools/call", params)
		got <- answer{result, err}
	}()
	return s.next(), got
}

// TestLongLines sends lines that exceed the limit: each costs the call that it
// answers, if any.
func TestLongLines(t *testing.T) {
	const limit = 1 << 20
	c, s := scripted(t, mcpclient.Options{MaxMessageBytes: limit})
	long := `"` + strings.Repeat("x", 2*limit) + `"`
	bystander, after := begin(t.Context(), c, s, nil)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":` + long + `}`,
		` { "jsonrpc" : "2.0", "id": ID , "error" : {"code":1,"message":` + long + `}}`,
		`{"result":{"id":1,"a":` + long + `},"jsonrpc":"2.0","id":ID}`,
		`{"jsonrpc":"2.0","error":{"a":` + long + `},"id":ID} `,
	} {
		m, got := begin(t.Context(), c, s, nil)
		s.say("%s", strings.ReplaceAll(line, "ID", string(m.ID)))
		if a := <-got; a.err != mcpclient.ErrTooLong {
			t.Errorf("%.60s: %v", line, a.err)
		}
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":` + long + `}`,
		`{"jsonrpc":"2.0","id":ID,"method":"sampling/createMessage","params":` + long + `}`,
		`{"method":"sampling/createMessage","params":{"a":` + long + `},"jsonrpc":"2.0","id":ID}`,
		long,
	} {
		s.say("%s", strings.ReplaceAll(line, "ID", string(bystander.ID)))
	}
	s.say(`{"jsonrpc":"2.0","id":%s,"result":{"a": "%s"}}`, bystander.ID, strings.Repeat("y", limit-100))
	if a := <-after; a.err != nil || len(a.result) != limit-100+len(`{"a": ""}`) {
		t.Errorf("%.100s, error %v", a.result, a.err)
	}
	one, first := begin(t.Context(), c, s, nil)
	other, second := begin(t.Context(), c, s, nil)
	s.say(`{"result":{"a":%s},"id":%s,"x":1}`, long, one.ID)
	if a := <-first; a.err != mcpclient.ErrTooLong {
		t.Error(a.err)
	}
	_, third := begin(t.Context(), c, s, nil)
	s.say(`{"result":{"a":%s},"id":[%s]}`, long, other.ID) // which of them it is, is hard to say
	if a, b := <-second, <-third; a.err != mcpclient.ErrTooLong || b.err != mcpclient.ErrTooLong {
		t.Errorf("%v, %v", a.err, b.err)
	}
}

// TestGarbage has a server write what is no message, 100 MiB of it in one line.
func TestGarbage(t *testing.T) {
	c, s := scripted(t, mcpclient.Options{MaxMessageBytes: 1 << 20})
	m, got := begin(t.Context(), c, s, nil)
	for _, line := range []string{"", " ", "\r", "starting ...", "[]", "{}", "null", "[[]]", "\xff\xfe", `{"id":1}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":[],"method":1}`, `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}`,
		`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 100) + `,"result":{}}`} {
		s.say("%s", line)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		s.out.Write(piece)
	}
	s.say("")
	s.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	if a := <-got; a.err != nil {
		t.Error(a.err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

// TestUnread calls a server that does not read: calls end with their context.
func TestUnread(t *testing.T) {
	unread, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	in, _ := io.Pipe()
	opts := mcpclient.Options{Protocol: "2025-11-25", Name: strings.Repeat("n", 1<<20)}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := mcpclient.Connect(ctx, pipes{in, toServer, in}, opts)
		failed <- err
	}()
	if _, err := io.ReadFull(unread, make([]byte, 100)); err != nil { // it is writing
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestManyCalls makes calls of all sizes at once over pipes, which they fill.
func TestManyCalls(t *testing.T) {
	in, out, err1 := os.Pipe()
	requests, toServer, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewReader(requests)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			switch m, err := jsonrpc.Parse(line, nil); {
			case err != nil:
				t.Errorf("%.100q: %v", line, err)
			case m.Method == "initialize":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, initialized)
			case m.ID != nil:
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, m.Params)
			}
		}
	}()
	c, err := mcpclient.Connect(t.Context(), pipes{in, toServer, in}, mcpclient.Options{Protocol: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var wait sync.WaitGroup
	for caller := range 20 {
		wait.Go(func() {
			for i := range 20 {
				params := fmt.Sprintf(`{"caller":"%d.%d%s"}`, caller, i, strings.Repeat("x", 1<<(i%18)))
				if got, err := c.Call(t.Context(), "echo", json.RawMessage(params)); err != nil || string(got) != params {
					t.Errorf("%.100s: %.100s, error %v", params, got, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestRequestsUnanswered has a server send requests and not read the answers.
func TestRequestsUnanswered(t *testing.T) {
	in, out := io.Pipe()
	requests, toServer := io.Pipe()
	go func() {
		lines := bufio.NewReader(requests)
		line, _ := lines.ReadBytes('\n')
		m, _ := jsonrpc.Parse(line, nil)
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, initialized)
		_, _ = lines.ReadBytes('\n')
		for i := range 1000 {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
		}
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	}()
	read := make(chan struct{})
	c, err := mcpclient.Connect(t.Context(), pipes{in, toServer, in}, mcpclient.Options{Protocol: "2025-11-25",
		Notify: func(context.Context, string, json.RawMessage) { close(read) }})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	if <-read; runtime.NumGoroutine() > before+100 {
		t.Errorf("%d goroutines; %d before", runtime.NumGoroutine(), before)
	}
	c.Close()
}

// TestHostileHTTP has a server answer with more than the limit, or never to an end.
func TestHostileHTTP(t *testing.T) {
	const limit = 1 << 16
	begun, gone := make(chan string, 1), make(chan string, 1)
	piece := strings.Repeat("x", 1<<10)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		kind := "application/json"
		if strings.HasPrefix(m.Method, "sse") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		flush := http.NewResponseController(w).Flush
		switch _, what, _ := strings.Cut(m.Method, "/"); what {
		case "discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)
			return
		case "endless":
			if kind == "text/event-stream" {
				io.WriteString(w, "data: ")
			}
			for range 100 * limit / len(piece) {
				if _, err := io.WriteString(w, piece); err != nil {
					break
				}
			}
		case "announced":
			w.Header().Set("Content-Length", "1000000000000")
			io.WriteString(w, piece)
		case "drip":
			io.WriteString(w, " ")
			flush()
		case "event drip":
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: ")
			flush()
		}
		begun <- m.Method
		<-r.Context().Done()
		gone <- m.Method
	}))
	defer ts.Close()
	notified := make(chan struct{}, 1)
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{MaxMessageBytes: limit,
		Notify: func(context.Context, string, json.RawMessage) { notified <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, method := range []string{"json/endless", "sse/endless"} {
		if _, err := c.Call(t.Context(), method, nil); !errors.Is(err, mcpclient.ErrTooLong) || <-begun != method || <-gone != method {
			t.Errorf("%s: %v", method, err)
		}
	}
	for _, method := range []string{"json/drip", "json/silence", "json/announced", "sse/event drip"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		go func() {
			<-begun
			if method == "sse/event drip" {
				<-notified
			}
			cancel(stop)
		}()
		if _, err := c.Call(ctx, method, nil); err != stop || <-gone != method {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestConnectionsReused checks that a call whose response comes as a stream leaves
// its connection to the next one.
func TestConnectionsReused(t *testing.T) {
	var connections atomic.Int32
	received := make(chan struct{}, 1)
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, discovered)
		_ = http.NewResponseController(w).Flush()
		<-received
	}))
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	ts.Start()
	defer ts.Close()
	received <- struct{}{}
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const calls = 50
	for range calls {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Call(ctx, "tools/call", nil); err != nil {
			t.Fatal(err)
		}
		cancel()
		received <- struct{}{} // only now the stream ends
	}
	if n := connections.Load(); n > calls/2 { // the next call may be faster than the end of a stream
		t.Errorf("%d connections for %d calls", n, calls)
	}
}

// TestListEnds lists from servers that always have more.
func TestListEnds(t *testing.T) {
	pages := 0
	for name, page := range map[string]func() string{
		"pages": func() string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, pages) },
		"bytes": func() string {
			return fmt.Sprintf(`{"tools":["%s"],"nextCursor":"%d"}`, strings.Repeat("x", 8<<20), pages)
		},
	} {
		pages = 0
		c := newHTTP(t, mcpclient.Options{}, func(_ *http.Request, _ string, id, _ json.RawMessage) *http.Response {
			pages++
			return jsonResponse(200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, page())
		})
		if _, err := c.List(t.Context(), "tools/list"); err == nil || !strings.Contains(err.Error(), "does not end") || pages > 3000 || name == "bytes" && pages > 10 {
			t.Errorf("%s: error %v after %d pages", name, err, pages)
		}
	}
	for _, invalid := range []string{`{}`, `{"tools":{}}`, `[]`, `{"tools":[],"nextCursor":5}`} {
		c := newHTTP(t, mcpclient.Options{}, func(_ *http.Request, _ string, id, _ json.RawMessage) *http.Response {
			return jsonResponse(200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, invalid)
		})
		if items, err := c.List(t.Context(), "tools/list"); err == nil {
			t.Errorf("%s: %s", invalid, items)
		}
	}
}
