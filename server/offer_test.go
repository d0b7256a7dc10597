package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

// documents are what a test server offers besides tools.
type documents struct {
	mu      sync.Mutex
	watched map[string]func() // by URI
}

func (d *documents) watch(ctx context.Context, at domain.Location, changed func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched[at.URI] = changed
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watched, at.URI)
	})
	return nil
}

// change tells who watches uri.
func (d *documents) change(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched[uri]()
}

// unwatched reports whether nobody watches uri.
func (d *documents) unwatched(uri string) func() bool {
	return func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.watched[uri] == nil
	}
}

// offer gives a fixture resources and prompts.
func offer(t testing.TB, s *Server) *documents {
	t.Helper()
	d := &documents{watched: map[string]func(){}}
	text := func(text string) func(context.Context, domain.Location) ([]domain.Content, error) {
		return func(_ context.Context, at domain.Location) ([]domain.Content, error) {
			return []domain.Content{{URI: at.URI, MIMEType: "text/plain", Text: text}}, nil
		}
	}
	resources := []domain.Resource{
		{URI: "doc:text", Name: "text", Title: "A text", Description: "Some text.", MIMEType: "text/plain", Read: text("hello \"you\""), Watch: d.watch},
		{URI: "doc:blob", Name: "blob", Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
			return []domain.Content{{URI: at.URI, MIMEType: "image/png", Data: []byte("png")}}, nil
		}},
		{URI: "doc:staff", Name: "staff", Read: text("secret"), Audience: domain.Audience{Groups: []string{"staff"}}},
		{URI: "doc:off", Name: "off", Read: text("off"), Audience: domain.Audience{Tool: "off"}},
		{URI: "doc:broken", Name: "broken", Read: func(context.Context, domain.Location) ([]domain.Content, error) { panic("oops") }},
		{Template: "row:{id}/data", Name: "row", MIMEType: "application/json",
			Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
				if at.Vars["id"] == "none" {
					return nil, domain.ResourceNotFound(at.URI, "there is no row none")
				}
				return []domain.Content{{URI: at.URI, MIMEType: "application/json", Text: `{"id":"` + at.Vars["id"] + `"}`}}, nil
			},
			Watch: d.watch,
			Complete: func(_ context.Context, argument, typed string, given map[string]string) (domain.Completions, error) {
				if typed == "many" {
					return domain.Completions{Values: make([]string, 150)}, nil
				}
				return domain.Completions{Values: []string{argument + ":" + typed + ":" + given["other"]}}, nil
			}},
	}
	prompts := []domain.Prompt{
		{Name: "greet", Title: "Greet", Description: "Greets.", Arguments: []domain.PromptArgument{
			{Name: "who", Description: "Whom.", Required: true}, {Name: "how", Values: []string{"warmly", "coldly"}},
		}, Get: func(_ context.Context, args map[string]string) (domain.PromptResult, error) {
			return domain.UserPrompt("Greet " + args["who"] + " " + args["how"]), nil
		}},
		{Name: "image", Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
			return domain.PromptResult{Description: "An image.", Messages: []domain.PromptMessage{
				{Role: "user", Content: domain.Content{Type: domain.ImageContent, Data: []byte("png"), MIMEType: "image/png"}},
				{Role: "assistant", Content: domain.Content{Type: domain.ResourceContent, URI: "a:b", Text: "t"}},
			}}, nil
		}},
		{Name: "sad", Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
			return domain.PromptResult{}, errors.New("no ink")
		}},
	}
	s.exec.Registry.Register(domain.FixedSource("offer", domain.Offer{Resources: resources, Prompts: prompts}, nil))
	return d
}

// TestOffers checks what can be listed, read, got and completed, in both eras
// and on both transports.
func TestOffers(t *testing.T) {
	s, _ := fixture(t)
	offer(t, s)
	for _, test := range []struct{ method, params, legacy, modern string }{
		{"resources/list", `{}`,
			`"result":{"resources":[{"name":"blob","uri":"doc:blob"},{"name":"broken","uri":"doc:broken"},` +
				`{"name":"text","uri":"doc:text","title":"A text","description":"Some text.","mimeType":"text/plain"}]}`,
			`"ttlMs":0,"cacheScope":"private","resultType":"complete"`},
		{"resources/templates/list", `{}`, `"result":{"resourceTemplates":[{"name":"row","uriTemplate":"row:{id}/data","mimeType":"application/json"}]}`, `"ttlMs":0,"cacheScope":"private"`},
		{"prompts/list", `{}`, `"result":{"prompts":[{"name":"greet","title":"Greet","description":"Greets.","arguments":[` +
			`{"name":"who","description":"Whom.","required":true},{"name":"how","required":false}]},{"name":"image"},{"name":"sad"}]}`, `"ttlMs":0,"cacheScope":"private"`},
		{"prompts/list", `{"cursor":7}`, `"error":{"code":-32602,"message":"\"cursor\" of prompts/list must be a string"}`, `"code":-32602`},
		{"prompts/list", `{"cursor":"?"}`, `"error":{"code":-32602,"message":"the cursor is not one that this list gave"`, `"code":-32602`},
		{"resources/read", `{"uri":"doc:text"}`, `"result":{"contents":[{"uri":"doc:text","mimeType":"text/plain","text":"hello \"you\""}]}`, `"ttlMs":0,"cacheScope":"private"`},
		{"resources/read", `{"uri":"doc:blob"}`, `"result":{"contents":[{"uri":"doc:blob","mimeType":"image/png","blob":"cG5n"}]}`, `"blob":"cG5n"`},
		{"resources/read", `{"uri":"row:a%2Fb/c/data"}`, `"text":"{\"id\":\"a/b/c\"}"`, `"text":"{\"id\":\"a/b/c\"}"`},
		{"resources/read", `{"uri":"row:none/data"}`, `"error":{"code":-32002,"message":"there is no row none","data":{"error_type":"resource_not_found",`, `"error":{"code":-32602,"message":"there is no row none"`},
		{"resources/read", `{"uri":"row:/data"}`, `"code":-32002`, `"code":-32602`},
		{"resources/read", `{"uri":"doc:staff"}`, `"error":{"code":-32002,"message":"no resource \"doc:staff\""`, `"uri":"doc:staff"`},
		{"resources/read", `{"uri":"doc:off"}`, `"error":{"code":-32002,"message":"no resource \"doc:off\""`, `"code":-32602`},
		{"resources/read", `{"uri":"doc:broken"}`, `"error":{"code":-32005,"message":"resource broken failed: panic: oops"`, `"code":-32005`},
		{"resources/read", `{}`, `"error":{"code":-32602,"message":"\"uri\" of resources/read is missing"}`, `"code":-32602`},
		{"prompts/get", `{"name":"greet","arguments":{"who":"Ann","how":"warmly"}}`,
			`"result":{"messages":[{"role":"user","content":{"type":"text","text":"Greet Ann warmly"}}]}`, `"resultType":"complete"`},
		{"prompts/get", `{"name":"greet","arguments":{"who":"Ann","how":""}}`, `"text":"Greet Ann "`, `"text":"Greet Ann "`},
		{"prompts/get", `{"name":"image"}`, `"result":{"description":"An image.","messages":[{"role":"user","content":{"type":"image","data":"cG5n","mimeType":"image/png"}},` +
			`{"role":"assistant","content":{"type":"resource","resource":{"uri":"a:b","text":"t"}}}]}`, `"messages"`},
		{"prompts/get", `{"name":"greet","arguments":{"how":"hotly","whom":"x"}}`,
			`"error":{"code":-32602,"message":"prompt greet: how must be one of warmly, coldly, not the string \"hotly\"; who is required; whom is not a known argument; did you mean who?"`, `"code":-32602`},
		{"prompts/get", `{"name":"greet","arguments":{"who":1}}`, `"message":"\"arguments\" of prompts/get must be an object of strings"`, `"code":-32602`},
		{"prompts/get", `{"name":"sad"}`, `"error":{"code":-32005,"message":"prompt sad failed: no ink"`, `"code":-32005`},
		{"prompts/get", `{"name":"nope"}`, `"error":{"code":-32602,"message":"no prompt \"nope\""`, `"code":-32602`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"how","value":"W"}}`,
			`"result":{"completion":{"values":["warmly"],"total":1,"hasMore":false}}`, `"values":["warmly"]`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"W"}}`, `"values":[]`, `"values":[]`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"row:{id}/data"},"argument":{"name":"id","value":"7"},"context":{"arguments":{"other":"x"}}}`, `"values":["id:7:x"]`, `"values":["id:7:x"]`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"row:{id}/data"},"argument":{"name":"id","value":"many"}}`, `"total":150,"hasMore":true`, `"hasMore":true`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"nope"},"argument":{"name":"id","value":""}}`, `"message":"no resource template \"nope\""`, `"code":-32602`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"id","value":""}}`, `"message":"no prompt \"nope\""`, `"code":-32602`},
		{"completion/complete", `{"ref":{}}`, `"code":-32602`, `"code":-32602`},
		{"logging/setLevel", `{"level":"warning"}`, `"result":{}`, `"code":-32601`},
		{"logging/setLevel", `{"level":"loud"}`, `"error":{"code":-32602,"message":"\"level\" must be one of debug, info,`, `"code":-32601`},
		{"resources/subscribe", `{"uri":"doc:blob"}`, `"error":{"code":-32602,"message":"resource doc:blob does not support subscriptions`, `"code":-32601`},
		{"resources/subscribe", `{"uri":"doc:none"}`, `"code":-32002`, `"code":-32601`},
		{"resources/subscribe", `{"uri":"doc:text"}`, `"result":{}`, `"code":-32601`},
		{"resources/unsubscribe", `{"uri":"doc:text"}`, `"result":{}`, `"code":-32601`},
	} {
		for _, modern := range []bool{false, true} {
			for transport, ask := range map[string]conversation{"stdio": overStdio(t, s), "http": overHTTP(t, s, modern, nil)} {
				if !modern {
					ask(t, initialize("2025-11-25"))
				}
				want := test.legacy
				if modern {
					want = test.modern
				}
				if got := ask(t, request(`1`, test.method, test.params, modern)); !strings.Contains(got, want) {
					t.Errorf("%s, modern %v: %s %s\n got %s\nwant %s", transport, modern, test.method, test.params, got, want)
				}
			}
		}
	}
}

// TestSubscriptions checks that a client hears of what it has subscribed to, and
// of nothing else.
func TestSubscriptions(t *testing.T) {
	s, _ := fixture(t)
	d := offer(t, s)
	c := dial(t, s)
	c.send(initialize("2025-11-25"))
	c.receive()
	c.send(request(`1`, "resources/subscribe", `{"uri":"row:7/data"}`, false))
	c.receive()
	d.change("row:7/data")
	if got, want := c.receive(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"row:7/data"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.send(request(`2`, "resources/unsubscribe", `{"uri":"row:7/data"}`, false))
	c.receive()
	waitFor(t, d.unwatched("row:7/data"))

	c.send(request(`"s"`, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["doc:text","doc:none"],"promptsListChanged":true}}`, true))
	if got, want := c.receive(), `"notifications":{"promptsListChanged":true,"resourceSubscriptions":["doc:text"]}`; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d.change("doc:text")
	if got, want := c.receive(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"uri":"doc:text"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// A change of something else leaves watches alone; the same resource, offered
	// anew, is watched anew.
	s.exec.Registry.Configure(domain.Settings{})
	d = offer(t, s)
	if got := c.receive(); !strings.Contains(got, `"uri":"doc:text"`) {
		t.Errorf("got %s", got)
	}
	s.exec.Registry.Unregister("offer")
	waitFor(t, d.unwatched("doc:text"))
	heard := map[string]bool{}
	for range 3 { // the session hears of both lists, the stream of one
		heard[c.receive()] = true
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`,
	} {
		if !heard[want] {
			t.Errorf("no %s in %v", want, heard)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
	waitFor(t, d.unwatched("doc:text"))
}

// TestTooManySubscriptions checks the bound.
func TestTooManySubscriptions(t *testing.T) {
	s, _ := fixture(t)
	d := offer(t, s)
	c := dial(t, s)
	c.send(initialize("2025-11-25"))
	c.receive()
	subscribe := func(n int) string {
		c.send(request(`1`, "resources/subscribe", `{"uri":"row:`+strings.Repeat("x", n+1)+`/data"}`, false))
		return c.receive()
	}
	for n := range maxWatches {
		if got := subscribe(n); !strings.Contains(got, `"result":{}`) {
			t.Fatal(got)
		}
	}
	if got := subscribe(0); !strings.Contains(got, `"result":{}`) {
		t.Errorf("subscribing again: %s", got)
	}
	if got := subscribe(maxWatches); !strings.Contains(got, "there are already 100 subscriptions") {
		t.Errorf("one too many: %s", got)
	}
	c.in.Close()
	waitFor(t, d.unwatched("row:x/data"))
}

// TestCategories checks that tools say their category, and that a client can list one.
func TestCategories(t *testing.T) {
	s, _ := fixture(t)
	tool := domain.Tool{Name: "a", Category: "alpha", Description: "Says nothing."}
	silent := func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text(""), nil }
	alpha := domain.Define(tool, silent)
	tool.Name, tool.Category = "b", "beta"
	add(s, alpha, domain.Define(tool, silent))
	for _, modern := range []bool{false, true} {
		for category, want := range map[string]string{`"alpha"`: "a", `"beta"`: "b", `"gamma"`: ""} {
			list := request(`1`, "tools/list", `{"_meta":{"toolserver/category":`+category+`}}`, false)
			if modern {
				list = strings.Replace(request(`1`, "tools/list", `{}`, true), `"_meta":{`, `"_meta":{"toolserver/category":`+category+`,`, 1)
			}
			got := strings.Join(play(t, s, list), "")
			for _, name := range []string{"a", "b"} {
				if listed := strings.Contains(got, `{"name":"`+name+`"`); listed != (name == want) {
					t.Errorf("category %s: %s", category, got)
				}
			}
			if want != "" && !strings.Contains(got, `"_meta":{"toolserver/category":`+category+`}}`) {
				t.Errorf("category %s is not said: %s", category, got)
			}
		}
	}
}

// TestLog checks who hears what calls say.
func TestLog(t *testing.T) {
	s, _ := fixture(t)
	add(s, domain.Define(domain.Tool{Name: "talk", Description: "Says things."}, func(ctx context.Context, _ noInput) (domain.ToolResult, error) {
		call.Log(ctx, call.LogMessage{Level: call.LogDebug, Data: "quietly"})
		call.Log(ctx, call.LogMessage{Level: call.LogWarning, Logger: "talk", Data: map[string]int{"n": 1}})
		return domain.Text("said"), nil
	}))
	const debug, warning = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"quietly"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"talk","data":{"n":1}}}`
	c := dial(t, s)
	for _, test := range []struct {
		name, before, meta string
		modern             bool
		want               []string
	}{
		{"legacy", "", "", false, []string{warning}},
		{"legacy debug", "debug", "", false, []string{debug, warning}},
		{"legacy error", "error", "", false, nil},
		{"modern", "", "", true, nil},
		{"modern debug", "", "debug", true, []string{debug, warning}},
		{"modern notice", "", "notice", true, []string{warning}},
	} {
		if test.before != "" {
			c.send(request(`0`, "logging/setLevel", `{"level":"`+test.before+`"}`, false))
			c.receive()
		}
		call := request(`1`, "tools/call", `{"name":"talk"}`, test.modern)
		if test.meta != "" {
			call = strings.Replace(call, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+test.meta+`",`, 1)
		}
		c.send(call)
		for _, want := range test.want {
			if got := c.receive(); got != want {
				t.Errorf("%s: got %s; want %s", test.name, got, want)
			}
		}
		if strings.HasSuffix(test.name, "debug") {
			if got, want := c.receive(), `{"level":"debug","logger":"fixture","data":{"outcome":"ok","took_ms":`; !strings.Contains(got, want) {
				t.Errorf("%s: got %s; want %s", test.name, got, want)
			}
		}
		if got := c.receive(); !strings.Contains(got, `"text":"said"`) {
			t.Errorf("%s: got %s", test.name, got)
		}
	}
}

// waitFor waits until ok does.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in time")
		}
	}
}
