package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/upstream"
)

// offered returns what a server offers that lists tools.
func offered(t testing.TB, server string, listed ...string) (o domain.Offer) {
	t.Helper()
	for _, raw := range listed {
		var l struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
		err := json.Unmarshal([]byte(raw), &l)
		if err != nil {
			t.Fatal(err)
		}
		made := domain.Tool{
			Name: upstream.OfferedName(server, l.Name), Alias: server + "_" + l.Name, Category: server, Listing: domain.ListedIfFew, Description: cmp.Or(l.Description, l.Name),
			Origin: domain.Origin{Server: server, Tool: l.Name},
			RunRaw: func(context.Context, json.RawMessage) (domain.ToolResult, error) { return domain.ToolResult{}, nil },
		}
		if made.Input, err = schema.Parse([]byte(cmp.Or(string(l.InputSchema), `{"type":"object","properties":{}}`))); err != nil {
			t.Fatal(err)
		}
		o.Tools = append(o.Tools, made)
	}
	return o
}

// finding is a registry with two servers, one of which is for a group, and what finds
// their tools.
func finding(t *testing.T, everything bool) *call.Executor {
	t.Helper()
	registry, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	own := domain.Define(domain.Tool{Name: "read_file", Description: "Read a text file."}, func(context.Context, struct{}) (domain.ToolResult, error) { return domain.Text("read"), nil })
	tools := tooltest.Tools(t, Family(registry.Catalog, nil, nil), declare.From[Options]{Config: Options{Servers: true, Everything: everything}})
	registry.Register(domain.FixedSource("own", domain.Offer{Tools: append(tools, own)}, nil))
	for name, groups := range map[string][]string{"pdf": nil, "pdf_secret": {" Analysts "}} {
		var tools []string
		for i := range 3 {
			tools = append(tools, fmt.Sprintf(`{"name":"merge_%d","description":"Merge %s documents. And more.","inputSchema":{"type":"object","properties":{"files":{"type":"array"}},"required":["files"]}}`, i, strings.ReplaceAll(name, "_", " ")))
		}
		offer := offered(t, name, tools...)
		for i := range offer.Tools {
			called := offer.Tools[i].Name
			offer.Tools[i].Groups = groups
			offer.Tools[i].RunRaw = func(_ context.Context, args json.RawMessage) (domain.ToolResult, error) {
				if strings.Contains(string(args), "bad") {
					return domain.ToolResult{}, &domain.Error{Code: domain.CodeInvalidParams, Message: "files are bad", Verbatim: true, RawData: json.RawMessage(`{"n":1.50}`)}
				}
				return domain.Text(called + string(args)), nil
			}
		}
		registry.Register(domain.FixedSource(name, offer, nil))
	}
	return call.NewExecutor(registry, call.NewResultStore(0), domain.Settings{}, func(*call.Record) {})
}

// TestFinder has tools found, described and called, by one who may use all servers and by
// one who may not.
func TestFinder(t *testing.T) {
	exec := finding(t, false)
	type answer struct {
		text string
		err  error
	}
	run := func(groups []string, tool, args string) answer {
		r, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args), Session: domain.Session{Principal: domain.Principal{ID: "token:x", Groups: groups}}})
		if err != nil {
			return answer{err.Error(), err}
		}
		return answer{r.Content[0].Text, nil}
	}
	analysts, nobody := []string{"analysts"}, []string(nil)
	for _, test := range []struct {
		groups           []string
		tool, args, want string
	}{
		{analysts, ListName, `{}`, "pdf_secret:\n  merge_0: Merge pdf secret documents.\n"},
		{nobody, ListName, `{}`, "pdf:\n  merge_0: Merge pdf documents.\n"},
		{analysts, ListName, `{"server":"pdf_secret"}`, "pdf_secret:\n"},
		{analysts, SearchName, `{"query":"merge secret pdf"}`, "server pdf_secret, tool merge_"},
		{nobody, SearchName, `{"query":"merge secret pdf"}`, "server pdf, tool merge_"},
		{analysts, InfoName, `{"server":"pdf_secret","tool":"merge_0"}`, `"required":["files"]`},
		{analysts, ExecName, `{"server":"pdf_secret","tool":"merge_0","args":{"files":[1]}}`, `pdf_secret__merge_0{"files":[1]}`},
		{nobody, ExecName, `{"server":"pdf","tool":"merge_1","args":{"files":[1]}}`, `pdf__merge_1{"files":[1]}`},
		{nobody, ExecName, `{"server":"pdf","tool":"pdf__merge_1","args":{"files":[1]}}`, `pdf__merge_1{"files":[1]}`},
		{nobody, ExecName, `{"server":"pdf","tool":"merge_1"}`, `pdf__merge_1{}`}, // the server decides
		{nobody, ExecName, `{"server":"pdf","tool":"merge_1","args":"{\"files\":[1]}"}`, `pdf__merge_1{"files":[1]}`},
		{nobody, ExecName, `{"server":"pdf","tool":"merge_1","args":{"files":["bad"]}}`, `files are bad`},
		{nobody, ExecName, `{"server":"toolserver","tool":"read_file"}`, `no tool "read_file"`},
		{nobody, SearchName, `{}`, "says nothing"},
	} {
		if got := run(test.groups, test.tool, test.args); !strings.Contains(got.text, test.want) || test.groups == nil && strings.Contains(strings.ReplaceAll(got.text, test.args, ""), "secret") && !strings.Contains(test.args, "secret") {
			t.Errorf("%v %s %s: %s", test.groups, test.tool, test.args, got.text)
		}
	}
	// A tool that is hidden is answered for as one that does not exist.
	for _, hidden := range []struct{ tool, args, instead string }{
		{ExecName, `{"server":"pdf_secret","tool":"merge_0"}`, `{"server":"pdf_secrex","tool":"merge_0"}`},
		{InfoName, `{"server":"pdf_secret","tool":"merge_0"}`, `{"server":"pdf_secrex","tool":"merge_0"}`},
		{ListName, `{"server":"pdf_secret"}`, `{"server":"pdf_secrex"}`},
		{SearchName, `{"query":"merge","server":"pdf_secret"}`, `{"query":"merge","server":"pdf_secrex"}`},
		{"pdf_secret__merge_0", `{}`, ``}, {"pdf_secret_merge_0", `{}`, ``},
	} {
		got, other := run(nobody, hidden.tool, hidden.args), answer{}
		if hidden.instead == "" {
			other = run(nobody, strings.Replace(hidden.tool, "secret", "secrex", 1), `{}`)
		} else {
			other = run(nobody, hidden.tool, hidden.instead)
		}
		if got.text != strings.ReplaceAll(other.text, "secrex", "secret") || domain.CodeOf(got.err) != domain.CodeOf(other.err) {
			t.Errorf("%s %s: %s; of one that does not exist: %s", hidden.tool, hidden.args, got.text, other.text)
		}
	}
	if got := run(analysts, "pdf_secret_merge_0", `{"files":[]}`); got.text != `pdf_secret__merge_0{"files":[]}` {
		t.Errorf("the alias: %s", got.text)
	}
}

// TestDiscovery has lists leave out what is to be searched for.
func TestDiscovery(t *testing.T) {
	exec := finding(t, true)
	for _, test := range []struct {
		discovery domain.Discovery
		groups    []string
		want      int
		claude    int // what Claude Code gets
	}{
		{domain.Discovery{Mode: "auto", Limit: 6}, []string{"analysts"}, 11, 11}, {domain.Discovery{Mode: "auto", Limit: 5}, []string{"analysts"}, 5, 11},
		{domain.Discovery{Mode: "auto", Limit: 5}, nil, 8, 8}, {domain.Discovery{Mode: "auto"}, nil, 5, 8},
		{domain.Discovery{Mode: domain.DiscoverAll}, []string{"analysts"}, 11, 11}, {domain.Discovery{Mode: domain.DiscoverSearch}, []string{"analysts"}, 4, 4},
	} {
		exec.Registry.Configure(domain.Settings{Discovery: test.discovery})
		all := 8
		if test.groups != nil {
			all = 11
		}
		for client, want := range map[string]int{"": test.want, "codex-mcp-client 0.171": test.want, "claude-code-sdk 1": test.want, "claude-code": test.claude, "claude-code 2.1.331": test.claude} {
			session := domain.Session{Principal: domain.Principal{Groups: test.groups}, Client: client}
			page, err := exec.Registry.Catalog().List(domain.ListToolsQuery{Session: session})
			if hidden := exec.Registry.Catalog().Hidden(session); err != nil || len(page.Tools) != want || hidden != all-want {
				t.Errorf("%+v %v %s: %d tools, %d hidden, %v", test.discovery, test.groups, client, len(page.Tools), hidden, err)
			}
		}
	}
	r, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: ExecName, Arguments: json.RawMessage(`{"server":"toolserver","tool":"read_file"}`)})
	if err != nil || r.Content[0].Text != "read" {
		t.Errorf("a tool of this server: %+v, %v", r, err)
	}
}

// TestFindRenamed has a tool renamed to what another one is called at the server.
func TestFindRenamed(t *testing.T) {
	registry, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	registry.Configure(domain.Settings{Tools: map[string]domain.Override{"x__delete": {Rename: "get"}, "x__get": {Rename: "fetch"}}})
	registry.Apply(domain.Revision{Add: []domain.Source{domain.FixedSource("s", offered(t, "x", `{"name":"delete"}`, `{"name":"get"}`), nil)}})
	t.Cleanup(registry.Close)
	for name, want := range map[string]string{"get": "get", "fetch": "get", "delete": "delete"} {
		if got, err := (finder{catalog: registry.Catalog}).find(domain.Principal{}, "x", name); err != nil || got.name != want {
			t.Errorf("%s finds %s, %v; want %s", name, got.name, err, want)
		}
	}
}
