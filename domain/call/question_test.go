package call

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// answering is a client whose user gives the same answer to every question.
type answering struct {
	ProgressFunc
	answer    string
	questions []string
	unable    bool          // it cannot be asked during a call
	block     chan struct{} // nil, or closed when the user answers
}

func (a *answering) Supports(method string) bool { return method == AskElicitation && a.answer != "" }

func (a *answering) Complete(string) {}

func (a *answering) Round() (string, bool) { return "", false }
func (a *answering) Detach(string) bool    { return false }

func (a *answering) Ended() <-chan struct{} { return nil }

func (a *answering) Ask(ctx context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error) {
	if a.unable {
		return nil, domain.Errorf(domain.CodeMissingCapability, "not now")
	}
	answers := map[string]json.RawMessage{}
	for name, r := range requests {
		b, err := json.Marshal(r.Params)
		if err != nil {
			return nil, err
		}
		var q struct{ Message string }
		if err := json.Unmarshal(b, &q); err != nil {
			return nil, err
		}
		a.questions = append(a.questions, q.Message)
		answers[name] = json.RawMessage(a.answer)
	}
	if a.block != nil {
		select {
		case <-a.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return answers, nil
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"ls -l > 'ä 日本 é'":         "ls -l > 'ä 日本 é'",
		"a\u202eb\u2066c\u200f":    `a\u202eb\u2066c\u200f`,                  // marks of direction
		"a\u200bb\u200dc\ufeff":    `a\u200bb\u200dc\ufeff`,                  // of no width
		"a\u0085b\u00a0c\u2028":    `a\u0085b\u00a0c\u2028`,                  // line ends and spaces
		"\U000e0041\U000e007f":     `\U000e0041\U000e007f`,                   // tags
		"\u3164\u115f\uffa0\u2800": `\u3164\u115f\uffa0\u2800`,               // fillers
		"a\ufe0f\U000e0100\u034f":  `a\ufe0f\U000e0100\u034f`,                // selectors
		"\x1b[2K\a\r\ue000":        `\u001b[2K\u0007\u000d\ue000`,            // controls, private use
		strings.Repeat(" ", 18):    strings.Repeat(" ", 16) + `\u0020\u0020`, // that push the rest away
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: got %s; want %s", in, got, want)
		}
	}
}

// TestQuestion checks what a person reads before they agree.
func TestQuestion(t *testing.T) {
	input, err := schema.Parse([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := domain.Tool{
		Name: "raw", Description: "Of another server.", Input: input, Confirm: true,
		RunRaw: func(context.Context, json.RawMessage) (domain.ToolResult, error) { return domain.Text("ran"), nil },
	}
	exec := executor(t, domain.Settings{Secrets: []string{"sk-12345678"}}, nil, raw)
	for args, want := range map[string]string{
		`{}`: `Allow raw with {}?`,
		`{"c":"\u0072m a > b",` + "\n\n\n" + ` "n":1}`: `Allow raw with {"c":"rm a > b","n":1}?`,
		`{"c":"ls","c":"rm \u202egpj.x"}`:              `Allow raw with {"c":"ls","c":"rm \u202egpj.x"}?`,
		`{"c":"key sk-1234\u0035678"}`:                 `Allow raw with {"c":"key [redacted]"}?`,
		`{"c":"\\u202e"}`:                              `Allow raw with {"c":"\\u202e"}?`,
	} {
		client := &answering{answer: `{"action":"accept"}`}
		if _, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "raw", Arguments: json.RawMessage(args), Client: client}); err != nil {
			t.Fatal(err)
		}
		if len(client.questions) != 1 || client.questions[0] != want {
			t.Errorf("%s: asked %q; want %q", args, client.questions, want)
		}
	}
	if _, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "raw"}); domain.CodeOf(err) != domain.CodeMissingCapability || !strings.Contains(err.Error(), "(tools.raw.confirm), and there is nobody to ask") {
		t.Errorf("without a client that can be asked: %v", err)
	}
}

// door is what policy refuses unless a person lifts it.
type door struct {
	error
	stale bool
}

type openKey struct{}

func (d *door) Lifts() []string { return []string{"door sk-12345678"} }
func (d *door) Policy() any     { return d }
func (d *door) Lift(ctx context.Context) (context.Context, error) {
	if d.stale {
		return nil, errors.New("the policy has changed")
	}
	return context.WithValue(ctx, openKey{}, true), nil
}

// TestLifting puts a refusal to a person, twice in each session.
func TestLifting(t *testing.T) {
	const once, session = `{"action":"accept","content":{"allow":"once"}}`, `{"action":"accept","content":{"allow":"session"}}`
	const opened, refused, not = "opened", "refused by policy", "t was not run: the user did not agree to it"
	for _, test := range []struct {
		name, session, answer string
		stale                 bool
		want, record          [2]string
		questions             int
	}{
		{"once", "s", once, false, [2]string{opened, opened}, [2]string{"once", "once"}, 2},
		{"session", "s", session, false, [2]string{opened, opened}, [2]string{"session", "earlier"}, 1},
		{"only accepted", "s", `{"action":"accept"}`, false, [2]string{opened, opened}, [2]string{"once", "once"}, 2},
		{"session without one", "", session, false, [2]string{not, not}, [2]string{"no", "no"}, 2},
		{"no", "s", `{"action":"accept","content":{"allow":"no"}}`, false, [2]string{not, not}, [2]string{"no", "no"}, 2},
		{"declined", "s", `{"action":"decline"}`, false, [2]string{not, not}, [2]string{"no", "no"}, 2},
		{"canceled", "s", `{"action":"cancel"}`, false, [2]string{not, not}, [2]string{"canceled", "canceled"}, 2},
		{"odd", "s", `{"action":"accept","content":{"allow":1}}`, false, [2]string{not, not}, [2]string{"no", "no"}, 2},
		{"nobody now", "s", "unable", false, [2]string{refused, refused}, [2]string{}, 0},
		{"nobody", "s", "", false, [2]string{refused, refused}, [2]string{}, 0},
		{"changed", "s", once, true, [2]string{"the policy has changed", "the policy has changed"}, [2]string{"once", "once"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var record Record
			d := &door{errors.New("closed"), test.stale}
			exec := executor(t, domain.Settings{Secrets: []string{"sk-12345678"}}, func(r *Record) { record = *r },
				tool("t", func(ctx context.Context) (domain.ToolResult, error) {
					if ctx.Value(openKey{}) != nil {
						return domain.ToolResult{Content: domain.Text(opened).Content, Meta: map[string]int{"n": 1}}, nil
					}
					return domain.Failure("denied", refused, "Do something else."), d
				}))
			client := &answering{answer: test.answer, unable: test.answer == "unable"}
			for i := range 2 {
				res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Client: client, Session: domain.Session{ID: test.session, Principal: domain.Principal{ID: "ann"}}})
				if err != nil || !strings.Contains(res.Content[0].Text, test.want[i]) {
					t.Fatalf("%d: %v, %v; want %s", i, res.Content, err, test.want[i])
				}
				var said []string
				for _, a := range record.Asked {
					said = append(said, a.Answer)
					if a.About != "door [redacted]" {
						t.Errorf("the record says %q", a.About)
					}
				}
				if strings.Join(said, " ") != test.record[i] {
					t.Errorf("%d: the record says %q; want %q", i, said, test.record[i])
				}
				meta, _ := json.Marshal(res.Meta)
				if test.want[i] == opened && string(meta) != `{"asked":[{"about":"door [redacted]","answer":"`+test.record[i]+`"}],"n":1}` {
					t.Errorf("%d: _meta is %s", i, meta)
				}
			}
			if len(client.questions) != test.questions {
				t.Errorf("asked %q", client.questions)
			}
			if slices.ContainsFunc(client.questions, func(q string) bool {
				return q != "Policy does not allow this: door [redacted]. Allow t with {}?"
			}) {
				t.Errorf("asked %q", client.questions)
			}
		})
	}
}

// TestAskingHoldsNoSlot has a second call run while a person is asked about the first.
func TestAskingHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirmed := tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("ran"), nil })
		confirmed.Confirm = true
		exec := executor(t, domain.Settings{Limits: domain.Limits{PerTool: 1, PerPrincipal: 1, QueueWait: time.Second}}, nil, confirmed)
		slow := &answering{answer: `{"action":"accept"}`, block: make(chan struct{})}
		call := func(ctx context.Context, client Client) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := exec.Call(ctx, ExecuteToolCommand{Tool: "t", Client: client})
				done <- err
			}()
			return done
		}
		first := call(t.Context(), slow)
		synctest.Wait()
		for range 3 {
			if err := <-call(t.Context(), &answering{answer: `{"action":"accept"}`}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := call(ctx, &answering{answer: `{"action":"accept"}`, block: make(chan struct{})})
		synctest.Wait()
		cancel()
		if err := <-gone; err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("canceled while a person is asked: %v", err)
		}
		close(slow.block)
		if err := <-first; err != nil {
			t.Error(err)
		}
		never := call(t.Context(), &answering{answer: `{"action":"accept"}`, block: make(chan struct{})})
		if err := <-never; domain.CodeOf(err) != domain.CodeTimeout {
			t.Errorf("without an answer: %v", err)
		}
		synctest.Wait()
		if n := slotsInUse(exec); n != 0 {
			t.Errorf("%d slots are held", n)
		}
	})
}

// FuzzVisible checks that nothing hidden is left, and that what can be seen stays.
func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"ls", "a\u202eb", "\U000e0041", "\u3164", strings.Repeat(" ", 40), "\xff", "e\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		if strings.ContainsFunc(got, hidden) || strings.Contains(got, strings.Repeat(" ", maxBlank+1)) {
			t.Errorf("%q is shown as %q", s, got)
		}
		seen := func(r rune) rune {
			if hidden(r) || r == ' ' {
				return -1
			}
			return r
		}
		if plain := strings.Map(seen, s); plain == strings.ToValidUTF8(s, "\ufffd") && got != plain {
			t.Errorf("%q is shown as %q", s, got)
		}
	})
}

// TestDryRunIsNotConfirmed asks nobody about a call that does nothing, unless it is another server that says so.
func TestDryRunIsNotConfirmed(t *testing.T) {
	type input struct {
		DryRun bool `json:"dryRun"`
	}
	type edit struct {
		DryRun bool `json:"dry_run"`
	}
	own := domain.Define(domain.Tool{Name: "own", Description: "Send.", Confirm: true}, func(_ context.Context, in input) (domain.ToolResult, error) { return domain.Text("fine"), nil })
	edits := domain.Define(domain.Tool{Name: "edits", Description: "Edit.", Confirm: true}, func(_ context.Context, in edit) (domain.ToolResult, error) { return domain.Text("fine"), nil })
	foreign := domain.Tool{
		Name: "foreign", Description: "Send.", Confirm: true, Input: own.Input,
		RunRaw: func(context.Context, json.RawMessage) (domain.ToolResult, error) { return domain.Text("fine"), nil },
	}
	exec := executor(t, domain.Settings{}, nil, own, edits, foreign)
	for _, test := range []struct {
		tool, args string
		asks       bool
	}{{"own", `{"dryRun":true}`, false}, {"edits", `{"dry_run":true}`, false}, {"edits", `{"dry_run":false}`, true},
		{"own", `{"dryRun":false}`, true}, {"own", `{}`, true}, {"foreign", `{"dryRun":true}`, true}} {
		_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: test.tool, Arguments: json.RawMessage(test.args), Session: ann})
		if asks := err != nil; asks != test.asks { // there is nobody to ask
			t.Errorf("%s %s: %v", test.tool, test.args, err)
		}
	}
}
