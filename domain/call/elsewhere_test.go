package call

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/domain"
)

// elsewhere has an executor ask at a desk, which decides about each request as the function says, if it says anything.
func elsewhere(t *testing.T, exec *Executor, settings approval.Settings, decide func(approval.Request) string) *approval.Desk {
	t.Helper()
	dir := t.TempDir()
	desk := approval.Open(func() (*os.Root, error) { return os.OpenRoot(dir) }, nil)
	a := &Approvals{Settings: settings, Desk: desk}
	if decide != nil {
		a.Asked = func(r approval.Request) {
			if answer := decide(r); answer != "" {
				if err := desk.Decide(t.Context(), r.ID, answer, "token:bob"); err != nil {
					t.Error(err)
				}
			}
		}
	}
	exec.Approvals = func() *Approvals { return a }
	return desk
}

var hour = approval.Settings{Wait: time.Hour, Expires: 2 * time.Hour}

// TestElsewhere has somebody elsewhere lift what policy refuses, twice in each session.
func TestElsewhere(t *testing.T) {
	const opened, not, never = "opened", "t was not run: the user did not agree to it", "the user never agrees to it"
	for name, test := range map[string]struct {
		session, answer string
		client          *answering
		second          bool
		want, record    [2]string
		asked           int // of the desk
	}{
		"once":                 {"s", "once", nil, false, [2]string{opened, opened}, [2]string{"once", "once"}, 2},
		"session":              {"s", "session", nil, false, [2]string{opened, opened}, [2]string{"session", "earlier"}, 1},
		"no":                   {"s", "no", nil, false, [2]string{not, not}, [2]string{"no", "no"}, 2},
		"never":                {"s", "never", nil, false, [2]string{never, never}, [2]string{"never", "never"}, 1},
		"at the client":        {"s", "no", &answering{answer: `{"action":"accept"}`}, false, [2]string{opened, opened}, [2]string{"once", "once"}, 0},
		"not during the call":  {"s", "once", &answering{answer: "x", unable: true}, false, [2]string{opened, opened}, [2]string{"once", "once"}, 2},
		"a second person":      {"s", "once", &answering{answer: `{"action":"accept"}`}, true, [2]string{opened, opened}, [2]string{"once once", "once once"}, 4},
		"for the session":      {"s", "session", nil, true, [2]string{opened, opened}, [2]string{"session session", "earlier earlier"}, 2},
		"a second person, no":  {"s", "no", &answering{answer: `{"action":"accept"}`}, true, [2]string{not, not}, [2]string{"no", "no"}, 2},
		"nobody has a session": {"", "once", nil, false, [2]string{opened, opened}, [2]string{"once", "once"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var record Record
			d, asked := &door{error: errors.New("closed")}, 0
			exec := executor(t, domain.Settings{Secrets: []string{"sk-12345678"}}, func(r *Record) { record = *r },
				tool("t", func(ctx context.Context) (domain.ToolResult, error) {
					if ctx.Value(openKey{}) != nil {
						return domain.Text(opened), nil
					}
					return domain.Failure("denied", "refused by policy", "Do something else."), d
				}))
			settings := hour
			if test.second {
				settings.Second = []string{"t*"}
			}
			elsewhere(t, exec, settings, func(r approval.Request) string {
				if asked++; r.Second != test.second || r.About != "confirm" && (r.About != "door [redacted]" ||
					r.Text != "Policy does not allow this: door [redacted]. Allow t with {}?") {
					t.Errorf("asked %+v", r)
				}
				return test.answer
			})
			for i := range 2 {
				cmd := ExecuteToolCommand{Tool: "t", Session: domain.Session{ID: test.session, Principal: domain.Principal{ID: "token:ann"}}}
				if test.client != nil {
					cmd.Client = test.client
				}
				res, err := exec.Call(t.Context(), cmd)
				if err != nil || !strings.Contains(res.Content[0].Text, test.want[i]) {
					t.Fatalf("%d: %v, %v; want %s", i, res.Content, err, test.want[i])
				}
				var said []string
				for _, a := range record.Asked {
					said = append(said, a.Answer)
					if here := test.asked == 0 || a.Answer == answerEarlier; (a.By == "token:bob") == here || (a.Approval != "") == here {
						t.Errorf("the record says %+v", a)
					}
				}
				if strings.Join(said, " ") != test.record[i] {
					t.Errorf("%d: the record says %q; want %q", i, said, test.record[i])
				}
			}
			if asked != test.asked {
				t.Errorf("the desk was asked %d times; want %d", asked, test.asked)
			}
		})
	}
}

// TestElsewhereNeverHoldsAtTheClient has nobody asked at the client about what is never to be asked about.
func TestElsewhereNeverHoldsAtTheClient(t *testing.T) {
	confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
	confirmed.Confirm = true
	exec := executor(t, domain.Settings{}, nil, confirmed)
	elsewhere(t, exec, hour, func(approval.Request) string { return approval.Never })
	client := &answering{answer: `{"action":"accept"}`}
	for _, c := range []Client{nil, client} {
		if res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Session: ann, Client: c}); err != nil || res.ErrorType() != "denied" {
			t.Errorf("%v, %v", res.Content, err)
		}
	}
	if len(client.questions) > 0 {
		t.Errorf("asked %q", client.questions)
	}
}

// TestElsewhereDirectory has an approval hold where the person was told that the call is made: of the servers that share a desk, each may work in
// another directory.
func TestElsewhereDirectory(t *testing.T) {
	confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
	confirmed.Confirm = true
	exec := executor(t, domain.Settings{}, nil, confirmed)
	desk := elsewhere(t, exec, approval.Settings{Expires: time.Hour}, nil)
	call := func(dir string) string {
		t.Helper()
		exec.Registry.Configure(domain.Settings{Directory: dir})
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Session: ann})
		if err != nil {
			t.Fatal(err)
		}
		return res.ErrorType()
	}
	call("/a")
	all, err := desk.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Text != "In /a: Allow t with {}?" {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := desk.Decide(t.Context(), all[0].ID, approval.Once, "token:bob"); err != nil {
		t.Fatal(err)
	}
	if got := []string{call("/b"), call("/a"), call("/a")}; got[0] != Pending || got[1] != "" || got[2] != Pending {
		t.Errorf("in another directory, in the same, and there again: %q", got)
	}
}

// TestElsewhereReconfigured has a call made again that was approved when another configuration was in force already: the call that waited
// would run under the one before.
func TestElsewhereReconfigured(t *testing.T) {
	confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
	confirmed.Confirm = true
	exec := executor(t, domain.Settings{}, nil, confirmed)
	elsewhere(t, exec, hour, func(approval.Request) string {
		before := *exec.Approvals()
		exec.Approvals = func() *Approvals { return &before }
		return approval.Once
	})
	for _, want := range []string{Pending, ""} {
		if res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Session: ann}); err != nil || res.ErrorType() != want {
			t.Errorf("%v, %v; want %q", res.Content, err, want)
		}
	}
}

// TestElsewhereArguments has an approval hold for the same arguments, byte for byte, even where those that a person reads are the same.
func TestElsewhereArguments(t *testing.T) {
	raw := domain.Tool{
		Name: "raw", Description: "Of another server.", Input: tool("t", nil).Input, Confirm: true,
		RunRaw: func(context.Context, json.RawMessage) (domain.ToolResult, error) { return domain.Text("ran"), nil },
	}
	exec := executor(t, domain.Settings{Secrets: []string{"sk-12345678", "sk-87654321"}}, nil, raw)
	desk := elsewhere(t, exec, approval.Settings{Expires: time.Hour}, nil)
	call := func(args string) string {
		t.Helper()
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "raw", Arguments: json.RawMessage(args), Session: ann})
		if err != nil {
			t.Fatal(err)
		}
		return res.ErrorType()
	}
	const asked = `{"key":"sk-12345678"}`
	if got := call(asked); got != Pending {
		t.Fatal(got)
	}
	all, err := desk.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Text != `Allow raw with {"key":"[redacted]"}?` {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := desk.Decide(t.Context(), all[0].ID, approval.Once, "token:bob"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"key":"sk-87654321"}`, `{"key":"[redacted]"}`, `{"key":"sk-12345678","a":1}`, `{"key":"sk-12345678","key":"sk-12345678"}`} {
		if got := call(args); got != Pending {
			t.Errorf("%s: %q", args, got)
		}
	}
	if got := call(asked); got != "" {
		t.Errorf("what was approved: %q", got)
	}
	if got := call(asked); got != Pending {
		t.Errorf("once more: %q", got)
	}
}

// reported is a client that notes progress.
type reported struct {
	answering
	messages []string
	ended    chan struct{}
}

func (r *reported) WantsProgress() bool    { return true }
func (r *reported) Progress(p Progress)    { r.messages = append(r.messages, p.Message) }
func (r *reported) Ended() <-chan struct{} { return r.ended }

// TestElsewhereWaits has calls wait without slots and time limit, say so, and end when they have to.
func TestElsewhereWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
		confirmed.Confirm = true
		limits := domain.Limits{PerTool: 1, PerPrincipal: 1, QueueWait: time.Second, DefaultTimeout: time.Second, MaxAbandonGrace: time.Second}
		exec := executor(t, domain.Settings{Limits: limits}, nil, confirmed, tool("free", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil }))
		settings := approval.Settings{Wait: 50 * time.Second, Expires: time.Minute}
		desk := elsewhere(t, exec, settings, nil)
		type end struct {
			kind string
			err  error
		}
		begin := func(ctx context.Context, client Client) chan end {
			done := make(chan end, 1)
			go func() {
				res, err := exec.Call(ctx, ExecuteToolCommand{Tool: "t", Client: client, Session: ann})
				done <- end{res.ErrorType(), err}
			}()
			return done
		}
		client := &reported{}
		first := begin(t.Context(), client)
		time.Sleep(20 * time.Second)
		if _, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "free", Session: ann}); err != nil {
			t.Errorf("while a call waits: %v", err)
		}
		if got := <-first; got.kind != Pending || got.err != nil {
			t.Errorf("nobody decides: %+v", got)
		}
		if n := len(client.messages); n < 4 || !strings.HasPrefix(client.messages[0], "Waiting for approval ") {
			t.Errorf("progress: %q", client.messages)
		}
		if got := <-begin(t.Context(), nil); got.kind != "denied" || got.err != nil { // 10 seconds later
			t.Errorf("a request that expires: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		canceled := begin(ctx, nil)
		time.Sleep(time.Second)
		cancel()
		if got := <-canceled; got.err == nil || !strings.Contains(got.err.Error(), "canceled") {
			t.Errorf("a call that is canceled: %+v", got)
		}
		left := &reported{ended: make(chan struct{})}
		gone := begin(t.Context(), left)
		time.Sleep(time.Second)
		close(left.ended)
		if got := <-gone; got.kind != Pending {
			t.Errorf("a client that is gone: %+v", got)
		}
		withdrawn := begin(t.Context(), nil)
		time.Sleep(time.Second)
		all, err := desk.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if err := desk.Forget(t.Context(), all[0].ID); err != nil {
			t.Error(err)
		}
		if got := <-withdrawn; got.kind != "denied" {
			t.Errorf("a request that is withdrawn: %+v", got)
		}
		synctest.Wait()
		if n := slotsInUse(exec); n != 0 {
			t.Errorf("%d slots are held", n)
		}
	})
}

// TestElsewherePermit has a handler that runs ask elsewhere.
func TestElsewherePermit(t *testing.T) {
	for answer, want := range map[string]string{"once": "", "no": "the user did not agree to it", "": "a person has been asked to agree to it (approval "} {
		d := &door{error: errors.New("closed")}
		var got error
		exec := executor(t, domain.Settings{}, nil, tool("t", func(ctx context.Context) (domain.ToolResult, error) {
			got = Permit(ctx, d)
			return domain.Text("ran"), nil
		}))
		settings := hour
		if answer == "" {
			settings.Wait = 0
		}
		elsewhere(t, exec, settings, func(approval.Request) string { return answer })
		if _, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Session: ann}); err != nil {
			t.Error(err)
		}
		if (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

// TestElsewhereBroken has the desk be out of reach: nothing runs.
func TestElsewhereBroken(t *testing.T) {
	confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
	confirmed.Confirm = true
	exec := executor(t, domain.Settings{}, nil, confirmed)
	a := &Approvals{Settings: hour, Desk: approval.Open(func() (*os.Root, error) { return nil, os.ErrPermission }, nil)}
	exec.Approvals = func() *Approvals { return a }
	for _, client := range []Client{nil, &answering{answer: `{"action":"accept"}`}} {
		_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Session: ann, Client: client})
		if domain.CodeOf(err) != domain.CodeExecutionFailed || !errors.Is(err, os.ErrPermission) {
			t.Errorf("%v", err)
		}
	}
}
