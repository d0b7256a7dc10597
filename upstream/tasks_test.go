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
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// tasking is a server in memory that answers each call with a task, whose question has to be
// answered first. It is the HTTP client of what is in front of it.
type tasking struct {
	mu       sync.Mutex
	created  string // members of the answer, besides the ID
	without  string // a capability that it does not declare
	works    bool   // without end
	trouble  []int  // statuses that looks at the task are answered with; 0 is no answer
	answer   json.RawMessage
	requests []string
	declared []string // capabilities of clients, by request
}

func (s *tasking) RoundTrip(r *http.Request) (*http.Response, error) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if m.Method == "subscriptions/listen" {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result := `{}`
	if m.Method == "tasks/get" && len(s.trouble) > 0 {
		status := s.trouble[0]
		s.trouble = s.trouble[1:]
		s.requests = append(s.requests, "tasks/get")
		if status == 0 {
			return nil, errors.New("connection reset")
		}
		w := httptest.NewRecorder()
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "600")
		}
		w.WriteHeader(status)
		return w.Result(), nil
	}
	switch m.Method {
	case "server/discover":
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		if s.without != "" {
			result = strings.Replace(result, s.without, "x", 1)
		}
	case "tools/list":
		result = `{"tools":[{"name":"slow"}]}`
	case "tools/call", "prompts/get":
		result = `{"resultType":"task","taskId":"t é","status":"working"` + s.created + `}`
	case "tasks/get":
		result = `{"status":"input_required","inputRequests":{"own":{"method":"elicitation/create","params":{"message":"Go on?"}}}}`
		if s.works {
			result = `{"status":"working"}`
		}
		if s.answer != nil {
			result = fmt.Sprintf(`{"status":"completed","result":{"content":[{"type":"text","text":%q}]}}`, s.answer)
		}
	case "tasks/update":
		s.answer = rawjson.Member(rawjson.Member(m.Params, "inputResponses"), "own")
	}
	if strings.HasPrefix(m.Method, "tasks/") || m.Method == "tools/call" {
		s.requests = append(s.requests, m.Method+" "+r.Header.Get("Mcp-Name"))
		s.declared = append(s.declared, string(rawjson.Member(rawjson.Member(m.Params, "_meta"), "io.modelcontextprotocol/clientCapabilities")))
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	return w.Result(), nil
}

// sent returns how often a method was requested.
func (s *tasking) sent(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(strings.Join(s.requests, "\n"), method)
}

// calling is a client that answers in rounds.
type calling struct {
	call.ProgressFunc
	takesTasks bool
	atOnce     bool          // it has a session
	takes      time.Duration // to answer
	resume     string
	answers    map[string]json.RawMessage
	detached   []string
}

func (c *calling) Supports(string) bool { return true }

func (c *calling) Round() (string, bool) { return c.resume, !c.atOnce }

func (c *calling) Detach(message string) bool {
	c.detached = append(c.detached, message)
	return c.takesTasks
}

func (c *calling) Ask(ctx context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	if c.atOnce {
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return map[string]json.RawMessage{question: json.RawMessage(`{"action":"accept"}`)}, nil
	}
	for name := range requests {
		if c.answers[name] == nil {
			return nil, &call.InputRequired{Requests: requests}
		}
	}
	return c.answers, nil
}

// front puts a server in front of one that answers with tasks.
func front(t *testing.T, back *tasking) (s *Server, slow func(*calling) (domain.ToolResult, error)) {
	t.Helper()
	s = testServer(t, "far", Settings{URL: "https://example.com", CallTimeout: 50 * time.Second, Headers: map[string]string{"Authorization": "Bearer x"}})
	s.deps.HTTP = back
	s = newServer(s.name, s.settings, s.deps)
	registry := registered(t, s).Registry
	exec := call.NewExecutor(registry, call.NewResultStore(0), domain.Settings{Limits: domain.Limits{MaxAbandonGrace: 3 * time.Second}}, func(*call.Record) {})
	s.Settle(t.Context(), "")
	return s, func(client *calling) (domain.ToolResult, error) {
		return exec.Call(t.Context(), call.ExecuteToolCommand{Tool: "far__slow", Arguments: json.RawMessage("{}"), Client: client, Session: domain.Session{ID: "s", Principal: domain.Principal{ID: "user:ann"}}})
	}
}

// TestTaskInRounds has a person take 50 minutes to answer a question of a task: who has a task
// themselves may.
func TestTaskInRounds(t *testing.T) {
	for _, takesTasks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			back := &tasking{}
			s, slow := front(t, back)
			client := &calling{takesTasks: takesTasks}
			_, err := slow(client)
			required, ok := errors.AsType[*call.InputRequired](err)
			if !ok || required.Resume == "" || len(required.Requests) != 1 || len(client.detached) != 1 || client.detached[0] != "Server far works on it." {
				t.Fatalf("%v, detached %q", err, client.detached)
			}
			if takesTasks {
				required.Keep(time.Hour)
			}
			time.Sleep(50 * time.Minute)
			client.resume, client.answers = required.Resume, map[string]json.RawMessage{}
			for name := range required.Requests {
				client.answers[name] = json.RawMessage(`{"action":"accept"}`)
			}
			r, err := slow(client)
			if takesTasks && (err != nil || r.Content[0].Text != `{"action":"accept"}` || back.sent("tasks/cancel") != 0) {
				t.Errorf("%+v, %v", r, err)
			}
			if !takesTasks && (err == nil || !strings.Contains(err.Error(), "no longer waits for an answer") || back.sent("tasks/cancel") != 1) {
				t.Errorf("%v, %q", err, back.requests)
			}
			if back.sent("tools/call") != 1 || back.sent("tasks/get =?base64?dCDDqQ==?=") != back.sent("tasks/get") {
				t.Errorf("%q", back.requests)
			}
			for _, declared := range back.declared {
				if !strings.Contains(declared, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) || !strings.Contains(declared, `"elicitation"`) {
					t.Errorf("declared %s", declared)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTaskMessage has what a server says of its task reach the caller, if it says something, in
// short.
func TestTaskMessage(t *testing.T) {
	for created, want := range map[string]string{
		`,"statusMessage":"Copying"`: "Copying", `,"statusMessage":7`: "Server far works on it.", `,"statusMessage":null`: "Server far works on it.",
		`,"statusMessage":"` + strings.Repeat("é", 3000) + `"`: strings.Repeat("é", 500) + "...",
	} {
		synctest.Test(t, func(t *testing.T) {
			s, slow := front(t, &tasking{created: created})
			client := &calling{takesTasks: true}
			if _, err := slow(client); err == nil || len(client.detached) != 1 || client.detached[0] != want {
				t.Errorf("%s: %v, %q", created, err, client.detached)
			}
			_ = s.Close()
		})
	}
}

// TestTaskUnasked has a server answer with tasks that may not: to other requests than
// tools/call. One that does not declare them is not told that its client takes them.
func TestTaskUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := &tasking{without: "io.modelcontextprotocol/tasks"}
		s, slow := front(t, back)
		_, err := s.calls.get(t.Context(), "p", nil)
		if err == nil || !strings.Contains(err.Error(), "invalid result of prompts/get: a task, which the request cannot be answered with") {
			t.Errorf("prompts/get: %v", err)
		}
		if _, err = slow(&calling{}); err == nil || len(back.declared) == 0 || strings.Contains(back.declared[0], "extensions") {
			t.Errorf("%v, declared %q", err, back.declared)
		}
		_ = s.Close()
	})
}

// TestTaskTime has a task take longer than its call may: the time that a person takes to answer
// does not count.
func TestTaskTime(t *testing.T) {
	for _, test := range []struct {
		works, atOnce bool
		takes         time.Duration
		want          string
	}{
		{works: true, atOnce: true, want: "timed out after 50s"}, {works: true, want: "timed out after 50s"},
		{atOnce: true, takes: 3 * time.Minute}, {atOnce: true, takes: 6 * time.Minute, want: "the client did not answer a question within 5m0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			back := &tasking{works: test.works}
			s, slow := front(t, back)
			r, err := slow(&calling{atOnce: test.atOnce, takes: test.takes})
			if test.want == "" && (err != nil || r.Content[0].Text != `{"action":"accept"}`) {
				t.Errorf("%+v: %+v, %v", test, r, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%+v: %+v, %v", test, r, err)
			}
			_ = s.Close()
			if canceled := back.sent("tasks/cancel") == 1; canceled != (test.want != "") || back.sent("tools/call") != 1 {
				t.Errorf("%+v: %d calls, %d times canceled", test, back.sent("tools/call"), back.sent("tasks/cancel"))
			}
		})
	}
}

// TestTaskTrouble has looks at a task fail in all ways that HTTP has. The call is made once.
func TestTaskTrouble(t *testing.T) {
	for _, test := range []struct {
		trouble []int
		want    string
	}{
		{[]int{404, 500, 0, 429, 502}, ""}, {[]int{401, 403, 410}, ""}, {[]int{202, 302, 400}, ""},
		{[]int{404, 404, 404, 404, 404, 404, 404}, "server far has failed 7 times to say how far the task is: "},
		{[]int{503}, "It asks to be left alone for 9m"},
	} {
		synctest.Test(t, func(t *testing.T) {
			back := &tasking{answer: json.RawMessage("1"), trouble: test.trouble}
			s, slow := front(t, back)
			r, err := slow(&calling{})
			if test.want == "" && (err != nil || r.Content[0].Text != "1") {
				t.Errorf("%v: %+v, %v", test.trouble, r, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "effect is unknown")) {
				t.Errorf("%v: %+v, %v", test.trouble, r, err)
			}
			if back.sent("tools/call") != 1 {
				t.Errorf("%v: %q", test.trouble, back.requests)
			}
			_ = s.Close()
		})
	}
}

// TestTaskDropped has a caller be gone who was asked: the task is canceled at once.
func TestTaskDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := &tasking{}
		s, slow := front(t, back)
		_, err := slow(&calling{takesTasks: true})
		required, ok := errors.AsType[*call.InputRequired](err)
		if !ok {
			t.Fatal(err)
		}
		required.Keep(time.Hour)
		required.Keep(0)
		synctest.Wait()
		if back.sent("tasks/cancel") != 1 || s.links.main.relays.inFlight.Load() != 0 {
			t.Errorf("%q, %d calls in flight", back.requests, s.links.main.relays.inFlight.Load())
		}
		_ = s.Close()
	})
}
