package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

type none struct{}

// tool returns a tool without arguments.
func tool(name string, run func(context.Context) (domain.ToolResult, error)) domain.Tool {
	return domain.Define(domain.Tool{Name: name, Description: "A tool."}, func(ctx context.Context, _ none) (domain.ToolResult, error) { return run(ctx) })
}

func executor(t testing.TB, s domain.Settings, record func(*Record), tools ...domain.Tool) *Executor {
	t.Helper()
	registry, err := domain.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return NewExecutor(registry, NewResultStore(domain.PageBytes(s.Limits.MaxResultChars)), s, record)
}

func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var records []Record
		brief := func(t domain.Tool) domain.Tool { t.Timeout = time.Second; return t }
		secret, off := tool("secret", nil), tool("off", nil)
		secret.Groups, off.Disabled = []string{"staff"}, true
		release := make(chan struct{})
		exec := executor(t, domain.Settings{Limits: domain.Limits{MaxAbandonGrace: time.Second}}, func(r *Record) { records = append(records, *r) },
			tool("ok", func(context.Context) (domain.ToolResult, error) { return domain.Text("fine"), nil }),
			tool("sad", func(context.Context) (domain.ToolResult, error) {
				return domain.Failure("not_found", "no such file", "Look elsewhere."), nil
			}),
			tool("breaks", func(context.Context) (domain.ToolResult, error) { return domain.ToolResult{}, errors.New("no disk") }),
			tool("panics", func(context.Context) (domain.ToolResult, error) { panic("no disk") }),
			tool("exits", func(context.Context) (domain.ToolResult, error) { runtime.Goexit(); return domain.ToolResult{}, nil }),
			tool("typed", func(context.Context) (domain.ToolResult, error) {
				return domain.ToolResult{}, domain.Errorf(domain.CodeInvalidParams, "typed: bad date: %w", errors.New("cause"))
			}),
			brief(tool("slow", func(ctx context.Context) (domain.ToolResult, error) {
				<-ctx.Done()
				return domain.ToolResult{}, ctx.Err()
			})),
			brief(tool("partial", func(ctx context.Context) (domain.ToolResult, error) {
				<-ctx.Done()
				r := domain.Text("half of it")
				r.IsError = true
				return r, nil
			})),
			brief(tool("late", func(ctx context.Context) (domain.ToolResult, error) {
				<-ctx.Done()
				return domain.Text("just in time"), nil
			})),
			brief(tool("deaf", func(context.Context) (domain.ToolResult, error) { <-release; return domain.Text("too late"), nil })),
			secret, off,
		)
		for _, test := range []struct {
			tool, want string
			code       domain.Code
			outcome    string
		}{
			{"ok", "fine", 0, "ok"},
			{"sad", "no such file", 0, "tool_error"},
			{"breaks", "breaks failed: no disk", domain.CodeExecutionFailed, "error"},
			{"panics", "panics failed: panic: no disk", domain.CodeExecutionFailed, "error"},
			{"exits", "exits failed: the handler ended its goroutine", domain.CodeExecutionFailed, "error"},
			{"typed", "typed: bad date: cause", domain.CodeInvalidParams, "error"},
			{"slow", "slow timed out after 1s, the operator's limit (tools.slow.timeout)", domain.CodeTimeout, "error"},
			{"partial", "half of it\n[timed out after 1s, the operator's limit (tools.partial.timeout)]", 0, "tool_error"},
			{"late", "just in time", 0, "ok"},
			{"deaf", "deaf timed out after 1s, the operator's limit (tools.deaf.timeout)", domain.CodeTimeout, "error"},
			{"secret", `no tool "secret"`, domain.CodeToolNotFound, "error"},
			{"off", `tool "off" is disabled in the server's configuration`, domain.CodeToolDisabled, "error"},
			{"nope", `no tool "nope"`, domain.CodeToolNotFound, "error"},
		} {
			res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: test.tool})
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				for _, c := range res.Content {
					got += c.Text
				}
			}
			if got != test.want || domain.CodeOf(err) != test.code {
				t.Errorf("%s: got %q, code %d; want %q, code %d", test.tool, got, domain.CodeOf(err), test.want, test.code)
			}
			if err != nil {
				if _, ok := err.(*domain.Error); !ok {
					t.Errorf("%s: error is a %T", test.tool, err)
				}
			}
			last := records[len(records)-1]
			if last.Tool != test.tool || last.Outcome != test.outcome || last.Code != test.code {
				t.Errorf("%s: recorded %+v", test.tool, last)
			}
		}
		if exec.Abandoned() != 1 {
			t.Errorf("%d handlers abandoned; want 1", exec.Abandoned())
		}
		close(release)
		synctest.Wait()
		if exec.Abandoned() != 0 {
			t.Errorf("%d handlers still counted as abandoned", exec.Abandoned())
		}
	})
}

// TestStrangerLearnsNothing checks that a tool for others answers as one that
// does not exist, whatever the arguments and even when it is disabled.
func TestStrangerLearnsNothing(t *testing.T) {
	hidden := domain.Define(domain.Tool{Name: "hidden", Description: "Hidden.", Groups: []string{" Staff "}, Disabled: true},
		func(context.Context, searchInput) (domain.ToolResult, error) { return domain.Text(""), nil })
	exec := executor(t, domain.Settings{}, nil, hidden)
	message := func(name, args string, groups ...string) string {
		_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: name, Arguments: json.RawMessage(args), Session: domain.Session{Principal: domain.Principal{Groups: groups}}})
		return strings.ReplaceAll(err.Error(), name, "X")
	}
	if a, b := message("hidden", `{"bad":1}`), message("absent", `{}`); a != b {
		t.Errorf("a stranger sees %q and %q", a, b)
	}
	if got := message("hidden", `{}`, "other", "STAFF"); !strings.Contains(got, "disabled") {
		t.Errorf("staff sees %q", got)
	}
}

func TestCompliance(t *testing.T) {
	access := domain.Access{Levels: map[string]domain.Level{
		"public": {}, "internal": {Aliases: []string{"soc2"}, AllowedWith: []string{"public"}}, "hipaa": {AllowedWith: []string{"SOC2"}},
	}}
	for _, test := range []struct {
		session, tool string
		strict, want  bool
	}{
		{"", "", false, true}, {"", "hipaa", false, true}, {"hipaa", "", false, true},
		{"", "", true, false}, {"hipaa", "", true, false}, {"hipaa", "hipaa", true, true},
		{"hipaa", "internal", false, true}, {"Hipaa ", "soc2", false, true}, {"internal", "hipaa", false, false},
		{"internal", "public", false, true}, {"hipaa", "public", false, false}, {"hipaa", "nonsense", false, false},
	} {
		access.Strict = test.strict
		got := access.Allowed(domain.Principal{ComplianceLevel: test.session}, &domain.Tool{ComplianceLevel: test.tool})
		if got != test.want {
			t.Errorf("%q with %q, strict %v: %v", test.session, test.tool, test.strict, got)
		}
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exec := executor(t, domain.Settings{Limits: domain.Limits{MaxAbandonGrace: time.Second}}, nil,
			tool("deaf", func(context.Context) (domain.ToolResult, error) { time.Sleep(time.Hour); return domain.Text(""), nil }))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := exec.Call(ctx, ExecuteToolCommand{Tool: "deaf"})
		if err == nil || err.Error() != "deaf was canceled" || time.Since(start) != 2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour) // until the handler is done
	})
}

func TestConcurrencyLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		work := tool("work", func(context.Context) (domain.ToolResult, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return domain.Text(""), nil
		})
		exec := executor(t, domain.Settings{Limits: domain.Limits{PerPrincipal: 3, QueueWait: 1500 * time.Millisecond}}, nil, work)
		var wg sync.WaitGroup
		var busy []string
		for range 8 {
			wg.Go(func() {
				_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "work"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					busy = append(busy, domain.CodeOf(err).Type())
				}
			})
		}
		wg.Wait()
		synctest.Wait() // until the last slot is given back
		if most != 3 || !slices.Equal(busy, []string{"busy", "busy"}) {
			t.Errorf("%d at a time, turned away %v; want 3, and 2 busy", most, busy)
		}
		if n := slotsInUse(exec); n != 0 {
			t.Errorf("%d slots are not given back", n)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exec := executor(t, domain.Settings{Limits: domain.Limits{RatePerMinute: 2}}, nil, tool("ok", func(context.Context) (domain.ToolResult, error) { return domain.Text(""), nil }))
		call := func(who string) string {
			_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "ok", Session: domain.Session{Principal: domain.Principal{ID: who, Name: who}}})
			if err == nil {
				return ""
			}
			return err.Error()
		}
		for i, want := range []string{"", "", "ok: over 2 calls a minute; try again in 30 s"} {
			if got := call("ann"); got != want {
				t.Errorf("call %d: %q; want %q", i, got, want)
			}
		}
		if got := call("bob"); got != "" {
			t.Errorf("bob pays for ann: %q", got)
		}
		time.Sleep(30 * time.Second)
		if got := call("ann"); got != "" {
			t.Errorf("after half a minute: %q", got)
		}
	})
}

func TestLongResults(t *testing.T) {
	var whole strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&whole, "%d äöü😀\n", i)
	}
	long := tool("long", func(context.Context) (domain.ToolResult, error) { return domain.Text(whole.String()), nil })
	data := tool("data", func(context.Context) (domain.ToolResult, error) {
		return domain.JSON(map[string]any{"text": whole.String()})
	})
	exec := executor(t, domain.Settings{Limits: domain.Limits{MaxResultChars: 5000}}, nil, long, data)
	ann := domain.Session{Principal: domain.Principal{ID: "ann", Name: "ann"}}
	res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "long", Session: ann})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Content[0].Text
	if n := len([]rune(text)); n > 5000 {
		t.Errorf("%d characters", n)
	}
	_, marker, _ := strings.Cut(text, "to read on: read_large_result(id=\"")
	id, _, ok := strings.Cut(marker, `", page=2)]`)
	if !ok {
		t.Fatalf("no next call in %q", text[len(text)-200:])
	}
	var got strings.Builder
	_, pages, err := exec.Results.Page(ann.Principal, id, 1)
	if err != nil {
		t.Fatal(err)
	}
	for page := 1; page <= pages; page++ {
		part, _, err := exec.Results.Page(ann.Principal, id, page)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(part)
		if page == 1 && !strings.HasPrefix(text, part) {
			t.Error("page 1 is not what was shown")
		}
	}
	if got.String() != whole.String() {
		t.Error("pages do not make up the whole")
	}
	for _, bad := range []struct {
		who, id string
		page    int
		want    error
	}{{"bob", id, 1, ErrUnknownResult}, {"ann", "lr_0", 1, ErrUnknownResult}, {"ann", id, 0, ErrPageOutOfRange}, {"ann", id, pages + 1, ErrPageOutOfRange}} {
		if _, _, err := exec.Results.Page(domain.Principal{ID: bad.who, Name: bad.who}, bad.id, bad.page); !errors.Is(err, bad.want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	res, err = exec.Call(t.Context(), ExecuteToolCommand{Tool: "data", Session: ann})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(res.Structured()); len(b) > 5000 || !strings.Contains(string(b), `"truncated":true`) {
		t.Errorf("structured content is %.200s", b)
	}
}

// TestPromisedLength has a tool promise longer results than usual: it gives them,
// but where the operator wants shorter ones.
func TestPromisedLength(t *testing.T) {
	long := tool("long", func(context.Context) (domain.ToolResult, error) { return domain.Text(strings.Repeat("x", 50_000)), nil })
	long.MaxResultChars = 60_000
	for limit, whole := range map[int]bool{0: true, domain.DefaultMaxResultChars: true, domain.DefaultMaxResultChars - 1: false, 70_000: true} {
		exec := executor(t, domain.Settings{Limits: domain.Limits{MaxResultChars: limit}}, nil, long)
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "long"})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(res.Content[0].Text) == 50_000; got != whole {
			t.Errorf("limit %d: whole is %v", limit, got)
		}
	}
}

func TestResultStoreIsBounded(t *testing.T) {
	s := NewResultStore(100)
	first := s.Keep(domain.Principal{}, "first")
	big := strings.Repeat("x", maxKeptBytes/4)
	for range 4 {
		s.Keep(domain.Principal{}, big)
	}
	if _, _, err := s.Page(domain.Principal{}, first.ID, 1); !errors.Is(err, ErrUnknownResult) {
		t.Errorf("first result outlived the memory bound: %v", err)
	}
	now := time.Now()
	s.kept.Now = func() time.Time { return now }
	k := s.Keep(domain.Principal{}, "brief")
	now = now.Add(KeptFor)
	if _, _, err := s.Page(domain.Principal{}, k.ID, 1); !errors.Is(err, ErrUnknownResult) {
		t.Errorf("result did not expire: %v", err)
	}
	for range 2 * maxKeptResults {
		s.Keep(domain.Principal{}, "x")
	}
}

func TestRedaction(t *testing.T) {
	const key = `sk-"quoted"-123456`
	var recorded Record
	exec := executor(t, domain.Settings{Secrets: []string{key, "short"}}, func(r *Record) { recorded = *r },
		tool("text", func(context.Context) (domain.ToolResult, error) { return domain.Text("key: " + key + " short"), nil }),
		tool("data", func(context.Context) (domain.ToolResult, error) { return domain.JSON(map[string]string{"k": key}) }),
		tool("fail", func(context.Context) (domain.ToolResult, error) {
			return domain.Failure("x", "no "+key, "use "+key), nil
		}),
		tool("break", func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{}, errors.New("bad key " + key)
		}),
	)
	for _, name := range []string{"text", "data", "fail", "break"} {
		res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: name})
		b, _ := json.Marshal([]any{res.Content, res.Structured(), err})
		if s := string(b) + fmt.Sprint(err); strings.Contains(s, "quoted") || !strings.Contains(s, redact.Mark) {
			t.Errorf("%s: %s", name, s)
		}
	}
	if recorded.Tool != "break" {
		t.Errorf("recorded %+v", recorded)
	}
}

func TestProgress(t *testing.T) {
	var got []Progress
	exec := executor(t, domain.Settings{}, nil, tool("steps", func(ctx context.Context) (domain.ToolResult, error) {
		if !WantsProgress(ctx) || SessionOf(ctx).ID != "s1" {
			t.Error("the call's context does not know the call")
		}
		ReportProgress(ctx, Progress{Done: 1, Total: 2, Message: "half"})
		return domain.Text(""), nil
	}))
	_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "steps", Session: domain.Session{ID: "s1"}, Client: ProgressFunc(func(p Progress) { got = append(got, p) })})
	if err != nil || len(got) != 1 || got[0] != (Progress{Done: 1, Total: 2, Message: "half"}) {
		t.Errorf("got %v, %v", got, err)
	}
	ReportProgress(t.Context(), Progress{}) // outside a call it does nothing
}

func TestList(t *testing.T) {
	var tools []domain.Tool
	for _, name := range []string{"d", "b", "a", "c", "off", "staff"} {
		x := tool(name, nil)
		x.Category = "cat" + name[:1]
		x.Disabled = name == "off"
		if name == "staff" {
			x.Groups = []string{"staff"}
		}
		tools = append(tools, x)
	}
	exec := executor(t, domain.Settings{Limits: domain.Limits{PageSize: 2}}, nil, tools...)
	var pages []string
	for q := (domain.ListToolsQuery{}); ; {
		page, err := exec.Registry.Catalog().List(q)
		if err != nil {
			t.Fatal(err)
		}
		var names string
		for _, tool := range page.Tools {
			names += tool.Name
		}
		if pages = append(pages, names); page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	if want := []string{"ab", "cd"}; !slices.Equal(pages, want) {
		t.Errorf("got %v; want %v", pages, want)
	}
	if page, err := exec.Registry.Catalog().List(domain.ListToolsQuery{Category: "catb"}); err != nil || len(page.Tools) != 1 {
		t.Errorf("category: %v, %v", page, err)
	}
	if _, err := exec.Registry.Catalog().List(domain.ListToolsQuery{Cursor: "!"}); domain.CodeOf(err) != domain.CodeInvalidParams {
		t.Errorf("bad cursor: %v", err)
	}
}

func TestV2Contract(t *testing.T) {
	r := domain.Text("made it")
	r.Results = map[string]int{"pages": 2}
	r.Artifacts = []domain.Artifact{{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}, {Name: "b.png", MIME: "image/png", Data: []byte("x")}, {Name: "c", MIME: "text/plain", URI: "file:///c", Size: 7}}
	r.Display = &domain.Display{OpenCanvas: true, PrimaryFile: "a.pdf"}
	made := tool("make", func(context.Context) (domain.ToolResult, error) { return r, nil })
	res, err := run(t, made, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(res.Structured())
	want := `{"results":{"pages":2},"artifacts":[{"name":"a.pdf","mime":"application/pdf","size":4,"uri":"artifact:///a.pdf"},` +
		`{"name":"b.png","mime":"image/png","size":1,"uri":"artifact:///b.png"},{"name":"c","mime":"text/plain","size":7,"uri":"file:///c"}],` +
		`"display":{"open_canvas":true,"primary_file":"a.pdf"}}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
	var types []string
	for _, c := range res.Blocks() {
		types = append(types, string(c.Type))
	}
	if want := []string{"text", "resource", "image", "resource_link"}; !slices.Equal(types, want) {
		t.Errorf("blocks %v; want %v", types, want)
	}
	for _, bad := range []domain.Artifact{{Name: "../x", MIME: "a/b"}, {Name: "", MIME: "a/b"}, {Name: "x", MIME: "no"}, {Name: "x", MIME: "a/b", Data: make([]byte, maxArtifactBytes+1)}} {
		r.Artifacts = []domain.Artifact{bad}
		if _, err := run(t, made, `{}`); domain.CodeOf(err) != domain.CodeExecutionFailed {
			t.Errorf("artifact %.20s %q: %v", bad.Name, bad.MIME, err)
		}
	}
}

// checkOutput checks structured content as a client does.
func checkOutput(t *testing.T, output *schema.Output, structured any) error {
	t.Helper()
	b, err := json.Marshal(structured)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rawjson.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := output.MarshalJSON() // never fails
	c := jsonschema.NewCompiler()
	if err := c.AddResource("output.json", bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("output.json").Validate(v)
}

func TestOutputSchema(t *testing.T) {
	type out struct {
		Path string `json:"path" doc:"Where."`
	}
	numbered, err := schema.ParseOutput([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		results any
		valid   bool
	}{{map[string]any{"n": 1}, true}, {map[string]any{"n": "x"}, false}, {nil, false}} {
		if err := checkOutput(t, numbered, test.results); (err == nil) != test.valid {
			t.Errorf("%v: %v", test.results, err)
		}
		x := tool("x", func(context.Context) (domain.ToolResult, error) {
			r := domain.Text("")
			r.Results = test.results
			return r, nil
		})
		x.Output = numbered
		if r, err := run(t, x, `{}`); err != nil || !reflect.DeepEqual(r.Results, test.results) { // it is for the client to check
			t.Errorf("%v: %v, %v", test.results, r, err)
		}
	}
	own := schema.OutputOf[out]()
	for _, v := range []any{out{"x"}, domain.Failure("a", "b", "c").Results, truncatedResults{}} {
		if err := checkOutput(t, own, v); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
	if checkOutput(t, own, map[string]int{"path": 1}) == nil {
		t.Error("a number passed for a path")
	}
}

func TestResultMode(t *testing.T) {
	_, err := run(t, tool("a", nil), `{"x":1}`)
	e, _ := errors.AsType[*domain.Error](err)
	b, _ := json.Marshal(e.AsResult().Structured())
	want := `{"is_error":true,"error_type":"invalid_arguments","message":"a: x is not a known argument; there are none",` +
		`"next_action_hint":"Correct the arguments named in the message and call a again.","code":-32602,` +
		`"data":{"fields":[{"field":"x","problem":"is not a known argument; there are none"}]}}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

type echoInput struct {
	Message string `json:"message" default:"" doc:"Text."`
}

func echoExecutor(b *testing.B) *Executor {
	echo := domain.Define(domain.Tool{Name: "echo", Description: "Echoes.", Timeout: time.Minute}, func(_ context.Context, in echoInput) (domain.ToolResult, error) {
		return domain.Text("Echo: " + in.Message), nil
	})
	limits := domain.Limits{PerTool: 64, PerPrincipal: 64, QueueWait: time.Second, DefaultTimeout: time.Minute, MaxAbandonGrace: time.Second}
	return executor(b, domain.Settings{Limits: limits}, func(*Record) {}, echo)
}

func BenchmarkStartEcho(b *testing.B) {
	exec := echoExecutor(b)
	cmd := ExecuteToolCommand{Tool: "echo", Arguments: json.RawMessage(`{"message":"hello"}`)}
	b.ReportAllocs()
	for b.Loop() {
		exec.Start(context.Background(), cmd, func(_ domain.ToolResult, err error) {
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkCallEcho(b *testing.B) {
	exec := echoExecutor(b)
	cmd := ExecuteToolCommand{Tool: "echo", Arguments: json.RawMessage(`{"message":"hello"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := exec.Call(context.Background(), cmd); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInvalidArguments(b *testing.B) {
	exec := echoExecutor(b)
	cmd := ExecuteToolCommand{Tool: "echo", Arguments: json.RawMessage(`{"mesage":"hello"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := exec.Call(context.Background(), cmd); err == nil {
			b.Fatal("accepted")
		}
	}
}
