package websearch_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/search"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/websearch"
)

const key = "secret-key-0123456789"

// names are the search services, in the order in which they are tested.
var names = []string{"brave", "searxng", "tavily", "duckduckgo"}

// newFake returns the fake of a service.
func newFake(name string, o fake.Options) *fake.Service {
	if o.Key == "" {
		o.Key = key
	}
	o.Large = 6 << 20
	switch name {
	case "brave":
		return fake.Brave(o)
	case "searxng":
		return fake.SearXNG(o)
	case "tavily":
		return fake.Tavily(o)
	}
	return fake.DuckDuckGo(o)
}

// options returns the settings that ask services, in this order, at base URLs that are made of their names.
func options(base func(name string) string, services ...string) websearch.Options {
	o := websearch.DefaultOptions()
	o.Providers = services
	o.Brave = websearch.BraveOptions{APIKey: key, BaseURL: base("brave")}
	o.Tavily = websearch.TavilyOptions{APIKey: key, BaseURL: base("tavily")}
	o.SearXNG.BaseURL, o.DuckDuckGo.BaseURL = base("searxng"), base("duckduckgo")
	return o
}

// tool returns web_search.
func tool(t testing.TB, client *http.Client, o websearch.Options) domain.Tool {
	t.Helper()
	tools := tooltest.Tools(t, websearch.Family(), declare.From[websearch.Options]{Client: tooltest.Client(client), Config: o})
	if len(tools) != 1 {
		t.Fatalf("%d tools", len(tools))
	}
	return tools[0]
}

// inProcess returns web_search over fakes that are reached without a network, as in a bubble of synctest.
func inProcess(t testing.TB, o fake.Options, services ...string) (domain.Tool, map[string]*fake.Service) {
	t.Helper()
	fakes := map[string]*fake.Service{}
	for _, name := range services {
		fakes[name] = newFake(name, o)
	}
	client := &http.Client{
		Transport: fake.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fakes[strings.TrimSuffix(r.URL.Host, ".test")].ServeHTTP(w, r)
		})),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return tool(t, client, options(func(name string) string { return "http://" + name + ".test" }, services...)), fakes
}

// overNetwork returns web_search over fakes that are reached as the real services are, through the guard.
func overNetwork(t testing.TB, o fake.Options, services ...string) (domain.Tool, map[string]*fake.Service) {
	t.Helper()
	var open []netguard.Host
	fakes, bases := map[string]*fake.Service{}, map[string]string{}
	for _, name := range services {
		fakes[name] = newFake(name, o)
		srv := httptest.NewServer(fakes[name])
		t.Cleanup(srv.Close)
		bases[name] = srv.URL
		host, err := netguard.ParseHost(strings.TrimPrefix(srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, host)
	}
	client := netguard.New(netguard.Options{Open: open}).Client()
	t.Cleanup(client.CloseIdleConnections)
	return tool(t, client, options(func(name string) string { return bases[name] }, services...)), fakes
}

// output is the structured content of a result.
type output struct {
	Query     string             `json:"query"`
	Provider  string             `json:"provider"`
	Page      int                `json:"page"`
	Answers   []string           `json:"answers"`
	Results   []websearch.Result `json:"results"`
	More      bool               `json:"more_available"`
	Notes     []string           `json:"notes"`
	Fallbacks []struct {
		Provider  string `json:"provider"`
		ErrorType string `json:"error_type"`
		Message   string `json:"message"`
	} `json:"fallbacks"`
	ErrorType string `json:"error_type"`
	Hint      string `json:"next_action_hint"`
}

// structured returns the structured content of a result, in which there must be no key, nor in the text.
func structured(t testing.TB, res domain.ToolResult) output {
	t.Helper()
	b, err := json.Marshal(res.Structured())
	if err != nil {
		t.Fatal(err)
	}
	if text := tooltest.Text(res) + string(b); strings.Contains(text, key) {
		t.Errorf("the key is in %s", text)
	}
	var out output
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// runSearch calls a tool within ctx.
func runSearch(ctx context.Context, t testing.TB, exec *call.Executor, args string) (domain.ToolResult, error) {
	t.Helper()
	return exec.Call(ctx, call.ExecuteToolCommand{Tool: "web_search", Arguments: json.RawMessage(args)})
}
