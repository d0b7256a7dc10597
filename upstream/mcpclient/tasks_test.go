package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

const (
	createdTask   = `{"resultType":"task","taskId":"t-1","status":"working","createdAt":"2026-11-25T10:30:00Z","lastUpdatedAt":"2026-11-25T10:30:00Z","ttlMs":60000,"pollIntervalMs":5000}`
	completedTask = `{"resultType":"complete","taskId":"t-1","status":"completed","result":{"content":[]}}`
	askingTask    = `{"taskId":"t-1","status":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}},"b":{"method":"roots/list"}}}`
)

// taskServer answers requests about a task with its states, the last one again and again.
type taskServer struct {
	mu       sync.Mutex
	states   []string // "error CODE" is a JSON-RPC error, "broken" another, "silent" no answer
	updates  []string // what tasks/update is answered with; then {}
	requests []string // method and, of tasks/update, the answers
	at       []time.Duration
	began    time.Time
}

func (s *taskServer) send(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	params := req.Params.(json.RawMessage)
	if id, _ := rawjson.String(rawjson.Member(params, "taskId")); id != "t-1" || !req.Tasks {
		return nil, fmt.Errorf("a request about the task %q", id)
	}
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(req.Method+" "+string(rawjson.Member(params, "inputResponses"))))
	answer := "{}"
	switch from := &s.states; {
	case req.Method == "tasks/update" && len(s.updates) > 0:
		answer, s.updates = s.updates[0], s.updates[1:]
	case req.Method == "tasks/get":
		s.at = append(s.at, time.Since(s.began))
		if answer = (*from)[0]; len(*from) > 1 {
			*from = (*from)[1:]
		}
	}
	s.mu.Unlock()
	var code int
	switch _, err := fmt.Sscanf(answer, "error %d", &code); {
	case err == nil:
		return nil, &jsonrpc.Error{Code: code, Message: "no"}
	case answer == "broken":
		return nil, &mcpclient.HTTPError{Status: 503}
	case answer == "silent":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return json.RawMessage(answer), nil
}

// sent returns how often a method was requested.
func (s *taskServer) sent(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, method) {
			n++
		}
	}
	return n
}

func (s *taskServer) task(created string) *mcpclient.Task {
	s.began = time.Now()
	return &mcpclient.Task{
		Created: json.RawMessage(created), Send: s.send, Said: func(string) {},
		Ask: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"` + method + `"`), nil
		},
	}
}

// TestTask has tasks come to each end.
func TestTask(t *testing.T) {
	working := func(more string) string { return `{"taskId":"t-1","status":"working"` + more + `}` }
	for _, test := range []struct {
		name     string
		created  string
		states   []string
		updates  []string
		want     string // what Wait returns
		requests string // how often each was sent: get, update, cancel
		at       string // when tasks/get was sent
	}{
		{"completed", createdTask, []string{working(""), completedTask}, nil, `{"content":[]}`, "2 0 0", "[5s 10s]"},
		{"completed from its start", `{"taskId":"t-1","status":"completed"}`, []string{completedTask}, nil, `{"content":[]}`, "1 0 0", "[0s]"},
		{"without an interval", `{"taskId":"t-1","status":"working"}`, []string{working(""), completedTask}, nil, `{"content":[]}`, "2 0 0", "[1s 2s]"},
		{"intervals", createdTask, []string{
			working(`,"pollIntervalMs":0`), working(`,"pollIntervalMs":-5`), working(`,"pollIntervalMs":1e12`), working(`,"pollIntervalMs":"9"`), working(`,"pollIntervalMs":null`),
			working(`,"pollIntervalMs":300.5`), completedTask,
		}, nil, `{"content":[]}`, "7 0 0", "[5s 5.25s 5.5s 15.5s 25.5s 35.5s 35.8005s]"},
		{"failed", createdTask, []string{`{"status":"failed","error":{"code":-32042,"message":"m","data":{"x":1}}}`}, nil, `-32042 m {"x":1}`, "1 0 0", "[5s]"},
		{"failed without an error", createdTask, []string{`{"status":"failed","statusMessage":"disk full"}`}, nil, "without its error: disk full", "1 0 0", "[5s]"},
		{"failed without a message", createdTask, []string{`{"status":"failed","statusMessage":"disk full","error":{}}`}, nil, "-32603 the task has failed: disk full", "1 0 0", "[5s]"},
		{"canceled", createdTask, []string{`{"status":"cancelled","statusMessage":"by the admin"}`}, nil, "has canceled the task: by the admin", "1 0 0", "[5s]"},
		{"without a result", createdTask, []string{`{"status":"completed"}`}, nil, "without its result", "1 0 0", "[5s]"},
		{"a task in a task", createdTask, []string{`{"status":"completed","result":` + createdTask + `}`}, nil, "without its result", "1 0 0", "[5s]"},
		{"unknown status", createdTask, []string{`{"status":"paused"}`}, nil, `unknown status "paused"`, "1 0 1", "[5s]"},
		{"another task", createdTask, []string{strings.Replace(completedTask, "t-1", "t-2", 1)}, nil, "of another task", "1 0 1", "[5s]"},
		{"forgotten", createdTask, []string{working(""), "error -32602"}, nil, "does not know the task any more", "2 0 0", "[5s 10s]"},
		{"failures that end", createdTask, []string{"broken", "silent", "error -32603", completedTask}, nil, `{"content":[]}`, "4 0 0", "[5s 6s 38s 42s]"},
		{"failures", createdTask, []string{"broken"}, nil, "has failed 7 times to say how far the task is", "7 0 1", "[5s 6s 8s 12s 20s 30s 40s]"},
		{"endless", createdTask, []string{working(`,"pollIntervalMs":10000`)}, nil, "context deadline exceeded", "60 0 1", ""},
		{"questions", createdTask, []string{askingTask, askingTask, completedTask}, nil, `{"content":[]}`, "3 1 0", "[5s 10s 15s]"},
		{"answers that get lost", createdTask, []string{askingTask, completedTask}, []string{"broken", "silent"}, `{"content":[]}`, "2 3 0", "[5s 43s]"},
		{"answers that are rejected", createdTask, []string{askingTask}, []string{"error -32602"}, "does not accept the answer to its question", "2 1 1", "[5s 5s]"},
		{"answers that come too late", createdTask, []string{askingTask, completedTask}, []string{"error -32602"}, `{"content":[]}`, "2 1 0", "[5s 5s]"},
		{"no request", createdTask, []string{`{"status":"input_required","inputRequests":{"a":{"params":{}}}}`}, nil, "no valid request", "1 0 1", "[5s]"},
		{"without an ID", `{"status":"working"}`, []string{completedTask}, nil, "without a valid ID", "0 0 0", "[]"},
		{"a long ID", `{"taskId":"` + strings.Repeat("x", 1025) + `"}`, []string{completedTask}, nil, "without a valid ID", "0 0 0", "[]"},
		{"an ID on two lines", `{"taskId":"a\r\nb"}`, []string{completedTask}, nil, "without a valid ID", "0 0 0", "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &taskServer{states: test.states, updates: test.updates}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				result, err := s.task(test.created).Wait(ctx)
				if got := outcomeOf(result, err); !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
				if got := fmt.Sprintf("%d %d %d", s.sent("tasks/get"), s.sent("tasks/update"), s.sent("tasks/cancel")); got != test.requests {
					t.Errorf("requests: %s, want %s", got, test.requests)
				}
				if got := fmt.Sprint(s.at); test.at != "" && got != test.at {
					t.Errorf("looked at %s, want %s", got, test.at)
				}
				if s.sent("tasks/update") > 0 && !slices.Contains(s.requests, `tasks/update {"a":"elicitation/create","b":"roots/list"}`) {
					t.Errorf("answers: %q", s.requests)
				}
			})
		})
	}
}

// outcomeOf returns a result, or an error with what a caller is told of it.
func outcomeOf(result json.RawMessage, err error) string {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data)
	}
	if err != nil {
		return err.Error()
	}
	return string(result)
}

// TestTaskMembers has each member of each state be of each wrong kind. The task ends, with its
// result or with an error that says what is wrong.
func TestTaskMembers(t *testing.T) {
	kinds := []string{"", "null", "7", "-1", "1e400", "true", `""`, `"x"`, `"\u0000"`, "[]", "[null]", "[{}]", "{}", `{"a":null}`, `{"a":7}`, `{"a":{"method":7}}`, `{"a":{"method":"x","params":7}}`}
	states := map[string]string{
		"created": createdTask, "asking": askingTask, "completed": completedTask,
		"working": strings.Replace(createdTask, `"resultType":"task"`, `"resultType":"complete","statusMessage":"halfway"`, 1),
		"failed":  `{"taskId":"t-1","status":"failed","error":{"code":-32000,"message":"it broke"}}`,
	}
	members := []string{
		"resultType", "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "result", "error", "inputRequests", "_meta",
		"error.code", "error.message", "error.data", "result.content", "result.resultType", "inputRequests.a", "inputRequests.a.method", "inputRequests.a.params", "inputRequests.",
	}
	for name, state := range states {
		for _, member := range members {
			for _, value := range kinds {
				odd := string(put(json.RawMessage(state), member, value))
				t.Run(name+" "+member+" "+value, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s, created := &taskServer{states: []string{odd, completedTask}}, createdTask
						if name == "created" {
							s.states, created = s.states[1:], odd
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						result, err := s.task(created).Wait(ctx)
						_, ended := errors.AsType[*mcpclient.TaskError](err)
						failed, isFailure := errors.AsType[*jsonrpc.Error](err)
						switch {
						case err == nil && len(result) > 0 && result[0] == '{', ended:
						case isFailure && name == "failed" && failed.Code != 0 && failed.Message != "":
						default:
							t.Errorf("%s: %s, %v", odd, result, err)
						}
					})
				})
			}
		}
	}
}

// put sets a member, whose path has dots, or removes it.
func put(object json.RawMessage, path, value string) json.RawMessage {
	name, rest, deeper := strings.Cut(path, ".")
	if deeper {
		inner := rawjson.Member(object, name)
		if inner == nil {
			inner = []byte("{}")
		}
		value = string(put(inner, rest, value))
	}
	object = rawjson.Without(object, name)
	if value == "" {
		return object
	}
	return rawjson.With(object, name, []byte(value))
}

// TestTaskQuestions has questions be answered one after the other, be withdrawn, fail, and be
// too many.
func TestTaskQuestions(t *testing.T) {
	ask := func(names ...string) string {
		requests := make([]string, len(names))
		for i, name := range names {
			requests[i] = `"` + name + `":{"method":"elicitation/create","params":"` + name + `"}`
		}
		return `{"status":"input_required","inputRequests":{` + strings.Join(requests, ",") + `}}`
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint("q", i)
	}
	for _, test := range []struct {
		name    string
		states  []string
		takes   map[string]time.Duration // the time that each question takes
		fails   error
		want    string
		updates []string
		stopped int // questions that nobody wants to have answered any more
	}{
		{"together", []string{ask("a", "b"), ask("a", "b"), ask("a", "b"), `{"status":"working"}`, completedTask}, map[string]time.Duration{"b": 5 * time.Second}, nil, `{"content":[]}`, []string{`{"a":"a","b":"b"}`}, 0},
		{"one after the other", []string{ask("a"), ask("a", "b"), completedTask}, nil, nil, `{"content":[]}`, []string{`{"a":"a"}`, `{"b":"b"}`}, 0},
		{"withdrawn", []string{ask("a", "b"), ask("a"), completedTask}, map[string]time.Duration{"a": 3 * time.Second, "b": time.Hour}, nil, `{"content":[]}`, []string{`{"a":"a"}`}, 1},
		{"ended", []string{ask("a"), completedTask}, map[string]time.Duration{"a": time.Hour}, nil, `{"content":[]}`, nil, 1},
		{"failing", []string{ask("a")}, nil, errors.New("nobody can be asked"), "nobody can be asked", nil, 0},
		{"too many", []string{ask(many...)}, nil, nil, "asks too much", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &taskServer{states: test.states}
				task := s.task(`{"taskId":"t-1","status":"working","pollIntervalMs":2000}`)
				var mu sync.Mutex
				stopped := 0
				task.Ask = func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
					name, _ := rawjson.String(params)
					select {
					case <-time.After(test.takes[name]):
						return params, test.fails
					case <-ctx.Done():
						mu.Lock()
						defer mu.Unlock()
						stopped++
						return nil, context.Cause(ctx)
					}
				}
				result, err := task.Wait(t.Context())
				if got := outcomeOf(result, err); !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
				var updates []string
				for _, r := range s.requests {
					if answers, ok := strings.CutPrefix(r, "tasks/update "); ok {
						updates = append(updates, answers)
					}
				}
				if !slices.Equal(updates, test.updates) {
					t.Errorf("updates: %q", updates)
				}
				if test.name != "too many" && stopped != test.stopped {
					t.Errorf("%d questions were withdrawn", stopped)
				}
				if canceled := s.sent("tasks/cancel"); canceled == 0 != (err == nil) {
					t.Errorf("%d times canceled", canceled)
				}
			})
		})
	}
}

// TestTaskCanceled has a caller give a task up, while a request about it is under way and while
// none is: the server is asked to cancel it once.
func TestTaskCanceled(t *testing.T) {
	gone := errors.New("gone")
	for _, state := range []string{"silent", `{"status":"working"}`, askingTask} {
		synctest.Test(t, func(t *testing.T) {
			s := &taskServer{states: []string{state}}
			task := s.task(createdTask)
			task.Ask = func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(7*time.Second, func() { cancel(gone) })
			if _, err := task.Wait(ctx); err != gone || s.sent("tasks/cancel") != 1 || time.Since(s.began) > 10*time.Second {
				t.Errorf("%s: %v after %v, %q", state, err, time.Since(s.began), s.requests)
			}
		})
	}
}

// TestTaskStatus has a caller be told of what a server says of its task when that changes.
func TestTaskStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := func(message string) string { return `{"status":"working","statusMessage":` + message + `}` }
		s := &taskServer{states: []string{say(`"a"`), say(`"b"`), say(`"b"`), say(`7`), say(`""`), say(`"a"`), completedTask}}
		task := s.task(strings.Replace(createdTask, `"status"`, `"statusMessage":"a","status"`, 1))
		var said []string
		task.Said = func(message string) { said = append(said, message) }
		if _, err := task.Wait(t.Context()); err != nil || !slices.Equal(said, []string{"a", "b", "a"}) {
			t.Errorf("%q, %v", said, err)
		}
	})
}
