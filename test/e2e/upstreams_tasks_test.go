//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/oauth"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// tasks is a server in front of an upstream that answers with tasks, over stdio or HTTP.
type tasks struct {
	t     *testing.T
	front *httpServer
	args  []string // of the upstream
	http  *remote  // nil over stdio
}

// startTasks starts them. Tasks are kept in a directory if the upstream is to know them when it
// has been started again.
func startTasks(t *testing.T, transport string, args ...string) *tasks {
	w := &tasks{t: t, args: append([]string{"--offer", "good,bad,tasks", "--speaks", "modern"}, args...)}
	upstream := ""
	if transport == "http" {
		r := startRemote(t, w.args...)
		w.http, upstream = &r, r.entry("u", "")
	} else {
		upstream = entry("u", "", upstreamBinary(t), w.args...)
	}
	w.front = startHTTP(t, binary(), httpConfig(t, t.TempDir(), withTokens("ann", annToken, "bob", bobToken)+gateway(upstream))...)
	return w
}

// user connects somebody, whose calls of the upstream work.
func (w *tasks) user(token, version string, user *asked) *mcpclient.Client {
	w.t.Helper()
	c := userOf(w.t, w.front, token, version, user.options("").Handlers)
	eventually(w.t, "the upstream is listed", func() bool { return byName(w.t, c)["u__task"] != nil })
	return c
}

// requests returns what the upstream was requested of a task.
func requests(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "requests"))
	return string(b)
}

// taskComesTo returns what a task comes to that takes these steps.
func taskComesTo(c *mcpclient.Client, dir string, steps ...string) string {
	params, _ := json.Marshal(map[string]any{"name": "u__task", "arguments": map[string]any{"at": dir, "steps": steps}})
	return comesTo(c, "tools/call", string(params))
}

// TestUpstreamsTasks has an upstream answer with tasks, whose callers get what these come to,
// are asked what they ask, and cancel them.
func TestUpstreamsTasks(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			t.Run(transport+", client of "+version, func(t *testing.T) {
				t.Parallel()
				w := startTasks(t, transport)
				user := &asked{says: `{"action":"accept","content":{"name":"Ann"}}`}
				ann := w.user(annToken, version, user)
				bobs := &asked{}
				bob := w.user(bobToken, version, bobs)
				for _, test := range []struct{ steps, want, requests string }{
					{"working completed", `"text":"done {}"`, "call get get"},
					{"failed", `error -32042 the task broke {"n":1.50}`, "call get"},
					{"cancelled", "u__task: server u has canceled the task: as it was asked to. Whether the call had an effect is unknown.", "call get"},
					{"ask:who completed", `done {\"who-1\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}}`, ""},
					{"ask:who,what ask:why completed", `\"why-3\":{\"action\"`, ""},
					{`{"status":"paused"}`, `unknown status`, "call get cancel"},
					{`{"status":"completed","result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":1.50},"isError":true}}`, `"structuredContent":{"n":1.50}`, "call get"},
				} {
					dir := t.TempDir()
					user.saying(user.says)
					if got := taskComesTo(ann, dir, strings.Fields(test.steps)...); !strings.Contains(got, test.want) {
						t.Errorf("%s: %s", test.steps, got)
					}
					got := strings.Join(strings.Fields(requests(dir)), " ")
					questions := strings.Count(strings.ReplaceAll(test.steps, ",", "ask:"), "ask:")
					if strings.HasPrefix(test.steps, "{") {
						questions = 0
					}
					if test.requests != "" && got != test.requests || strings.Count(got, "update") != strings.Count(test.steps, "ask:") || len(user.was()) != questions {
						t.Errorf("%s: requests %q, questions %q", test.steps, got, user.was())
					}
				}
				// Who waits for a task is in nobody's way, and ends it.
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				var said []string
				go func() {
					_, err := ann.CallTool(ctx, "u__task", map[string]any{"at": dir, "steps": []string{"working:on its way", "wait", "ask:who"}}, func(p mcpclient.Progress) {
						if said = append(said, p.Message); p.Message == "waiting" {
							cancel()
						}
					})
					ended <- err
				}()
				eventually(t, "the task is looked at", func() bool { return strings.Contains(requests(dir), "get") })
				if got := taskComesTo(bob, t.TempDir(), "completed"); !strings.Contains(got, "done {}") {
					t.Errorf("bob: %s", got)
				}
				if err := <-ended; !errors.Is(err, context.Canceled) || len(said) != 2 || said[0] != "on its way" || len(bobs.was()) != 0 {
					t.Errorf("%v, %q; bob was asked %q", err, said, bobs.was())
				}
				eventually(t, "the task is canceled", func() bool { return strings.HasSuffix(requests(dir), "cancel\n") })
				if got := requests(dir); strings.Count(got, "cancel") != 1 {
					t.Errorf("requests: %q", got)
				}
			})
		}
	}
}

// TestUpstreamsTasksRelayed has an upstream answer with tasks to a client that takes tasks: it
// gets one of the server in front, is asked, and cancels it while it is asked.
func TestUpstreamsTasksRelayed(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			w := startTasks(t, transport)
			ann, bob := w.user(annToken, modernVersion, &asked{}), w.user(bobToken, modernVersion, &asked{})
			begin := func(dir string, steps ...string) json.RawMessage {
				begun, err := ann.Do(t.Context(), mcpclient.Request{
					Method: "tools/call", Params: map[string]any{"name": "u__task", "arguments": map[string]any{"at": dir, "steps": steps}}, Tasks: true,
				})
				must(t, err)
				if !mcpclient.IsTask(begun) {
					t.Fatalf("no task: %s", begun)
				}
				return begun
			}
			wait := func(ctx context.Context, c *mcpclient.Client, begun json.RawMessage, answer string) (said []string, outcome string) {
				task := mcpclient.Task{
					Created: begun, Send: c.Do, Said: func(message string) { said = append(said, message) },
					Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
						if answer == "" {
							<-ctx.Done()
						}
						return json.RawMessage(answer), ctx.Err()
					},
				}
				result, err := task.Wait(ctx)
				return said, fmt.Sprint(string(result), err)
			}
			for steps, want := range map[string]string{
				"working:halfway completed": "done {}", "failed": "the task broke", "ask:who,what ask:why completed": `\"what-2\":{\"action\":\"decline\"},\"who-1\":`,
				"restart": "effect is unknown",
			} {
				if steps == "restart" && w.http != nil { // nobody starts it again
					continue
				}
				dir := t.TempDir()
				said, got := wait(t.Context(), ann, begin(dir, strings.Fields(steps)...), `{"action":"decline"}`)
				if !strings.Contains(got, want) || len(said) == 0 || said[0] != "Server u works on it." || strings.Count(requests(dir), "call") != 1 {
					t.Errorf("%s: %s; said %q, requests %q", steps, got, said, requests(dir))
				}
			}
			for _, steps := range []string{"wait", "ask:who"} {
				dir := t.TempDir()
				begun := begin(dir, steps)
				if _, got := wait(t.Context(), bob, begun, ""); !strings.Contains(got, "there is no such task") {
					t.Errorf("bob: %s", got)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan string)
				go func() {
					_, got := wait(ctx, ann, begun, "")
					ended <- got
				}()
				eventually(t, "the task is under way", func() bool { return strings.Count(requests(dir), "get") > 3 })
				cancel()
				if got := <-ended; !strings.Contains(got, "context canceled") {
					t.Errorf("%s: %s", steps, got)
				}
				eventually(t, "the task is canceled", func() bool { return strings.HasSuffix(requests(dir), "cancel\n") })
			}
		})
	}
}

// TestUpstreamsTasksRestart has an upstream end during a task, and know it afterwards or not.
func TestUpstreamsTasksRestart(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		for _, keeps := range []bool{true, false} {
			name, args := transport+", forgets it", []string(nil)
			if keeps {
				name, args = transport+", keeps it", []string{"--tasks-dir", t.TempDir()}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := startTasks(t, transport, args...)
				ann := w.user(annToken, modernVersion, &asked{})
				dir := t.TempDir()
				ended := make(chan string, 1)
				go func() { ended <- taskComesTo(ann, dir, "working", "restart", "working", "completed") }()
				if w.http != nil {
					w.http.end()
					address := strings.TrimSuffix(strings.TrimPrefix(w.http.url, "http://"), "/mcp")
					spawn(t, nil, nil, append([]string{upstreamBinary(t), "--http", address}, w.args...)...)
				}
				want := "u__task: server u does not know the task any more: Failed to retrieve task: Task not found. Whether the call had an effect is unknown."
				if keeps {
					want = "done {}"
				}
				if got := <-ended; !strings.Contains(got, want) {
					t.Errorf("got %s", got)
				}
				if got := requests(dir); strings.Count(got, "call") != 1 || strings.Contains(got, "cancel") {
					t.Errorf("requests: %q", got)
				}
			})
		}
	}
}

// TestUpstreamsTasksSignIn has two people wait for tasks that each of them alone may look at.
func TestUpstreamsTasksSignIn(t *testing.T) {
	t.Parallel()
	f := oauth.Start()
	t.Cleanup(f.Close)
	f.Inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ TaskID string }
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		user, result := r.Header.Get("X-User"), "{}"
		switch {
		case m.Method == "server/discover":
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"task","inputSchema":{"type":"object"}}]}`
		case m.Method == "tools/call":
			result = `{"resultType":"task","taskId":"of ` + user + `","status":"working","pollIntervalMs":250}`
		case m.Method == "tasks/get" && m.Params.TaskID == "of "+user:
			result = `{"status":"completed","result":{"content":[{"type":"text","text":"for ` + user + `"}]}}`
		case m.Method == "tasks/get":
			t.Errorf("%s looks at %q", user, m.Params.TaskID)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`))
	})
	w := newTeam(t, f, ", oauth: {per_principal: true}", "")
	people := []*person{
		join(t, w.url, "ann", annToken, modernVersion, http.DefaultTransport, &opener{action: "accept"}),
		join(t, w.url, "bob", bobToken, modernVersion, http.DefaultTransport, &opener{action: "accept"}),
	}
	for _, p := range people {
		if got := p.says("o__sign_in", nil); !strings.Contains(got, "You are signed in") {
			t.Fatalf("%s: %s", p.name, got)
		}
	}
	answers := make(chan string)
	for _, p := range people {
		go func() { answers <- p.name + ": " + comesTo(p.Client, "tools/call", `{"name":"o__task"}`) }()
	}
	for range people {
		if got := <-answers; !strings.Contains(got, `"text":"for `+got[:3]+`"`) {
			t.Error(got)
		}
	}
}

// TestUpstreamsTasksReload changes the settings of an upstream during a task, which it finishes.
func TestUpstreamsTasksReload(t *testing.T) {
	t.Parallel()
	as := func(name string) string {
		return gateway(entry("u", "", upstreamBinary(t), "--offer", "good,bad,tasks", "--speaks", "modern", "--name", name))
	}
	s := openGateway(t, as("old"))
	s.awaits("u__task")
	dir := t.TempDir()
	waiting := s.begin("u__task", map[string]any{"at": dir, "steps": []string{"wait", "completed"}})
	eventually(t, "the task is looked at", func() bool { return strings.Contains(requests(dir), "get") })
	reconfigure(t, s.config, as("new"))
	eventually(t, "the upstream is new", func() bool { return strings.HasPrefix(s.call("u__about", nil).text(), "new ") })
	touch(t, filepath.Join(dir, "go"))
	if a := s.finish(waiting); a.text() != "done {}" || strings.Count(requests(dir), "call") != 1 {
		t.Errorf("%+v, requests %q", a, requests(dir))
	}
}
