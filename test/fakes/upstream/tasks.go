package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const tasksExtension = metaPrefix + "tasks"

// task is a call that was answered with a handle (SEP-2663). It goes from step to step:
//
//	working, working:MESSAGE  until the next look
//	wait                      until the file go is in its directory
//	ask, ask:NAME,NAME...     until the questions are answered
//	restart                   until the next look, at which the program has ended
//	completed, failed, cancelled
//	{...}                     is sent as it is
type task struct {
	Tool    string
	Steps   []string
	At      string // its directory, in which each request about it is noted
	Open    []string
	Answers map[string]json.RawMessage
	Asked   int
}

// tasking are tools that are answered with tasks.
func tasking() []tool {
	return []tool{
		{"task", "Takes long.", schema(`"steps":{"type":"array","items":{"type":"string"}},"at":{"type":"string"},"created":{"type":"string"}`, "steps"), func(c *call) (string, error) {
			t := task{Tool: "task", Answers: map[string]json.RawMessage{}}
			var in struct{ Created string }
			c.arguments(&t)
			c.arguments(&in)
			if !c.declaresTasks() {
				return "", noTasks()
			}
			_ = appendLine(t.note(), "call")
			if in.Created != "" {
				return strings.TrimSpace(in.Created[1 : len(in.Created)-1]), nil
			}
			id := rand.Text()
			return join(`"resultType":"task","status":"working"`, common(id)), c.session.upstream.keep(id, &t)
		}},
	}
}

func common(id string) string {
	return fmt.Sprintf(`"taskId":%q,"createdAt":"2026-11-25T10:30:00Z","lastUpdatedAt":"2026-11-25T10:30:00Z","ttlMs":600000,"pollIntervalMs":250`, id)
}

func noTasks() error {
	return &jsonrpc.Error{Code: -32021, Message: "Missing required client capability", Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`)}
}

// declaresTasks reports whether the request declares the extension.
func (c *call) declaresTasks() bool {
	var declared struct{ Extensions map[string]json.RawMessage }
	_ = json.Unmarshal(c.meta[metaPrefix+"clientCapabilities"], &declared)
	return c.modern && declared.Extensions[tasksExtension] != nil
}

// note is the file that has a line for each request about a task.
func (t *task) note() string {
	if t.At == "" {
		return ""
	}
	return filepath.Join(t.At, "requests")
}

// keep keeps a task: in the directory of --tasks, where the next process finds it, or in memory.
func (u *upstream) keep(id string, t *task) error {
	if u.taskDir != "" {
		return os.WriteFile(filepath.Join(u.taskDir, id), jsonrpc.AppendValue(nil, t), 0o600)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tasks[id] = t
	return nil
}

func (u *upstream) task(id string) *task {
	if u.taskDir != "" {
		var t task
		b, err := os.ReadFile(filepath.Join(u.taskDir, filepath.Base(id)))
		if err != nil || json.Unmarshal(b, &t) != nil {
			return nil
		}
		return &t
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tasks[id]
}

// aboutTask serves tasks/get, tasks/update and tasks/cancel.
func (c *call) aboutTask() (string, error) {
	if !c.declaresTasks() {
		return "", noTasks()
	}
	u, id := c.session.upstream, c.text("taskId")
	t := u.task(id)
	if t == nil {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Failed to retrieve task: Task not found")
	}
	if err := appendLine(t.note(), strings.TrimPrefix(c.method, "tasks/")); err != nil {
		return "", err
	}
	var result string
	switch c.method {
	case "tasks/cancel":
		t.Steps = []string{"cancelled"}
	case "tasks/update":
		var answers map[string]json.RawMessage
		_ = json.Unmarshal(c.params["inputResponses"], &answers)
		for name := range answers {
			if !slices.Contains(t.Open, name) {
				return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "no question %q is open", name)
			}
		}
		maps.Copy(t.Answers, answers)
		t.Open = slices.DeleteFunc(t.Open, func(name string) bool { return answers[name] != nil })
		if len(t.Open) == 0 {
			t.Steps = t.Steps[1:]
		}
	default:
		if result = t.look(); result != "" && !member(result, "taskId") {
			result = join(result, common(id))
		}
	}
	if err := u.keep(id, t); err != nil {
		return "", err
	}
	if result == "" && c.method == "tasks/get" { // the step restart
		os.Exit(9)
	}
	return result, nil
}

// look returns the members of the state of a task, and takes it on if it is time. It returns none
// if the program is to end.
func (t *task) look() string {
	kind, about, _ := strings.Cut(t.Steps[0], ":")
	switch {
	case strings.HasPrefix(kind, "{"):
		raw := t.Steps[0]
		t.Steps = t.Steps[1:]
		return strings.TrimSpace(raw[1 : len(raw)-1])
	case kind == "working":
		t.Steps = t.Steps[1:]
		return `"status":"working","statusMessage":` + quote(about)
	case kind == "wait":
		if _, err := os.Stat(filepath.Join(t.At, "go")); err == nil {
			t.Steps = t.Steps[1:]
		}
		return `"status":"working","statusMessage":"waiting"`
	case kind == "ask":
		if len(t.Open) == 0 {
			for name := range strings.SplitSeq(about, ",") {
				t.Asked++
				t.Open = append(t.Open, fmt.Sprintf("%s-%d", name, t.Asked))
			}
		}
		requests := map[string]any{}
		for _, name := range t.Open {
			requests[name] = map[string]any{"method": "elicitation/create", "params": map[string]any{
				"mode": "form", "message": "Who is " + name + "?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
			}}
		}
		return `"status":"input_required","inputRequests":` + string(jsonrpc.AppendValue(nil, requests))
	case kind == "failed":
		return `"status":"failed","error":{"code":-32042,"message":"the task broke","data":{"n":1.50}}`
	case kind == "completed":
		return `"status":"completed","result":{` + text("done "+string(jsonrpc.AppendValue(nil, t.Answers))) + `}`
	case kind == "restart":
		t.Steps = t.Steps[1:]
		return ""
	}
	return `"status":"cancelled","statusMessage":"as it was asked to"`
}
