package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

type userKey struct{}

func as(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// users says whose calls what the server sent may belong to, and with whose values
// ctx came.
func users(ctx context.Context) string {
	var all []string
	for _, caller := range mcpclient.Callers(ctx) {
		all = append(all, fmt.Sprint(caller.Value(userKey{})))
	}
	slices.Sort(all)
	return fmt.Sprintf("%v %v", all, ctx.Value(userKey{}))
}

// script is a server on streams that does what the test says.
type script struct {
	t   *testing.T
	out io.Writer
	in  chan jsonrpc.Message // requests and responses
}

func (s *script) next() jsonrpc.Message {
	select {
	case m := <-s.in:
		return m
	case <-s.t.Context().Done():
		return jsonrpc.Message{}
	}
}

func (s *script) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

// scripted connects to a server with a handshake that the test plays.
func scripted(t *testing.T, opts mcpclient.Options) (*mcpclient.Client, *script) {
	in, out := io.Pipe()
	requests, toServer := io.Pipe()
	s := &script{t: t, out: out, in: make(chan jsonrpc.Message, 100)}
	go func() {
		lines := bufio.NewScanner(requests)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			m, err := jsonrpc.Parse(slices.Clone(lines.Bytes()), nil)
			switch {
			case err != nil:
				t.Errorf("%s: %v", lines.Bytes(), err)
			case m.Method == "initialize":
				s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized)
			case m.Method != "notifications/initialized":
				s.in <- m
			}
		}
	}()
	opts.Protocol = "2025-11-25"
	c, err := mcpclient.Connect(t.Context(), pipes{in, toServer, in}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, s
}

// TestCallers checks that a question over stdio is nobody's as soon as it may be
// that of several users.
func TestCallers(t *testing.T) {
	notified, questions := make(chan string, 10), make(chan string, 10)
	c, s := scripted(t, mcpclient.Options{
		Notify: func(ctx context.Context, method string, _ json.RawMessage) { notified <- users(ctx) },
		Handlers: map[string]mcpclient.Handler{"elicitation/create": func(ctx context.Context, _ json.RawMessage) (any, error) {
			questions <- users(ctx)
			return json.RawMessage(`{"action":"decline"}`), nil
		}},
	})
	var wait sync.WaitGroup
	call := func(ctx context.Context, method string) jsonrpc.Message {
		wait.Go(func() { _, _ = c.Call(ctx, method, nil) })
		return s.next()
	}
	asked := 0
	check := func(want string) {
		t.Helper()
		asked++
		s.say(`{"jsonrpc":"2.0","method":"notifications/message"}`)
		s.say(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create"}`, asked)
		if n, q := <-notified, <-questions; n != want || q != want {
			t.Errorf("notification %s, question %s; want %s", n, q, want)
		}
		s.next() // the answer
	}
	answer := func(m jsonrpc.Message) { s.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID) }

	check("[] <nil>")
	ping := call(as(t.Context(), "nobody"), "ping")
	check("[] <nil>")
	ann := call(as(t.Context(), "ann"), "tools/call")
	check("[ann] ann")
	ctx, cancel := context.WithCancel(as(t.Context(), "bob"))
	bob := call(ctx, "tools/call")
	check("[ann bob] <nil>")
	cancel() // he may still be served
	if m := s.next(); m.Method != "notifications/cancelled" {
		t.Errorf("%+v", m)
	}
	check("[ann bob] <nil>")
	answer(ann)
	answer(ping)
	wait.Wait()
	check("[bob] <nil>")
	answer(bob) // although it was canceled
	ann = call(as(t.Context(), "ann"), "tools/call")
	check("[ann] ann")
	answer(ann)
	wait.Wait()

	for range 1001 { // nobody remembers so many
		ctx, cancel := context.WithCancel(as(t.Context(), "carl"))
		call(ctx, "tools/call")
		cancel()
		s.next()
	}
	ann = call(as(t.Context(), "ann"), "tools/call")
	check("[] <nil>")
	answer(ann)
	wait.Wait()
}

// TestCallersHTTP checks that over HTTP what comes on the stream of a response
// belongs to that call, and that a handler ends with it.
func TestCallersHTTP(t *testing.T) {
	ended, seen := make(chan string, 10), make(chan string, 10)
	begun := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(format string, args ...any) {
			fmt.Fprintf(w, "data: "+format+"\n\n", args...)
			_ = http.NewResponseController(w).Flush()
		}
		switch {
		case r.Method != "POST":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			event(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized)
		case m.Method == "tools/call":
			event(`{"jsonrpc":"2.0","method":"notifications/message"}`)
			event(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create"}`, m.ID)
			<-begun
			event(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer ts.Close()
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{
		Protocol: "2025-11-25",
		Notify:   func(ctx context.Context, method string, _ json.RawMessage) { seen <- users(ctx) },
		Handlers: map[string]mcpclient.Handler{"elicitation/create": func(ctx context.Context, _ json.RawMessage) (any, error) {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- users(ctx)
			return nil, ctx.Err()
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var wait sync.WaitGroup
	for _, user := range []string{"ann", "bob"} {
		wait.Go(func() {
			if _, err := c.Call(as(t.Context(), user), "tools/call", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, from := range []chan string{seen, ended} {
		all := []string{<-from, <-from}
		if slices.Sort(all); strings.Join(all, ", ") != "[ann] ann, [bob] bob" {
			t.Error(all)
		}
	}
}

// TestCanceledBeforeAnswer cancels calls while their questions are open: a server hears
// that nobody waits for the call before it hears that its question has no answer.
func TestCanceledBeforeAnswer(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	answered := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		hear := func(what string) {
			mu.Lock()
			heard = append(heard, what)
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, initialized)
		case "tools/call":
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\"}\n\n", m.ID)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "notifications/cancelled":
			hear("canceled")
		case "":
			if r.Method != "POST" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			hear("answer")
			answered <- struct{}{}
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer ts.Close()
	asked := make(chan struct{})
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{
		Protocol: "2025-11-25",
		Handlers: map[string]mcpclient.Handler{"elicitation/create": func(ctx context.Context, _ json.RawMessage) (any, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const calls = 20
	for range calls {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, err := c.Call(ctx, "tools/call", nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-answered
	}
	if want := strings.Repeat("canceled answer ", calls); strings.Join(heard, " ")+" " != want {
		t.Errorf("the server heard %s", heard)
	}
}

// TestOtherStream has a server answer a call on the stream of the session: its own
// stream, which stays open, is given up.
func TestOtherStream(t *testing.T) {
	answers, gone := make(chan string, 1), make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		event := func(text string) {
			fmt.Fprintf(w, "data: %s\n\n", text)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case m.Method == "initialize":
			event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized))
		case r.Method == "GET":
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-answers:
				event(text)
				<-r.Context().Done()
			case <-r.Context().Done():
			}
		case m.Method == "tools/call":
			_ = http.NewResponseController(w).Flush()
			answers <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			<-r.Context().Done()
			close(gone)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer ts.Close()
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{Protocol: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(t.Context(), "tools/call", nil); err != nil {
		t.Error(err)
	}
	<-gone
}
