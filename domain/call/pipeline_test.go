package call

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

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/schema"
)

var (
	ann = domain.Session{Principal: domain.Principal{ID: "token:ann", Name: "ann"}}
	bob = domain.Session{Principal: domain.Principal{ID: "token:bob", Name: "bob"}}
)

// kinds makes one request of each kind.
var kinds = map[string]func(*Executor, domain.Session) error{
	"tool": func(e *Executor, s domain.Session) (got error) {
		e.Start(context.Background(), ExecuteToolCommand{Session: s, Tool: "t"}, func(_ domain.ToolResult, err error) { got = err })
		return got
	},
	"resource": func(e *Executor, s domain.Session) (got error) {
		e.ReadResource(context.Background(), s, nil, "x://r", func(_ domain.ToolResult, err error) { got = err })
		return got
	},
	"prompt": func(e *Executor, s domain.Session) (got error) {
		e.GetPrompt(context.Background(), s, nil, "p", nil, func(_ domain.PromptResult, err error) { got = err })
		return got
	},
	"completion": func(e *Executor, s domain.Session) (got error) {
		e.Complete(context.Background(), domain.CompleteQuery{Session: s, Prompt: "p", Argument: "a"}, func(_ domain.Completions, err error) { got = err })
		return got
	},
}

// everything offers one item of each kind, which do work.
func everything(work func() error) domain.Offer {
	return domain.Offer{
		Tools: []domain.Tool{tool("t", func(context.Context) (domain.ToolResult, error) { return domain.Text("t"), work() })},
		Resources: []domain.Resource{{URI: "x://r", Name: "r", Read: func(context.Context, domain.Location) ([]domain.Content, error) {
			return []domain.Content{{Type: domain.ResourceContent, Text: "r"}}, work()
		}}},
		Prompts: []domain.Prompt{{
			Name: "p", Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
				return domain.UserPrompt("p"), work()
			},
			Complete: func(context.Context, string, string, map[string]string) (domain.Completions, error) {
				return domain.Completions{Values: []string{"v"}}, work()
			},
		}},
	}
}

func offering(t *testing.T, s domain.Settings, record func(*Record), work func() error) *Executor {
	t.Helper()
	r, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r.Register(domain.FixedSource("all", everything(work), nil))
	return NewExecutor(r, NewResultStore(1000), s, record)
}

// TestEveryKind crosses each kind of request with each rule of the pipeline.
func TestEveryKind(t *testing.T) {
	calm := func() error { return nil }
	for kind, ask := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Run("rate", func(t *testing.T) {
				exec := offering(t, domain.Settings{Limits: domain.Limits{RatePerMinute: 1}}, nil, calm)
				if err := ask(exec, ann); err != nil {
					t.Fatal(err)
				}
				var e *domain.Error
				if err := ask(exec, ann); !errors.As(err, &e) || e.Code != domain.CodeRateLimited || e.Data["retryAfterMs"] == nil {
					t.Errorf("over the rate: %v", err)
				}
				if err := ask(exec, bob); err != nil {
					t.Errorf("bob pays for ann: %v", err)
				}
			})
			t.Run("slots", func(t *testing.T) {
				entered, release := make(chan struct{}, 1), make(chan struct{})
				exec := offering(t, domain.Settings{Limits: domain.Limits{PerPrincipal: 1, QueueWait: time.Millisecond}}, nil, func() error {
					entered <- struct{}{}
					<-release
					return nil
				})
				first := make(chan error)
				go func() { first <- ask(exec, ann) }()
				<-entered
				if err := ask(exec, ann); domain.CodeOf(err) != domain.CodeBusy {
					t.Errorf("without a slot: %v", err)
				}
				second := make(chan error)
				go func() { second <- ask(exec, bob) }()
				<-entered // bob's runs
				close(release)
				if err := errors.Join(<-first, <-second); err != nil {
					t.Error(err)
				}
			})
			t.Run("time", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					exec := offering(t, domain.Settings{Limits: domain.Limits{DefaultTimeout: time.Second, MaxAbandonGrace: time.Second}}, nil, func() error { <-release; return nil })
					done := make(chan error, 1)
					go func() {
						switch kind {
						case "tool":
							_, err := exec.Call(context.Background(), ExecuteToolCommand{Tool: "t"})
							done <- err
						case "resource":
							exec.ReadResource(context.Background(), ann, nil, "x://r", func(_ domain.ToolResult, err error) { done <- err })
						case "prompt":
							exec.GetPrompt(context.Background(), ann, nil, "p", nil, func(_ domain.PromptResult, err error) { done <- err })
						case "completion":
							exec.Complete(context.Background(), domain.CompleteQuery{Session: ann, Prompt: "p", Argument: "a"}, func(_ domain.Completions, err error) { done <- err })
						}
					}()
					if err := <-done; domain.CodeOf(err) != domain.CodeTimeout {
						t.Errorf("out of time: %v", err)
					}
					if exec.Abandoned() != 1 {
						t.Errorf("%d abandoned", exec.Abandoned())
					}
					close(release)
				})
			})
			t.Run("panic", func(t *testing.T) {
				var rec Record
				exec := offering(t, domain.Settings{}, func(r *Record) { rec = *r }, func() error { panic("oh") })
				if err := ask(exec, ann); domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "panic: oh") {
					t.Errorf("panic: %v", err)
				}
				if rec.Outcome != "error" || rec.Stack() == "" || rec.Principal != "token:ann" {
					t.Errorf("record %+v", rec)
				}
			})
			t.Run("secret in an error", func(t *testing.T) {
				exec := offering(t, domain.Settings{Secrets: []string{"sk-12345678"}}, nil, func() error {
					return &domain.Error{Code: domain.CodeExecutionFailed, Message: "no sk-12345678", Hint: "not sk-12345678", Data: map[string]any{"k": []string{"sk-12345678"}}}
				})
				e, _ := errors.AsType[*domain.Error](ask(exec, ann))
				if b, _ := json.Marshal([]any{e.Message, e.Envelope()}); strings.Contains(string(b), "12345678") || strings.Count(string(b), redact.Mark) != 3 {
					t.Errorf("got %s", b)
				}
			})
			t.Run("canceled in the queue", func(t *testing.T) {
				entered, release := make(chan struct{}, 1), make(chan struct{})
				exec := offering(t, domain.Settings{Limits: domain.Limits{PerPrincipal: 1, QueueWait: time.Minute}}, nil, func() error { entered <- struct{}{}; <-release; return nil })
				first := make(chan error)
				go func() { first <- ask(exec, ann) }()
				<-entered
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				var got error
				exec.ReadResource(ctx, ann, nil, "x://r", func(_ domain.ToolResult, err error) { got = err })
				if domain.CodeOf(got) != domain.CodeExecutionFailed || !strings.Contains(got.Error(), "canceled") {
					t.Errorf("got %v", got)
				}
				close(release)
				<-first
			})
		})
	}
}

// TestRecordPanicsLate has the record panic at the end of a call that was
// abandoned, which is on a goroutine that nobody else guards.
func TestRecordPanicsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		exec := offering(t, domain.Settings{Limits: domain.Limits{DefaultTimeout: time.Second, MaxAbandonGrace: time.Second}}, func(*Record) { panic("recorded") }, func() error { <-release; return nil })
		_, err := exec.Call(context.Background(), ExecuteToolCommand{Tool: "t"})
		if domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "panic: recorded") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

// TestRefusedCallsCount checks that calls that are refused, for whatever reason,
// count against the rate.
func TestRefusedCallsCount(t *testing.T) {
	for name, cmd := range map[string]ExecuteToolCommand{
		"unknown": {Tool: "nope"}, "invalid": {Tool: "t", Arguments: json.RawMessage(`{"x":1}`)}, "disabled": {Tool: "off"}, "nowhere": {Tool: "t"},
	} {
		off := tool("off", fine)
		off.Disabled = true
		exec := executor(t, domain.Settings{Limits: domain.Limits{RatePerMinute: 2}}, nil, tool("t", fine), off)
		if name == "nowhere" {
			exec.Workspace = func(domain.Principal) (*domain.Registry, error) { return nil, errors.New("no workspace") }
		}
		for range 2 {
			if _, err := exec.Call(t.Context(), cmd); domain.CodeOf(err) == domain.CodeRateLimited {
				t.Errorf("%s: refused too early", name)
			}
		}
		if _, err := exec.Call(t.Context(), cmd); domain.CodeOf(err) != domain.CodeRateLimited {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitingHoldsNothing checks that a call that waits for a slot of its tool
// keeps no slot from another.
func TestWaitingHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := tool("slow", func(context.Context) (domain.ToolResult, error) { <-release; return domain.Text(""), nil })
		exec := executor(t, domain.Settings{Limits: domain.Limits{PerTool: 1, PerPrincipal: 2, QueueWait: time.Hour}}, nil, slow, tool("echo", fine))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = exec.Call(context.Background(), ExecuteToolCommand{Tool: "slow", Session: ann}) })
		}
		synctest.Wait() // one runs, two wait
		start := time.Now()
		for _, who := range []domain.Session{ann, bob} {
			if _, err := exec.Call(context.Background(), ExecuteToolCommand{Tool: "echo", Session: who}); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("echo waited %v", waited)
		}
		close(release)
		wg.Wait()
		synctest.Wait()
		if n := slotsInUse(exec); n != 0 {
			t.Errorf("%d slots are not given back", n)
		}
	})
}

// listening is a client that writes down what it gets.
type listening struct{ got []string }

func (l *listening) WantsProgress() bool { return true }
func (l *listening) Progress(p Progress) { l.got = append(l.got, p.Message) }
func (l *listening) Log(m LogMessage)    { l.got = append(l.got, fmt.Sprint(m.Data)) }
func (l *listening) Complete(string)     {}

func (l *listening) Round() (string, bool) { return "", false }
func (l *listening) Detach(string) bool    { return false }

func (l *listening) Ended() <-chan struct{} { return nil }

func (l *listening) Supports(string) bool { return true }
func (l *listening) Ask(_ context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error) {
	b, err := json.Marshal(requests)
	l.got = append(l.got, string(b))
	answers := map[string]json.RawMessage{}
	for name := range requests {
		answers[name] = json.RawMessage(`{"action":"accept"}`)
	}
	return answers, err
}

// TestEveryWayOut has a secret leave by each way there is.
func TestEveryWayOut(t *testing.T) {
	const key = "sk-12345678-abcdef"
	settings := domain.Settings{Secrets: []string{key}, Limits: domain.Limits{MaxResultChars: 1000, DefaultTimeout: time.Minute}}
	out := func(run func(context.Context) (domain.ToolResult, error)) (string, error) {
		client := &listening{}
		exec := executor(t, settings, nil, tool("t", run))
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "t", Client: client})
		var envelope any
		if e, ok := errors.AsType[*domain.Error](err); ok {
			envelope = e.Envelope()
		}
		b, jsonErr := json.Marshal([]any{res.Blocks(), res.Structured(), res.Meta, envelope, client.got})
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		return string(b) + fmt.Sprint(err), err
	}
	escaped := json.RawMessage(`{"k":"\u0073k-12345678-abcdef"}`)
	for name, run := range map[string]func(context.Context) (domain.ToolResult, error){
		"text": func(context.Context) (domain.ToolResult, error) { return domain.Text("x " + key), nil },
		"results": func(context.Context) (domain.ToolResult, error) {
			return domain.JSONText(map[string]string{"k": key}, struct{}{})
		},
		"meta": func(context.Context) (domain.ToolResult, error) {
			r := domain.Text("")
			r.Meta = map[string]string{"k": key}
			return r, nil
		},
		"metadata": func(context.Context) (domain.ToolResult, error) {
			r := domain.Text("")
			r.MetaData = map[string]any{"k": key}
			return r, nil
		},
		"link": func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{Content: []domain.Content{{Type: domain.LinkContent, URI: "x://" + key, Name: key}}}, nil
		},
		"raw block": func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{Content: []domain.Content{{Type: domain.TextContent, Text: "", Raw: escaped}}}, nil
		},
		"raw results": func(context.Context) (domain.ToolResult, error) {
			r := domain.Text("")
			r.Results = escaped
			return r, nil
		},
		"failure": func(context.Context) (domain.ToolResult, error) { return domain.Failure("x", "m "+key, "h "+key), nil },
		"partial": func(context.Context) (domain.ToolResult, error) {
			return overrun{name: "t", limit: time.Second}.partial(domain.Failure("x", key, ""), brief.Clip), nil
		},
		"other's data": func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{}, &domain.Error{Code: -7, Message: "m", Verbatim: true, RawData: escaped}
		},
		"cut message": func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{}, errors.New(strings.Repeat("x", domain.MaxErrorText-20) + key)
		},
		"progress": func(ctx context.Context) (domain.ToolResult, error) {
			ReportProgress(ctx, Progress{Done: 1, Message: key})
			return domain.Text(redact.Mark), nil
		},
		"log": func(ctx context.Context) (domain.ToolResult, error) {
			Log(ctx, LogMessage{Data: map[string]string{"k": key}})
			return domain.Text(redact.Mark), nil
		},
		"question": func(ctx context.Context) (domain.ToolResult, error) {
			_, err := Elicit(ctx, "q", Elicitation{Message: key})
			return domain.Text(redact.Mark), err
		},
	} {
		if got, _ := out(run); strings.Contains(got, "12345678") || !strings.Contains(got, redact.Mark) {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

// TestSecretAcrossPages puts a secret at every place relative to the edge of a
// page of output that was kept as it is.
func TestSecretAcrossPages(t *testing.T) {
	const key = "sk-12345678-abcdef"
	exec := executor(t, domain.Settings{Secrets: []string{key}}, nil)
	exec.Results.configure(64, exec.Results.rules.Load().redactor)
	for before := 30; before <= 70; before++ {
		text := strings.Repeat("a", before) + key + key + strings.Repeat("b", 200)
		kept := exec.Results.KeepFile(domain.Principal{}, closeReader{strings.NewReader(text)}, int64(len(text)))
		var got strings.Builder
		for page := 1; page <= kept.Pages; page++ {
			part, _, err := exec.Results.Page(domain.Principal{}, kept.ID, page)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(part)
		}
		if want := strings.Repeat("a", before) + redact.Mark + strings.Repeat("b", 200); got.String() != want {
			t.Errorf("%d before: %s", before, got.String())
		}
	}
}

type closeReader struct{ *strings.Reader }

func (closeReader) Close() error { return nil }

// TestKeptShares checks that nobody's results are dropped because somebody else
// has many.
func TestKeptShares(t *testing.T) {
	s := NewResultStore(100)
	mine := s.Keep(ann.Principal, "mine")
	for range 2 * maxKeptResults {
		s.Keep(bob.Principal, "x")
	}
	big := strings.Repeat("x", maxKeptBytes/4)
	for range 6 {
		s.Keep(bob.Principal, big)
	}
	if _, _, err := s.Page(ann.Principal, mine.ID, 1); err != nil {
		t.Error(err)
	}
	same := domain.Principal{ID: "issuer:ann", Name: "ann"}
	if _, _, err := s.Page(same, mine.ID, 1); !errors.Is(err, ErrUnknownResult) {
		t.Errorf("another ann reads it: %v", err)
	}
}

// TestStructuredIsJSON checks that a result that cannot be written is a fault of
// its tool.
func TestStructuredIsJSON(t *testing.T) {
	_, err := run(t, tool("odd", func(context.Context) (domain.ToolResult, error) {
		r := domain.Text("odd")
		r.Results = func() {}
		return r, nil
	}), `{}`)
	if domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "odd failed: structured content") {
		t.Errorf("got %v", err)
	}
}

// TestStructuredIsBounded checks structured content whose text is short.
func TestStructuredIsBounded(t *testing.T) {
	strict, err := schema.ParseOutput([]byte(`{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range []*schema.Output{nil, strict} {
		big := tool("big", func(context.Context) (domain.ToolResult, error) {
			r := domain.Text("3 rows")
			r.Results = map[string]any{"rows": []string{strings.Repeat("x", 5<<20)}}
			return r, nil
		})
		big.Output = output
		exec := executor(t, domain.Settings{}, nil, big)
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "big"})
		b, _ := json.Marshal(res.Structured())
		if err != nil || len(b) > 1000 || res.IsError != (output != nil) {
			t.Errorf("%v: %v, %d bytes", output != nil, err, len(b))
		}
		if text := res.Content[len(res.Content)-1].Text; output != nil && !strings.Contains(text, "read_large_result") {
			t.Errorf("no way to read on: %q", text)
		}
	}
}

// TestRaw checks that a raw handler gets what was sent, and that what it returns
// is not touched.
func TestRaw(t *testing.T) {
	schema, err := schema.Parse([]byte(`{"type":"object","properties":{"a":{"type":"string","default":"x"},"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	const block = `{"type":"text","text":"hi","annotations":{"priority":1},"_meta":{"z":1,"a":2}}`
	raw := domain.Tool{Name: "raw", Description: "Raw.", Input: schema, RunRaw: func(_ context.Context, args json.RawMessage) (domain.ToolResult, error) {
		if strings.Contains(string(args), "fail") {
			return domain.ToolResult{}, &domain.Error{Code: -32042, Message: "sign in", Verbatim: true, RawData: json.RawMessage(`{"elicitations":[1]}`)}
		}
		r := domain.ToolResult{Content: []domain.Content{{Type: domain.TextContent, Text: "hi", Raw: json.RawMessage(block)}}}
		r.Meta = json.RawMessage(string(args))
		return r, nil
	}}
	const sent = `{"zeta":1, "n":1e0 ,"b":{"z":1,"a":2}}`
	res, err := run(t, raw, sent)
	if err != nil || string(res.Meta.(json.RawMessage)) != sent || string(res.Content[0].Raw) != block {
		t.Errorf("%v: %+v", err, res)
	}
	_, err = run(t, raw, `{"n":1,"s":"fail"}`)
	if e, _ := errors.AsType[*domain.Error](err); e == nil || e.Code != -32042 || fmt.Sprintf("%s", e.Envelope()) != `{"elicitations":[1]}` {
		t.Errorf("error %#v", err)
	}
	for args, want := range map[string]string{`{"n":"1"}`: `{"n":1}`, `{}`: `{}`, `{"n":"x","a":null}`: `{"n":"x","a":null}`} { // the server decides
		if res, err = run(t, raw, args); err != nil || string(res.Meta.(json.RawMessage)) != want {
			t.Errorf("%s: %v: %+v", args, err, res)
		}
	}
	if _, err = run(t, raw, `[]`); domain.CodeOf(err) != domain.CodeInvalidParams {
		t.Errorf("an array: %v", err)
	}
}

func TestNested(t *testing.T) {
	var rec Record
	hidden, limited, brief := tool("hidden", fine), tool("limited", fine), tool("brief", func(ctx context.Context) (domain.ToolResult, error) {
		<-ctx.Done()
		return domain.ToolResult{}, ctx.Err()
	})
	hidden.Groups, brief.Timeout = []string{"staff"}, time.Millisecond
	client := &listening{}
	confirmed := tool("confirmed", fine)
	confirmed.Confirm = true
	type execInput struct {
		Tool string `json:"tool" doc:"Tool to call."`
	}
	exec := executor(t, domain.Settings{Limits: domain.Limits{PerPrincipal: 1, PerTool: 1, RatePerMinute: 100, QueueWait: time.Second}, Secrets: []string{"sk-12345678"}},
		func(r *Record) { rec = *r }, hidden, limited, brief, confirmed,
		tool("breaks", func(context.Context) (domain.ToolResult, error) { panic("inner") }),
		tool("reports", func(ctx context.Context) (domain.ToolResult, error) {
			ReportProgress(ctx, Progress{Done: 1, Message: "half"})
			return domain.Text("sk-12345678"), nil
		}),
		domain.Define(domain.Tool{Name: "exec", Description: "Calls another."}, func(ctx context.Context, in execInput) (domain.ToolResult, error) {
			return CallTool(ctx, in.Tool, json.RawMessage(`{}`))
		}),
		tool("deep", func(ctx context.Context) (domain.ToolResult, error) { return CallTool(ctx, "deep", nil) }),
	)
	call := func(name string) (string, error) {
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "exec", Arguments: json.RawMessage(`{"tool":"` + name + `"}`), Session: ann, Client: client})
		if err != nil {
			return "", err
		}
		return res.Content[0].Text, nil
	}
	for _, test := range []struct {
		tool, want string
		code       domain.Code
	}{
		{"limited", "fine", 0}, {"reports", redact.Mark, 0}, {"hidden", `no tool "hidden"`, domain.CodeToolNotFound}, {"breaks", "breaks failed: panic: inner", domain.CodeExecutionFailed},
		{"brief", "brief timed out after 0.001s, the operator's limit (tools.brief.timeout)", domain.CodeTimeout}, {"deep", "nested more than", domain.CodeExecutionFailed}, {"exec", "exec: tool is required", domain.CodeInvalidParams},
	} {
		got, err := call(test.tool)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || domain.CodeOf(err) != test.code {
			t.Errorf("%s: %q, %d", test.tool, got, domain.CodeOf(err))
		}
		if rec.Tool != "exec" {
			t.Errorf("%s: record %+v", test.tool, rec)
		}
	}
	if !slices.Contains(client.got, "half") {
		t.Errorf("the client got %q", client.got)
	}
	if _, err := call("confirmed"); err != nil || !strings.Contains(client.got[len(client.got)-1], "Allow confirmed") {
		t.Errorf("%v: %q", err, client.got)
	}
	eventually(t, func() bool { return slotsInUse(exec) == 0 })
	if _, err := CallTool(t.Context(), "limited", nil); err == nil {
		t.Error("a call outside any call was made")
	}
}

// slotsInUse returns how many slots of principals are held.
func slotsInUse(e *Executor) (n int64) {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	for _, p := range e.slots.principals {
		n += p.InUse()
	}
	return n
}
