package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/upstream/oauth"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// remote is a server over HTTP without sessions, which a test can break.
type remote struct {
	*httptest.Server
	broken atomic.Bool
	gone   atomic.Int32 // calls to answer with 404, as if their session had ended
	lists  atomic.Int32
	tools  atomic.Pointer[string]
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{}
	r.tools.Store(new(`{"name":"echo","inputSchema":{"type":"object"}}`))
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *remote) serve(w http.ResponseWriter, req *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if req.Method != http.MethodPost || r.broken.Load() {
		http.Error(w, "broken", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewDecoder(req.Body).Decode(&m)
	result := "{}"
	switch m.Method {
	case "server/discover":
		w.WriteHeader(http.StatusNotFound)
		return
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"remote","version":"1"}}`
	case "tools/list":
		r.lists.Add(1)
		result = `{"tools":[` + *r.tools.Load() + `]}`
	case "tools/call":
		if r.gone.Add(-1) >= 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		b, _ := json.Marshal(string(m.Params))
		result = `{"content":[{"type":"text","text":` + string(b) + `}]}`
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// registered starts a server and puts it into a registry, with an executor.
func registered(t *testing.T, s *Server) *call.Executor {
	t.Helper()
	registry, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	registry.Register(s)
	t.Cleanup(registry.Close)
	return call.NewExecutor(registry, call.NewResultStore(0), domain.Settings{}, func(*call.Record) {})
}

// until waits for a condition, which a link changes its state for.
func until(t *testing.T, s *Server, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		s.links.main.mu.Lock()
		changed := s.links.main.changed
		s.links.main.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s: the server is %+v", what, s.Report())
		}
	}
}

func callTool(exec *call.Executor, tool, args string) (string, error) {
	r, err := exec.Call(context.Background(), call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args), Session: domain.Session{ID: "s", Principal: domain.Principal{ID: "user:ann"}}})
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// TestLink has a server that works, loses its sessions, fails and comes back.
func TestLink(t *testing.T) {
	r := newRemote(t)
	s := testServer(t, "far", Settings{URL: r.URL, Timeout: 5 * time.Second})
	exec := registered(t, s)
	ready := func() bool { return s.Report().Status == StatusReady }
	until(t, s, "ready", ready)
	for _, name := range []string{"far__echo", "far_echo"} {
		if got, err := callTool(exec, name, `{"b":1.50,"a":"x"}`); err != nil || !strings.Contains(got, `"arguments":{"b":1.50,"a":"x"}`) || !strings.Contains(got, `"name":"echo"`) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	r.gone.Store(1)
	if _, err := callTool(exec, "far__echo", `{}`); err != nil {
		t.Errorf("a session that has ended: %v", err)
	}
	if n := s.Report().Starts; n != 2 {
		t.Errorf("%d connections", n)
	}
	r.gone.Store(100)
	if _, err := callTool(exec, "far__echo", `{}`); err == nil {
		t.Error("sessions end again and again, and the call succeeds")
	}
	r.gone.Store(0)
	until(t, s, "ready again", ready)

	r.broken.Store(true)
	_, err := callTool(exec, "far__echo", `{}`)
	e, _ := err.(*domain.Error)
	if e == nil || e.Code != domain.CodeExecutionFailed || !strings.Contains(e.Message, "server far") || e.Data["failure"] != retryable {
		t.Errorf("a broken server: %v", err)
	}
	until(t, s, "failed", func() bool { return s.Report().Status == StatusFailed })
	if report := s.Report(); report.Reason == "" || report.NextTry == "" || report.Tools != 1 {
		t.Errorf("%+v", report)
	}
	if _, err := callTool(exec, "far__echo", `{}`); err == nil || !strings.Contains(err.Error(), "unavailable") {
		t.Errorf("a server that has failed: %v", err)
	}
	r.broken.Store(false)
	until(t, s, "recovered", func() bool { // a call has it tried again
		_, err := callTool(exec, "far__echo", `{}`)
		return err == nil
	})
}

// TestListChanged has many notifications of a change read the list a few times only.
func TestListChanged(t *testing.T) {
	r := newRemote(t)
	s := testServer(t, "far", Settings{URL: r.URL})
	exec := registered(t, s)
	until(t, s, "ready", func() bool { return s.Report().Status == StatusReady })
	before := r.lists.Load()
	r.tools.Store(new(`{"name":"other"}`))
	for range 1000 {
		s.links.main.notified(t.Context(), "notifications/tools/list_changed", nil)
	}
	until(t, s, "the new tool", func() bool { _, ok := exec.Registry.Get("far__other"); return ok })
	if n := r.lists.Load() - before; n > 2 {
		t.Errorf("the list was read %d times", n)
	}
	if _, ok := exec.Registry.Get("far__echo"); ok {
		t.Error("the old tool is still there")
	}
}

// TestLazy connects at the first call.
func TestLazy(t *testing.T) {
	r := newRemote(t)
	s := testServer(t, "far", Settings{URL: r.URL, Lazy: true})
	if err := s.files.keepCatalog(catalog{Protocol: "2025-11-25", Tools: []json.RawMessage{json.RawMessage(*r.tools.Load())}}); err != nil {
		t.Fatal(err)
	}
	s = newServer(s.name, s.settings, s.deps)
	exec := registered(t, s)
	if report := s.Report(); report.Status != StatusIdle || report.Starts != 0 {
		t.Errorf("%+v", report)
	}
	if _, err := callTool(exec, "far__echo", `{}`); err != nil || s.Report().Starts != 1 {
		t.Errorf("%v, %+v", err, s.Report())
	}
}

// TestQuestionEnds has a call end that has asked somebody who answers in rounds.
func TestQuestionEnds(t *testing.T) {
	var calls relays
	r := calls.begin(t.Context())
	r.pending = &pending{relay: r, asks: make(chan *ask)}
	asked := make(chan error, 1)
	go func() {
		_, err := r.ask(t.Context(), call.InputRequest{Method: call.AskElicitation})
		asked <- err
	}()
	<-r.pending.asks
	calls.end(r)
	if err := <-asked; err != errAnswered || calls.inFlight.Load() != 0 {
		t.Errorf("%v; %d calls in flight", err, calls.inFlight.Load())
	}
}

// TestBetweenRounds has a server say something while nobody waits for its answer: who makes the next round hears it.
func TestBetweenRounds(t *testing.T) {
	parked, said, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(req.Body).Decode(&m)
		switch result := `{"tools":[{"name":"ask"}]}`; {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			send := func(format string, args ...any) {
				fmt.Fprintf(w, `data: {"jsonrpc":"2.0",`+format+"}\n\n", args...)
				w.(http.Flusher).Flush()
			}
			send(`"id":"q","method":"elicitation/create","params":{"message":"?"}`)
			<-parked
			send(`"method":"notifications/message","params":{"level":"error","data":"meanwhile"}`)
			send(`"method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"half"}`, m.ID)
			send(`"id":"p","method":"ping"`)
			<-answered
			send(`"id":%s,"result":{"content":[]}`, m.ID)
		case string(m.ID) == `"p"`:
			close(said)
			w.WriteHeader(http.StatusAccepted)
		case string(m.ID) == `"q"`:
			close(answered)
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}}}`
			fallthrough
		case m.Method == "tools/list":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(far.Close)
	s := testServer(t, "far", Settings{URL: far.URL})
	exec := registered(t, s)
	until(t, s, "ready", func() bool { return s.Report().Status == StatusReady })
	heard := make(chan string, 4)
	round := func(client *calling) error {
		client.ProgressFunc = func(p call.Progress) { heard <- p.Message }
		_, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: "far__ask", Arguments: json.RawMessage("{}"), Client: &logging{client, func(m call.LogMessage) { heard <- fmt.Sprint(m.Data) }}})
		return err
	}
	required, ok := errors.AsType[*call.InputRequired](round(&calling{}))
	if !ok || len(heard) != 0 {
		t.Fatalf("%+v", required)
	}
	close(parked)
	<-said
	next := &calling{resume: required.Resume, answers: map[string]json.RawMessage{}}
	for name := range required.Requests {
		next.answers[name] = json.RawMessage(`{"action":"accept"}`)
	}
	if err := round(next); err != nil || len(heard) != 2 {
		t.Errorf("%v; %d messages", err, len(heard))
	}
}

// logging is a caller in rounds who takes log messages.
type logging struct {
	*calling
	log func(call.LogMessage)
}

func (l *logging) Log(m call.LogMessage) { l.log(m) }

// listener is a caller who notes all that is said.
type listener struct {
	call.ProgressFunc
	say func(string)
}

func (l *listener) Supports(string) bool { return true }

func (l *listener) Log(m call.LogMessage) { l.say(fmt.Sprintf("%s: %s", m.Logger, m.Data)) }

func (l *listener) Ask(_ context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	l.say(fmt.Sprintf("%s", requests[question].Params))
	return map[string]json.RawMessage{question: json.RawMessage(`{"action":"decline"}`)}, nil
}

// TestTokens has a server repeat what it got to prove who calls, wherever it can.
func TestTokens(t *testing.T) {
	const secret, escaped = "token/of+oauth", `token\/of+oa\u0075th`
	answered := make(chan struct{})
	var said []string
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		_ = json.NewDecoder(req.Body).Decode(&m)
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`, m.ID)
		case m.Method == "tools/list":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say"},{"name":"refuse"}]}}`, m.ID)
		case m.Params.Name == "refuse":
			http.Error(w, strings.Repeat("x", 190)+secret, http.StatusBadRequest)
		case m.Params.Name == "say":
			w.Header().Set("Content-Type", "text/event-stream")
			for _, say := range []string{
				`"method":"notifications/message","params":{"level":"error","logger":"%s","data":"%[1]s"}`,
				`"method":"notifications/progress","params":{"progressToken":` + string(m.ID) + `,"progress":1,"message":"%s"}`,
				`"id":"q","method":"elicitation/create","params":{"message":"%s"}`,
			} {
				fmt.Fprintf(w, `data: {"jsonrpc":"2.0",`+say+"}\n\n", escaped)
			}
			w.(http.Flusher).Flush()
			select {
			case <-answered:
			case <-req.Context().Done():
			}
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n\n", m.ID, escaped)
		case string(m.ID) == `"q"`:
			close(answered)
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(far.Close)
	s := testServer(t, "far", Settings{URL: far.URL, OAuth: oauth.Settings{ClientID: "c", ClientSecret: secret}})
	exec := registered(t, s)
	until(t, s, "ready", func() bool { return s.Report().Status == StatusReady })
	var mu sync.Mutex
	l := &listener{say: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}}
	l.ProgressFunc = func(p call.Progress) { l.say(p.Message) }
	for _, tool := range []string{"far__say", "far__refuse"} {
		r, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool, Client: l})
		l.say(fmt.Sprint(r.Content, err))
	}
	if len(said) != 5 || strings.Contains(fmt.Sprint(said), "oauth") || strings.Contains(fmt.Sprint(said), `oa\u0075th`) || strings.Contains(fmt.Sprint(said), "xtoken") {
		t.Errorf("%d: %q", len(said), said)
	}
	result, err := s.withoutTokens(json.RawMessage(`["`+escaped+`"]`), &jsonrpc.Error{Message: secret, Data: json.RawMessage(`{"` + escaped + `":1}`)})
	if text := fmt.Sprintf("%s %v", result, err); strings.Contains(text, "oauth") {
		t.Error(text)
	}
}
