//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// follower is a client that takes tasks.
type follower struct {
	t    *testing.T
	peer *peer                   // writes the messages
	send func(msg string) string // returns the answer
	n    int
}

// follower returns a client over HTTP that takes tasks.
func (s *httpServer) follower(t *testing.T, token string) *follower {
	p := s.newPeer(t, modernVersion, token)
	p.can = takesTasks
	return &follower{t: t, peer: p, send: func(msg string) string { return p.post(t, msg, nil).last() }}
}

// followerOn starts a server on stdio for a client that takes tasks.
func followerOn(t *testing.T, argv ...string) (*follower, *program) {
	t.Helper()
	out, stdout, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { out.Close() })
	s := spawn(t, stdout, nil, argv...)
	lines := bufio.NewReader(out)
	return &follower{t: t, peer: &peer{modern: true, can: takesTasks}, send: func(msg string) string {
		_, err := s.in.WriteString(msg + "\n")
		must(t, err)
		for {
			line, err := lines.ReadString('\n')
			must(t, err)
			if rawjson.Member([]byte(line), "id") != nil {
				return line
			}
		}
	}}, s
}

// taskSays is what an answer says of a task.
type taskSays struct {
	ResultType, TaskID, Status, StatusMessage string
	TTLMs                                     *int
	PollIntervalMs                            int
	Result                                    struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error struct {
		Code    int
		Message string
	}
	refused struct { // the request itself
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// request sends a request about a task.
func (f *follower) request(method, params string) (is taskSays) {
	f.t.Helper()
	f.n++
	answer := f.send(f.peer.message(fmt.Sprint(f.n), method, params, ""))
	if failed := rawjson.Member([]byte(answer), "error"); failed != nil {
		must(f.t, json.Unmarshal(failed, &is.refused))
		return is
	}
	must(f.t, json.Unmarshal(rawjson.Member([]byte(answer), "result"), &is))
	return is
}

// call calls a tool, which must become a task, and returns its ID.
func (f *follower) call(tool string, args any) string {
	f.t.Helper()
	raw, err := json.Marshal(args)
	must(f.t, err)
	is := f.request("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, raw))
	if is.ResultType != "task" || is.TaskID == "" || is.Status != "working" {
		f.t.Fatalf("%s is no task: %+v", tool, is)
	}
	return is.TaskID
}

func (f *follower) get(id string) taskSays {
	f.t.Helper()
	return f.request("tasks/get", fmt.Sprintf(`"taskId":%q`, id))
}

// settles waits until a task has a status.
func (f *follower) settles(id, status string) (is taskSays) {
	f.t.Helper()
	eventually(f.t, "the task is "+status, func() bool {
		is = f.get(id)
		if is.refused.Code != 0 || is.Status != status && is.Status != "working" {
			f.t.Fatalf("the task is %+v instead of %s", is, status)
		}
		return is.Status == status
	})
	return is
}

// eachFollower runs a test over both transports. The server's state directory stays when it is
// started again.
func eachFollower(t *testing.T, test func(t *testing.T, dir string, start func() (*follower, *program))) {
	for _, transport := range []string{"http", "stdio"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := httpConfig(t, dir, "state_directory: "+filepath.Join(t.TempDir(), "state"))
			test(t, dir, func() (*follower, *program) {
				if transport == "http" {
					s := startHTTP(t, binary(), args...)
					return s.follower(t, ""), s.program
				}
				return followerOn(t, append([]string{binary(), "serve", "--stdio"}, args...)...)
			})
		})
	}
}

// TestTasks has commands become tasks: in the background at once, others when they take long.
// A job and its task are one.
func TestTasks(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, dir string, start func() (*follower, *program)) {
		f, _ := start()
		until := func(name string) string { return "until [ -e " + name + " ]; do sleep 0.05; done; echo done" }
		for _, background := range []bool{true, false} {
			name := fmt.Sprint("go", background)
			id := f.call("bash", map[string]any{"command": until(name), "background": background})
			if is := f.get(id); is.ResultType != "complete" || is.Status != "working" || is.TTLMs != nil || is.PollIntervalMs <= 0 {
				t.Errorf("a task that goes on: %+v", is)
			}
			jobs := f.request("tools/call", `"name":"bash_jobs","arguments":{}`)
			if said := fmt.Sprint(jobs.Result); background && strings.Count(f.get(id).StatusMessage, "job-") == 0 {
				t.Errorf("the task does not name its job: %s", said)
			}
			touch(t, filepath.Join(dir, name))
			is := f.settles(id, "completed")
			if len(is.Result.Content) == 0 || !strings.Contains(is.Result.Content[0].Text, "done") || is.TTLMs == nil || *is.TTLMs <= 0 {
				t.Errorf("a task that is done: %+v", is)
			}
			for _, method := range []string{"tasks/cancel", "tasks/update"} { // nothing comes of it
				if ack := f.request(method, fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, id)); ack.ResultType != "complete" || ack.Status != "" || ack.refused.Code != 0 {
					t.Errorf("%s of a task that is done: %+v", method, ack)
				}
			}
			if again := f.get(id); again.Status != "completed" || len(again.Result.Content) == 0 {
				t.Errorf("a second look: %+v", again)
			}
		}
	})
}

// TestTasksCancel ends tasks from all sides: nothing of a command is left.
func TestTasksCancel(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, dir string, start func() (*follower, *program)) {
		f, _ := start()
		for _, background := range []bool{true, false} {
			marker := newMarker()
			id := f.call("bash", map[string]any{"command": "sleep 1000." + marker, "background": background})
			sleeping(t, marker, 1)
			if ack := f.request("tasks/cancel", fmt.Sprintf(`"taskId":%q`, id)); ack.ResultType != "complete" || ack.refused.Code != 0 {
				t.Errorf("tasks/cancel: %+v", ack)
			}
			f.settles(id, "cancelled")
			gone(t, marker)
		}
		marker := newMarker()
		id := f.call("bash", map[string]any{"command": "sleep 1000." + marker, "background": true})
		sleeping(t, marker, 1)
		_, job, _ := strings.Cut(f.get(id).StatusMessage, "job ")
		job, _, _ = strings.Cut(job, " ")
		f.request("tools/call", fmt.Sprintf(`"name":"bash_jobs","arguments":{"action":"stop","job":%q}`, job))
		if is := f.settles(id, "completed"); !strings.Contains(fmt.Sprint(is.Result), "stopped") {
			t.Errorf("the task of job %s, which was stopped: %+v", job, is)
		}
		gone(t, marker)
	})
}

// TestTasksRestart kills the server, or has it end, while a task goes on. The next one says
// that it has failed, and makes no call again.
func TestTasksRestart(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, dir string, start func() (*follower, *program)) {
		f, s := start()
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			marker := newMarker()
			ran := filepath.Join(dir, marker)
			id := f.call("bash", map[string]any{"command": "echo ran >> " + ran + "; sleep 1000." + marker, "background": true})
			done := f.call("bash", map[string]any{"command": "echo done", "background": true})
			f.settles(done, "completed")
			sleeping(t, marker, 1)
			must(t, s.cmd.Process.Signal(signal))
			s.end()
			gone(t, marker)
			f, s = start()
			if is := f.get(id); is.Status != "failed" || is.Error.Code == 0 || !strings.Contains(is.StatusMessage, "unknown") {
				t.Errorf("after %v the task is %+v", signal, is)
			}
			if is := f.get(done); is.Status != "completed" || !strings.Contains(fmt.Sprint(is.Result), "done") {
				t.Errorf("after %v the task that was done is %+v", signal, is)
			}
			if ack := f.request("tasks/cancel", fmt.Sprintf(`"taskId":%q`, id)); ack.ResultType != "complete" {
				t.Errorf("after %v tasks/cancel says %+v", signal, ack)
			}
			if text := read(t, ran); text != "ran\n" {
				t.Errorf("after %v the command has run %d times", signal, strings.Count(text, "ran"))
			}
		}
	})
}

// TestTasksOfOthers keeps tasks apart: to everybody else they do not exist, and they end with
// the token of their principal. Reloads change nothing.
func TestTasksOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := httpConfig(t, dir, withTokens("ann", "anns", "bob", "bobs"))
	s := launchHTTP(t, nil, binary(), args...)
	reload := func(yaml string) {
		t.Helper()
		before := strings.Count(s.log(), "configuration reloaded")
		must(t, os.WriteFile(args[1], fmt.Appendf(nil, "working_directory: %s\n%s", dir, yaml), 0o600))
		eventually(t, "the configuration is reloaded", func() bool { return strings.Count(s.log(), "configuration reloaded") > before })
	}
	ann, bob := s.follower(t, "anns"), s.follower(t, "bobs")
	marker := newMarker()
	id := ann.call("bash", map[string]any{"command": "sleep 1000." + marker, "background": true})
	sleeping(t, marker, 1)
	unknown := id[:len(id)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(id, "a")]
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		of := func(f *follower, id string) taskSays {
			return f.request(method, fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, id))
		}
		foreign, none := of(bob, id), of(bob, unknown)
		if foreign.refused.Code != -32602 || fmt.Sprint(foreign) != fmt.Sprint(none) {
			t.Errorf("%s of another's task: %+v; of none: %+v", method, foreign, none)
		}
		for _, odd := range []string{`""`, `null`, `7`, `["x"]`, `"../../lock"`, `"` + strings.Repeat("a", 5000) + `"`} {
			if is := ann.request(method, `"inputResponses":{},"taskId":`+odd); is.refused.Code != -32602 && is.refused.Code != -32020 {
				t.Errorf("%s of %.20s: %+v", method, odd, is)
			}
		}
	}
	plain := s.newPeer(t, modernVersion, "anns")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		r := plain.post(t, plain.message("1", method, fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, id), ""), nil)
		if r.status != 400 || !strings.Contains(r.body, `"code":-32021`) || !strings.Contains(r.body, `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
			t.Errorf("%s without the extension: %d %s", method, r.status, r.body)
		}
	}
	reload(withTokens("ann", "anns", "bob", "bobs") + "tools: {bash: {timeout: 100s}}\n")
	if is := ann.get(id); is.Status != "working" {
		t.Errorf("after a reload: %+v", is)
	}
	reload(withTokens("ann", "anns", "bob", "bobs") + "protocol: {extensions: {tasks: false}}\n")
	if is := ann.get(id); is.refused.Code != -32601 {
		t.Errorf("without the extension: %+v", is)
	}
	reload(withTokens("bob", "bobs"))
	gone(t, marker)
	reload(withTokens("ann", "anns", "bob", "bobs"))
	if is := ann.get(id); is.Status != "failed" || !strings.Contains(is.StatusMessage, "revoked") {
		t.Errorf("after the token was revoked: %+v", is)
	}
}

// TestTasksListen follows tasks by notifications, each with all there is to say.
func TestTasksListen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := launchHTTP(t, nil, binary(), httpConfig(t, dir, withTokens("ann", "anns", "bob", "bobs"))...)
	ann, bob := s.follower(t, "anns"), s.follower(t, "bobs")
	id := ann.call("bash", map[string]any{"command": "until [ -e go ]; do sleep 0.05; done; echo done", "background": true})
	listen := fmt.Sprintf(`"notifications":{"taskIds":[%q,"none"]}`, id)
	foreign := bob.peer.listen(t, "POST", bob.peer.message("7", "subscriptions/listen", listen, ""))
	if first, _ := foreign.next("data: "); strings.Contains(first, id) {
		t.Errorf("another's task is granted: %s", first)
	}
	stream := ann.peer.listen(t, "POST", ann.peer.message("7", "subscriptions/listen", listen, ""))
	if first, _ := stream.next("data: "); !strings.Contains(first, fmt.Sprintf(`"taskIds":[%q]`, id)) {
		t.Errorf("the acknowledgement is %s", first)
	}
	touch(t, filepath.Join(dir, "go"))
	for {
		line, ok := stream.next("data: ")
		if !ok {
			t.Fatal("the stream ends")
		}
		var n struct {
			Method string
			Params struct {
				taskSays
				Meta map[string]any `json:"_meta"`
			}
		}
		must(t, json.Unmarshal([]byte(line), &n))
		if n.Method != "notifications/tasks" || n.Params.TaskID != id || n.Params.Meta["io.modelcontextprotocol/subscriptionId"] != 7.0 {
			t.Fatalf("a notification is %s", line)
		}
		if n.Params.Status == "completed" {
			if !strings.Contains(fmt.Sprint(n.Params.Result), "done") {
				t.Errorf("the last one is %s", line)
			}
			break
		}
	}
	plain := s.newPeer(t, modernVersion, "anns")
	if r := plain.post(t, plain.message("7", "subscriptions/listen", listen, ""), map[string]string{"Accept": "application/json, text/event-stream"}); !strings.Contains(r.body, `-32021`) {
		t.Errorf("without the extension: %s", r.body)
	}
}
