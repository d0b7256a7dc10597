package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// tasksExtension is the capability of both sides for tasks (SEP-2663), with which a server may
// answer tools/call by a handle that its client asks for the result.
const tasksExtension = "io.modelcontextprotocol/tasks"

const methodTasksUpdate = "tasks/update"

// Bounds of a task.
const (
	leastPoll        = 250 * time.Millisecond // between two looks at it
	usualPoll        = time.Second
	mostPoll         = 10 * time.Second
	pollTime         = 30 * time.Second // of a request about it
	cancelTime       = 2 * time.Second
	maxPollFailures  = 6 // in a row, before it is given up
	maxTaskQuestions = 100
	maxTaskID        = 1 << 10 // bytes, also of the name of a question
)

// IsTask reports whether a server has answered with a task.
func IsTask(result json.RawMessage) bool {
	return bytes.Contains(result, []byte(`"task"`)) && string(rawjson.Member(result, "resultType")) == `"task"`
}

// TaskError says why a task has no outcome: a clause whose subject is the server. It hides its
// cause, so that nobody takes it for a reason to call again.
type TaskError struct{ Problem string }

func (e *TaskError) Error() string { return "the server " + e.Problem }

func taskErrorf(format string, args ...any) *TaskError {
	return &TaskError{fmt.Sprintf(format, args...)}
}

// Task is the task that a server has answered a call with.
type Task struct {
	Created json.RawMessage // the answer

	// Send sends a request to the server, over whatever connection there is by then.
	Send func(context.Context, Request) (json.RawMessage, error)
	// Ask answers a request of the server. It is called concurrently, and returns when its
	// context ends.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Said takes what the server says of the task, when that changes.
	Said func(message string)

	id, message string
	interval    time.Duration                 // that the server asks for
	failures    int                           // of requests, in a row
	asked       map[string]context.CancelFunc // by the names of questions; nil once there is no answer to wait for
	open        int                           // questions that wait for an answer
	answered    chan taskAnswer
	answers     map[string]json.RawMessage // that the server does not have yet
	rejected    error                      // why it does not take the last ones
}

type taskAnswer struct {
	name  string
	value json.RawMessage
	err   error
}

// Wait returns what the call has come to: its result, or the error that it would have been
// answered with. If there is nothing to wait for any more, the server is asked to cancel the
// task.
func (t *Task) Wait(ctx context.Context) (json.RawMessage, error) {
	id, err := rawjson.String(rawjson.Member(t.Created, "taskId"))
	if err != nil || id == "" || len(id) > maxTaskID || strings.ContainsFunc(id, unicode.IsControl) {
		return nil, taskErrorf("answered with a task without a valid ID")
	}
	t.id, t.interval, t.asked, t.answered, t.answers = id, usualPoll, map[string]context.CancelFunc{}, make(chan taskAnswer), map[string]json.RawMessage{}
	waiting, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	result, over, err := t.follow(waiting, &asking)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if !over {
		limited, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer stop()
		_, _ = t.send(limited, string(mcp.MethodTasksCancel), nil)
	}
	return result, err
}

// follow looks at the task until it is over, or cannot be waited for.
func (t *Task) follow(ctx context.Context, asking *sync.WaitGroup) (result json.RawMessage, over bool, err error) {
	t.note(t.Created)
	wait := t.interval
	if string(rawjson.Member(t.Created, "status")) != `"working"` { // tasks/get has what belongs to it
		wait = 0
	}
	for {
		method, answers := string(mcp.MethodTasksGet), json.RawMessage(nil)
		select {
		case <-time.After(wait):
		case a := <-t.answered:
			if err := t.take(a); err != nil {
				return nil, false, err
			}
			if wait = t.interval; t.open > 0 || len(t.answers) == 0 {
				continue
			}
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		if t.open == 0 && len(t.answers) > 0 {
			method, answers = methodTasksUpdate, jsonrpc.AppendValue(nil, t.answers)
		}
		state, rejected, err := t.request(ctx, method, answers)
		switch {
		case rejected && answers != nil: // perhaps since the task has gone on without them
			t.rejected, wait = err, 0
			clear(t.answers)
		case rejected:
			return nil, true, taskErrorf("does not know the task any more: %v", err)
		case err != nil && t.failures <= maxPollFailures && ctx.Err() == nil:
			wait = min(usualPoll<<(t.failures-1), mostPoll)
		case err != nil:
			return nil, false, err
		case answers != nil:
			wait = t.interval
			clear(t.answers)
		default:
			t.note(state)
			if result, over, err = t.look(ctx, state, asking); over || err != nil {
				return result, over, err
			}
			wait = t.interval
		}
	}
}

// note takes in what a state says besides its status.
func (t *Task) note(state json.RawMessage) {
	var ms *float64
	if json.Unmarshal(rawjson.Member(state, "pollIntervalMs"), &ms) == nil && ms != nil {
		t.interval = time.Duration(min(max(*ms*float64(time.Millisecond), float64(leastPoll)), float64(mostPoll)))
	}
	if message, _ := rawjson.String(rawjson.Member(state, "statusMessage")); message != "" && message != t.message {
		t.message = message
		t.Said(message)
	}
}

// look acts on the state of the task: it returns the outcome if that is over, and has the caller
// asked what the server requires.
func (t *Task) look(ctx context.Context, state json.RawMessage, asking *sync.WaitGroup) (result json.RawMessage, over bool, err error) {
	if id := rawjson.Member(state, "taskId"); id != nil {
		if text, err := rawjson.String(id); err != nil || text != t.id {
			return nil, false, taskErrorf("answered with the state of another task")
		}
	}
	var requests map[string]inputRequest
	switch status, _ := rawjson.String(rawjson.Member(state, "status")); status {
	case "completed":
		result = rawjson.Member(state, "result")
		if kind := string(rawjson.Member(result, "resultType")); len(result) == 0 || result[0] != '{' || kind == `"task"` || kind == `"input_required"` {
			return nil, true, taskErrorf("says that the task is complete, without its result")
		}
		return result, true, nil
	case "failed":
		failure := rawjson.Member(state, "error")
		if len(failure) == 0 || failure[0] != '{' {
			return nil, true, taskErrorf("says that the task has failed, without its error%s", t.because())
		}
		e := jsonrpc.ParseError(failure)
		if e.Code == 0 {
			e.Code = jsonrpc.CodeInternalError
		}
		if e.Message == "" {
			e.Message = "the task has failed" + t.because()
		}
		return nil, true, e
	case "cancelled":
		return nil, true, taskErrorf("has canceled the task%s", t.because())
	case "working":
	case "input_required":
		if t.rejected != nil {
			return nil, false, taskErrorf("does not accept the answer to its question: %v", t.rejected)
		}
		if raw := rawjson.Member(state, "inputRequests"); raw != nil && json.Unmarshal(raw, &requests) != nil {
			return nil, false, taskErrorf("asks something that is no valid request")
		}
	default:
		return nil, false, taskErrorf("answered with a task of unknown status %.100q", status)
	}
	t.rejected = nil
	return nil, false, t.ask(ctx, requests, asking)
}

// because returns what the server has said last, as the end of a sentence.
func (t *Task) because() string {
	if t.message == "" {
		return ""
	}
	return fmt.Sprintf(": %.1000s", t.message)
}

// ask has what the server requires asked once, and withdraws what it does not require any more.
func (t *Task) ask(ctx context.Context, requests map[string]inputRequest, asking *sync.WaitGroup) error {
	for name, withdraw := range t.asked {
		if _, required := requests[name]; withdraw != nil && !required {
			withdraw()
			t.asked[name] = nil
			t.open--
		}
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if _, known := t.asked[name]; known {
			continue
		}
		request := requests[name]
		if len(t.asked) == maxTaskQuestions || len(name) > maxTaskID || request.Method == "" {
			return taskErrorf("asks too much during a task, or something that is no valid request")
		}
		answering, withdraw := context.WithCancel(ctx)
		t.asked[name] = withdraw
		t.open++
		asking.Go(func() {
			defer withdraw()
			value, err := t.Ask(answering, request.Method, request.Params)
			select {
			case t.answered <- taskAnswer{name, value, err}:
			case <-ctx.Done():
			}
		})
	}
	return nil
}

// take takes in an answer, unless its question was withdrawn.
func (t *Task) take(a taskAnswer) error {
	if t.asked[a.name] == nil {
		return nil
	}
	t.asked[a.name] = nil
	t.open--
	t.answers[a.name] = a.value
	return a.err
}

// request sends a request about the task, and reports whether the server rejects it: then it does
// not help to send it again.
func (t *Task) request(ctx context.Context, method string, answers json.RawMessage) (result json.RawMessage, rejected bool, err error) {
	limited, stop := context.WithTimeout(ctx, pollTime)
	defer stop()
	result, err = t.send(limited, method, answers)
	said, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case err == nil:
		t.failures = 0
		return result, false, nil
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case answered && said.Code != jsonrpc.CodeInternalError && !errors.Is(err, ErrSessionEnded):
		return nil, true, err
	}
	t.failures++
	return nil, false, taskErrorf("has failed %d times to say how far the task is: %v", t.failures, err)
}

func (t *Task) send(ctx context.Context, method string, answers json.RawMessage) (json.RawMessage, error) {
	params := append(rawjson.AppendString([]byte(`{"taskId":`), t.id), '}')
	if answers != nil {
		params = rawjson.With(params, "inputResponses", answers)
	}
	return t.Send(ctx, Request{Method: method, Params: json.RawMessage(params), Tasks: true, RelayInput: true})
}
