//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/approval"
)

// desk is where a test decides about the calls of servers: as another process of their user.
type desk struct {
	t      *testing.T
	dir    string // in which tools write
	state  string
	config []string // arguments that name the configuration
}

// newDesk returns a desk for servers with a configuration in which each write is confirmed.
func newDesk(t *testing.T, approvals, rest string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	d.config = httpConfig(t, d.dir, fmt.Sprintf("state_directory: %s\napprovals: {enabled: true, %s}\n"+
		"tools: {write_file: {confirm: true}, bash: {allowed_commands: [echo]}}\nsandbox: {ask: [commands]}\n%s", d.state, approvals, rest))
	return d
}

// approve runs toolserver approve.
func (d *desk) approve(args ...string) (out string, ok bool) {
	d.t.Helper()
	cmd := exec.Command(binary(), append(append([]string{"approve"}, d.config...), args...)...)
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}

// console returns what decides in this process, as a console does.
func (d *desk) console() *approval.Desk {
	return approval.Open(func() (*os.Root, error) { return os.OpenRoot(filepath.Join(d.state, "approvals")) }, nil)
}

// list returns what waits, and what was decided.
func (d *desk) list() (all []approval.Request) {
	d.t.Helper()
	out, ok := d.approve("--json")
	var listed struct{ Approvals []approval.Request }
	if err := json.Unmarshal([]byte(out), &listed); err != nil || !ok {
		d.t.Fatalf("toolserver approve --json: %q, %v", out, err)
	}
	return listed.Approvals
}

// waits returns the request that a call waits for, once there is one.
func (d *desk) waits(tool string) (r approval.Request) {
	d.t.Helper()
	eventually(d.t, "a call of "+tool+" waits", func() bool {
		all := d.list()
		i := slices.IndexFunc(all, func(r approval.Request) bool { return r.Decision == nil && r.Tool == tool })
		if i >= 0 {
			r = all[i]
		}
		return i >= 0
	})
	return r
}

// decides decides about the request that a call waits for.
func (d *desk) decides(tool, answer string) (r approval.Request) {
	d.t.Helper()
	r = d.waits(tool)
	if out, ok := d.approve("--"+answer, r.ID); !ok {
		d.t.Fatalf("toolserver approve --%s: %s", answer, out)
	}
	return r
}

// written reports whether a file was written.
func (d *desk) written(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

// caller makes calls of a client that cannot ask.
type caller struct {
	call   func(tool string, args any) answer
	server *program
}

// bearer is the token of ann.
const bearer = "ann-ann-ann-ann-ann-ann-ann-ann-ann"

// eachCaller runs a test with clients on each transport, which can be started again.
func eachCaller(t *testing.T, approvals string, test func(t *testing.T, d *desk, start func() caller)) {
	for _, transport := range []string{"stdio", "http", "2026-07-28"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, approvals, "server: {tokens: ["+tokenEntry("ann", bearer)+"]}")
			test(t, d, func() caller {
				if transport == "stdio" {
					c := start(t, d.config...)
					return caller{c.call, c.program}
				}
				s := launchHTTP(t, nil, binary(), d.config...)
				version := "2025-11-25"
				if transport != "http" {
					version = transport
				}
				p := s.newPeer(t, version, bearer)
				var n atomic.Int64
				return caller{func(tool string, args any) (a answer) {
					r := p.post(t, p.callMessage(fmt.Sprint(n.Add(1)), tool, args, ""), nil)
					if err := json.Unmarshal([]byte(r.last()), &a); err != nil {
						t.Errorf("%s: %d %q: %v", tool, r.status, r.body, err)
					}
					return a
				}, s.program}
			})
		})
	}
}

func write(name string) map[string]any { return map[string]any{"path": name, "content": "x"} }

// begun makes a call that waits, and returns what its answer will come from.
func begun(c caller, tool string, args any) <-chan answer {
	got := make(chan answer, 1)
	go func() { got <- c.call(tool, args) }()
	return got
}

// TestApprovalInTime has a person decide while calls wait for them.
func TestApprovalInTime(t *testing.T) {
	t.Parallel()
	eachCaller(t, "wait: 10m, expires: 1h", func(t *testing.T, d *desk, start func() caller) {
		c := start()
		got := begun(c, "write_file", map[string]any{"path": "a", "content": "x\x1b[2K\u202e"})
		r := d.decides("write_file", "once")
		contain(t, "the question", r.Text, "Allow write_file with ", `"path":"a"`, `x\u001b[2K\u202e`)
		if a := <-got; a.failed() || !d.written("a") {
			t.Errorf("what was approved: %q", a.text())
		}
		contain(t, "the log", c.server.log(), `"asked":[{"about":"confirm","answer":"once","by":"user:`, `"approval":"`+r.ID+`"`)
		for _, answer := range []string{"no", "never"} {
			got := begun(c, "write_file", write(answer))
			d.decides("write_file", answer)
			want := map[string]string{"no": "the user did not agree to it", "never": "the user never agrees to it"}[answer]
			if a := <-got; a.errorType() != "denied" || !strings.Contains(a.text(), want) || d.written(answer) {
				t.Errorf("%s: %q", answer, a.text())
			}
		}
		if a := c.call("write_file", write("b")); !strings.Contains(a.text(), "the user never agrees to it") || d.written("b") {
			t.Errorf("after never: %q", a.text())
		}
		for _, r := range d.list() {
			if r.Decision != nil && r.Decision.Answer == approval.Never {
				if out, ok := d.approve("--forget", r.ID); !ok {
					t.Error(out)
				}
			}
		}
		got = begun(c, "write_file", write("c"))
		d.decides("write_file", "once")
		if a := <-got; a.failed() || !d.written("c") {
			t.Errorf("after never is forgotten: %q", a.text())
		}
	})
}

// TestApprovalLater has calls come again with what was decided meanwhile, also by another process of the server.
func TestApprovalLater(t *testing.T) {
	t.Parallel()
	eachCaller(t, "wait: 0s, expires: 1h", func(t *testing.T, d *desk, start func() caller) {
		c := start()
		pending := func(name string) {
			t.Helper()
			if a := c.call("write_file", write(name)); a.errorType() != "approval_pending" || !a.Result.IsError || d.written(name) {
				t.Fatalf("nobody has decided about %s: %q", name, a.text())
			}
		}
		pending("a")
		r := d.decides("write_file", "once")
		if a := c.call("write_file", write("b")); a.errorType() != "approval_pending" || d.written("b") {
			t.Errorf("other arguments: %q", a.text())
		} else if contain(t, "the answer", a.text(), "(approval ", "until 20"); strings.Contains(a.text(), r.ID) {
			t.Errorf("other arguments are the same request")
		}
		c.server.kill()
		c = start()
		if a := c.call("write_file", write("a")); a.failed() || !d.written("a") {
			t.Errorf("after a restart: %q", a.text())
		}
		must(t, os.Remove(filepath.Join(d.dir, "a")))
		pending("a") // it was for once
		for range 2 {
			d.decides("write_file", "no")
		}
		if a := c.call("write_file", write("a")); a.errorType() != "denied" || d.written("a") {
			t.Errorf("after no: %q", a.text())
		}
		var ran int
		pending("c")
		d.decides("write_file", "once")
		others := []caller{c, start()}
		var got []<-chan answer
		for i := range 6 {
			got = append(got, begun(others[i%2], "write_file", write("c")))
		}
		for _, g := range got {
			if a := <-g; !a.failed() {
				ran++
			} else if a.errorType() != "approval_pending" {
				t.Error(a.text())
			}
		}
		if ran != 1 {
			t.Errorf("one approval has released %d calls", ran)
		}
	})
}

// TestApprovalExpires has people decide too late, and calls come too late.
func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	eachCaller(t, "wait: 0s, expires: 5s", func(t *testing.T, d *desk, start func() caller) {
		c := start()
		c.call("write_file", write("a"))
		all, err := d.console().List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		r := all[0]
		must(t, d.console().Decide(t.Context(), r.ID, approval.Once, "token:bob"))
		eventually(t, "the approval expires", func() bool { return time.Now().After(r.Expires) })
		if a := c.call("write_file", write("a")); a.errorType() != "approval_pending" || d.written("a") {
			t.Errorf("after the approval expired: %q", a.text())
		}
		if all, err = d.console().List(t.Context()); err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		r = all[0]
		eventually(t, "the request expires", func() bool { return time.Now().After(r.Expires) })
		if out, ok := d.approve("--once", r.ID); ok || !strings.Contains(out, "there is no such request, or it is over") {
			t.Errorf("too late: %s", out)
		}
	})
	d := newDesk(t, "wait: 1m, expires: 2s", "")
	c := start(t, d.config...)
	if a := c.call("write_file", write("a")); a.errorType() != "denied" || !strings.Contains(a.text(), "nobody has agreed to it before approval") {
		t.Errorf("a call that waits longer: %q", a.text())
	}
}

// TestApprovalSession has answers hold for a session, and no longer.
func TestApprovalSession(t *testing.T) {
	t.Parallel()
	eachCaller(t, "wait: 0s, expires: 1h", func(t *testing.T, d *desk, start func() caller) {
		c := start()
		modern := strings.HasSuffix(t.Name(), "28")
		for tool, args := range map[string][2]map[string]any{"write_file": {write("a"), write("b")}, "bash": {{"command": "seq 1"}, {"command": "seq 2"}}} {
			c.call(tool, args[0])
			if modern {
				out, ok := d.approve("--session", d.waits(tool).ID)
				if ok || !strings.Contains(out, "has no session") {
					t.Errorf("%s: there is no session: %s", tool, out)
				}
				continue
			}
			d.decides(tool, "session")
			for _, args := range args {
				if a := c.call(tool, args); a.failed() {
					t.Errorf("%s in the session: %q", tool, a.text())
				}
			}
			other := start()
			if a := other.call(tool, args[0]); a.errorType() != "approval_pending" {
				t.Errorf("%s in another session: %q", tool, a.text())
			}
			other.server.kill()
			d.decides(tool, "no")
		}
	})
}

// TestApprovalSecond has somebody else than who makes the call agree to it, whatever its client can ask.
func TestApprovalSecond(t *testing.T) {
	t.Parallel()
	eachCaller(t, "wait: 10m, expires: 1h, second: ['write_*']", func(t *testing.T, d *desk, start func() caller) {
		got := begun(start(), "write_file", write("a"))
		r := d.waits("write_file")
		console := d.console()
		if err := console.Decide(t.Context(), r.ID, approval.Once, r.Principal); err == nil || d.written("a") {
			t.Errorf("%s approves their own call: %v", r.Principal, err)
		}
		if strings.HasPrefix(r.Principal, "user:") {
			if out, ok := d.approve("--once", r.ID); ok || !strings.Contains(out, "it needs a second person") {
				t.Errorf("the user of the machine: %s", out)
			}
		}
		must(t, console.Decide(t.Context(), r.ID, approval.Once, "token:bob"))
		if a := <-got; a.failed() || !d.written("a") {
			t.Errorf("approved by another: %q", a.text())
		}
	})
	d := newDesk(t, "wait: 0s, second: [write_file]", "")
	for _, confirm := range []string{"true", "false"} {
		file := d.config[1]
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, []byte(strings.Replace(string(text), "confirm: true", "confirm: "+confirm, 1)), 0o600))
		g := newAskGround(t, account{"own", os.Geteuid()}, "")
		g.file = file
		user := &asked{}
		user.saying(sayOnce)
		if a := g.serve(user, "2025-11-25", setup{}).call("write_file", write("a")); a.errorType() != "approval_pending" || len(user.was()) > 0 {
			t.Errorf("a client that can ask, confirm: %s: %q, %q", confirm, a.text(), user.was())
		}
	}
}

// TestApprovalTask has a client that takes tasks wait as one.
func TestApprovalTask(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "wait: 0s, expires: 1h", "")
			var f *follower
			if transport == "stdio" {
				f, _ = followerOn(t, append([]string{binary(), "serve", "--stdio"}, d.config...)...)
			} else {
				f = startHTTP(t, binary(), d.config...).follower(t, "")
			}
			f.peer.can = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
			id := f.call("write_file", write("a"))
			r := d.waits("write_file")
			if is := f.get(id); is.Status != "working" || is.StatusMessage != "Waiting for approval "+r.ID {
				t.Errorf("the task says %q, %q", is.Status, is.StatusMessage)
			}
			d.decides("write_file", "once")
			if is := f.settles(id, "completed"); is.Result.IsError || !d.written("a") {
				t.Errorf("%+v", is)
			}
			id = f.call("write_file", write("b"))
			r = d.waits("write_file")
			if is := f.request("tasks/cancel", fmt.Sprintf(`"taskId":%q`, id)); is.refused.Code != 0 {
				t.Errorf("%+v", is)
			}
			f.settles(id, "cancelled")
			d.decides("write_file", "once")
			if d.written("b") {
				t.Error("a task that was cancelled runs")
			}
		})
	}
}

// TestApprovalOutOfReach has commands and file tools try to decide.
func TestApprovalOutOfReach(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "wait: 0s, expires: 1h", "")
	text, err := os.ReadFile(d.config[1])
	must(t, err)
	must(t, os.WriteFile(d.config[1], []byte(strings.Replace(string(text), "bash: {allowed_commands: [echo]}", "bash: {}", 1)), 0o600))
	c := start(t, d.config...)
	c.call("write_file", write("a"))
	r := d.waits("write_file")
	exe, other := shared(t, own(t, binary())), filepath.Join(d.dir, "other.yaml") // of a server that would have the same state
	must(t, os.WriteFile(other, []byte("state_directory: "+d.state+"\nworking_directory: "+d.dir+"\n"), 0o644))
	for _, command := range []string{
		exe + " approve --once " + r.ID + " --config " + d.config[1],
		exe + " approve --once " + r.ID + " --config " + other,
		"ls " + d.state + "/approvals",
		"cat " + d.state + "/approvals/" + r.ID,
		`echo '{"answer":"once","by":"x"}' > ` + d.state + "/approvals/" + r.ID + ".decision",
		"cd " + filepath.Dir(d.state) + ` && d=st; echo '{"answer":"once","by":"x"}' > ${d}ate/approvals/` + r.ID + ".decision",
		`python3 -c "import os; open('` + d.state + `/approvals/` + r.ID + `.decision', 'w').write('{}')"`,
	} {
		if a := c.call("bash", map[string]any{"command": command}); !a.failed() && !strings.Contains(a.text(), "xit") {
			t.Errorf("%s: %q", command, a.text())
		}
	}
	for _, call := range []struct {
		tool string
		args map[string]any
	}{{"read_file", map[string]any{"path": d.state + "/approvals/" + r.ID}}, {"list_directory", map[string]any{"path": d.state + "/approvals"}}} {
		if a := c.call(call.tool, call.args); !a.failed() || strings.Contains(a.text(), r.Fingerprint) {
			t.Errorf("%s: %q", call.tool, a.text())
		}
	}
	if r := d.waits("write_file"); r.Decision != nil {
		t.Errorf("it was decided: %+v", r)
	}
	if a := c.call("write_file", write("a")); a.errorType() != "approval_pending" || d.written("a") {
		t.Errorf("the call: %q", a.text())
	}
}

// TestApprovalFlood has a client ask for too much.
func TestApprovalFlood(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "wait: 0s, expires: 1h", "")
	c := start(t, d.config...)
	long := write("long")
	long["content"] = strings.Repeat("x", 64<<10)
	if a := c.call("write_file", long); a.errorType() != "too_large" || len(d.list()) > 0 {
		t.Errorf("64 KiB of arguments: %q", a.text())
	}
	for i := range 20 {
		a := c.call("write_file", write(fmt.Sprint(i)))
		if want := map[bool]string{true: "approval_pending", false: "busy"}[i < 16]; a.errorType() != want {
			t.Errorf("call %d: %q", i, a.text())
		}
	}
	if n := len(d.list()); n != 16 {
		t.Errorf("%d wait", n)
	}
}

// TestApprovalWebhook has a webhook told of a request, which it cannot decide.
func TestApprovalWebhook(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.Header.Get("Toolserver-Signature") + " " + string(body)
		if r.URL.Path == "/hook-key" {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
		}
	}))
	defer hook.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600))
	d := newDesk(t, fmt.Sprintf("wait: 0s, console_url: 'https://tools.example.com/console', webhook: {url: '%s/hook-key', secret_file: %s}", hook.URL, secret), "")
	c := start(t, d.config...)
	c.call("write_file", write("a"))
	contain(t, "the webhook", <-told, "t=", ",v1=", `"id":"`+d.waits("write_file").ID+`"`, `"tool":"write_file"`, `"url":"https://tools.example.com/console"`)
	eventually(t, "the log says that it failed", func() bool { return strings.Contains(c.log(), "it answered 307 Temporary Redirect") })
	if strings.Contains(c.log(), "hook-key") || len(told) > 0 {
		t.Errorf("%d more requests; the log: %s", len(told), c.log())
	}
}
