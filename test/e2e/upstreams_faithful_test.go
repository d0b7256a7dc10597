package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// faithfully runs a test for each protocol version of the client and of an upstream that
// says what it gets.
func faithfully(t *testing.T, test func(t *testing.T, version, speaks string, connect func(mcpclient.Options) *mcpclient.Client)) {
	for _, speaks := range []string{"legacy", "modern"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			t.Run(speaks+" upstream, client of "+version, func(t *testing.T) {
				t.Parallel()
				args := httpConfig(t, t.TempDir(), gateway(entry("u", "", upstreamBinary(t), "--offer", "good,faithful", "--speaks", speaks)))
				front := startHTTP(t, binary(), args...)
				test(t, version, speaks, func(o mcpclient.Options) *mcpclient.Client {
					if o.Name == "" {
						o.Name = "t"
					}
					o.Version, o.Protocol, o.ConnectTimeout = "1", version, patience
					c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, front.url, nil, o)
					must(t, err)
					t.Cleanup(c.Close)
					eventually(t, "the upstream is listed", func() bool { return byName(t, c)["u__parameters"] != nil })
					return c
				})
			})
		}
	}
}

// comesTo returns what a request comes to, as text.
func comesTo(c *mcpclient.Client, method, params string) string {
	result, err := c.Call(context.Background(), method, json.RawMessage(params))
	if e, ok := err.(*jsonrpc.Error); ok {
		data, _ := e.Data.(json.RawMessage)
		return fmt.Sprintf("error %d %s %s", e.Code, e.Message, data)
	}
	return fmt.Sprint(strings.ReplaceAll(string(result), `\u0026`, "&"), err)
}

// TestUpstreamsDocuments reads documents by their own address and that of the gateway, as
// templates of every kind have them, and some that are in no list.
func TestUpstreamsDocuments(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, _, _ string, connect func(mcpclient.Options) *mcpclient.Client) {
		c := connect(mcpclient.Options{})
		read := func(uri string) string { return comesTo(c, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)) }
		for _, uri := range []string{
			"repo://o/r/contents/src/a.go", "repo://o/r/contents", "repo://o/readme", "search://q", "search://q?text=a%20b", "search://q?limit=3&text=x", "search://q?limit=3",
		} {
			for _, prefix := range []string{"", "mcp://u/"} {
				if got := read(prefix + uri); !strings.Contains(got, "read "+uri) || !strings.Contains(got, fmt.Sprintf("%q:%q", "uri", prefix+uri)) || !strings.Contains(got, `"x-more":[1.0]`) || !strings.Contains(got, `"example.com/read":1`) {
					t.Errorf("%s%s: %s", prefix, uri, got)
				}
			}
		}
		const report = "report://2026/q3"
		if got := read("mcp://u/" + report); !strings.Contains(got, "read "+report) {
			t.Errorf("a document in no list: %s", got)
		}
		if got := read(report); !strings.Contains(got, `no resource \"`+report) && !strings.Contains(got, "no resource \""+report) {
			t.Errorf("a document that nothing has led to: %s", got)
		}
		_ = comesTo(c, "tools/call", `{"name":"u__link","arguments":{}}`)
		if got := read(report); !strings.Contains(got, "read "+report) {
			t.Errorf("a document that was linked: %s", got)
		}
		if got := read("mcp://none/" + report); !strings.Contains(got, "no resource") {
			t.Errorf("a document of no server: %s", got)
		}
	})
}

// TestUpstreamsHiddenDocuments asks for documents of a server that is not for the user, and
// for what configuration withholds.
func TestUpstreamsHiddenDocuments(t *testing.T) {
	t.Parallel()
	program := upstreamBinary(t)
	s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), withTokens("ann", "anns", "bob", "bobs")+
		"users: {ann: {groups: [chiefs]}, bob: {}}\nresources: {v__text: {enabled: false}}\n"+
		gateway(entry("u", ", groups: [chiefs]", program, "--offer", "good,faithful"), entry("v", "", program, "--offer", "good,faithful")))...)
	ann, bob := userOf(t, s, "anns", "2025-11-25", nil), userOf(t, s, "bobs", "2025-11-25", nil)
	eventually(t, "both are listed", func() bool { all := byName(t, ann); return all["u__link"] != nil && all["v__link"] != nil })
	read := func(c *mcpclient.Client, uri string) string {
		return comesTo(c, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	}
	if got := read(ann, "mcp://u/report://2026/q3"); !strings.Contains(got, "read report") {
		t.Errorf("ann: %s", got)
	}
	_ = comesTo(ann, "tools/call", `{"name":"u__link","arguments":{}}`)
	if got := read(ann, "report://2026/q3"); !strings.Contains(got, "read report") {
		t.Errorf("ann, linked: %s", got)
	}
	unknown := strings.ReplaceAll(read(bob, "mcp://x/report://2026/q3"), "mcp://x/", "mcp://u/")
	if got := read(bob, "mcp://u/report://2026/q3"); got != unknown {
		t.Errorf("bob: %s; want %s", got, unknown)
	}
	if got := read(bob, "report://2026/q3"); !strings.Contains(got, "no resource") {
		t.Errorf("bob, by what ann was told: %s", got)
	}
	for _, uri := range []string{"mcp://v/upstream://text", "mcp://v/upstream:/text", "upstream://text", "mcp://v/report://2026/q3"} {
		if got := read(bob, uri); !strings.Contains(got, "no resource") {
			t.Errorf("%s of a server of which a document is disabled: %s", uri, got)
		}
	}
}

// TestUpstreamsMeta passes _meta on in both directions.
func TestUpstreamsMeta(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, version, speaks string, connect func(mcpclient.Options) *mcpclient.Client) {
		c := connect(mcpclient.Options{})
		const meta = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1","example.com/x":{"b":1.50}`
		const given = `"_meta":{` + meta + `,"baggage":"k=v","progressToken":"mine","toolserver/x":1,"io.modelcontextprotocol/x":2}`
		for method, params := range map[string]string{
			"tools/call": `{"name":"u__parameters","arguments":{},` + given + `}`, "prompts/get": `{"name":"u__plain",` + given + `}`,
		} {
			got := strings.ReplaceAll(comesTo(c, method, params), `\"`, `"`)
			if !strings.Contains(got, `"_meta":{`+meta) && !strings.Contains(got, `"example.com/prompt":{`+meta) || strings.Contains(got, "mine") || strings.Contains(got, "baggage") || strings.Contains(got, "toolserver/x") || strings.Contains(got, "modelcontextprotocol/x") {
				t.Errorf("%s: %s", method, got)
			}
			if method == "prompts/get" && !strings.Contains(got, `"x-more":2`) {
				t.Errorf("%s: %s", method, got)
			}
		}
		for _, state := range []string{"5", "null", `"a"`, `"a=1,a=2"`} { // which servers that are strict reject a call for
			got := comesTo(c, "tools/call", `{"name":"u__parameters","arguments":{},"_meta":{`+strings.Replace(meta, `"a=1"`, state, 1)+`}}`)
			if !strings.Contains(got, "traceparent") || strings.Contains(got, "tracestate") {
				t.Errorf("tracestate %s: %s", state, got)
			}
		}
		for _, request := range [][2]string{
			{"tools/call", `{"name":"u__meta","arguments":{}}`}, {"resources/read", `{"uri":"search://q"}`}, {"prompts/get", `{"name":"u__plain"}`},
			{"tools/call", `{"name":"u__return","arguments":{"result":{"content":[],"isError":false,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"},"a":1}}}}`},
		} {
			result, err := c.Call(t.Context(), request[0], json.RawMessage(request[1]))
			must(t, err)
			seen := map[string]bool{}
			must(t, rawjson.Object(result, func(name, value []byte) error {
				if seen[string(name)] {
					t.Errorf("%s has %s twice: %s", request, name, result)
				}
				seen[string(name)] = true
				inside := map[string]bool{}
				return rawjson.Object([]byte(`{"_meta":`+string(rawjson.Member(result, "_meta"))+`}`), func(_, meta []byte) error {
					inside = map[string]bool{}
					return rawjson.Object(meta, func(name, _ []byte) error {
						if inside[string(name)] {
							t.Errorf("%s has %s twice in _meta: %s", request, name, result)
						}
						inside[string(name)] = true
						return nil
					})
				})
			}))
			if strings.Contains(request[1], "isError") && !seen["isError"] {
				t.Errorf("isError is lost: %s", result)
			}
		}
	})
}

// TestUpstreamsCompletions keeps how many values there are, takes a template's own address,
// and leaves a missing argument of a prompt to the server.
func TestUpstreamsCompletions(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, _, _ string, connect func(mcpclient.Options) *mcpclient.Client) {
		c := connect(mcpclient.Options{})
		for _, template := range []string{"mcp://u/repo://{owner}/readme", "repo://{owner}/readme"} {
			got := comesTo(c, "completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"owner","value":""}}`, template))
			if !strings.Contains(got, `"completion":{"values":["a","b"],"total":9,"hasMore":true}`) {
				t.Errorf("%s: %s", template, got)
			}
		}
		if got := comesTo(c, "prompts/get", `{"name":"u__poem"}`); got != "error -32602 about is missing " {
			t.Errorf("a missing argument: %s", got)
		}
	})
}

// TestUpstreamsRoots has an upstream ask for roots without parameters.
func TestUpstreamsRoots(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, _, speaks string, connect func(mcpclient.Options) *mcpclient.Client) {
		if speaks == "modern" { // which has no requests
			return
		}
		c := connect(mcpclient.Options{Handlers: map[string]mcpclient.Handler{"roots/list": func(_ context.Context, params json.RawMessage) (any, error) {
			if string(params) == "null" {
				return nil, jsonrpc.Errorf(-32602, "params are null")
			}
			return json.RawMessage(`{"roots":[{"uri":"file:///x"}]}`), nil
		}}})
		if got := comesTo(c, "tools/call", `{"name":"u__bare_roots","arguments":{}}`); !strings.Contains(got, `file:///x`) {
			t.Errorf("got %s", got)
		}
		if modern := c.Server().Protocol == modernVersion; modern {
			result, err := c.Do(t.Context(), mcpclient.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"u__bare_roots","arguments":{}}`), RelayInput: true})
			if err != nil || strings.Contains(string(result), `"params"`) || !strings.Contains(string(result), "roots/list") {
				t.Errorf("the question is %s, %v", result, err)
			}
		}
	})
}

// TestUpstreamsManyQuestions has an upstream ask 20 questions at the same time, which are put
// in one round.
func TestUpstreamsManyQuestions(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, version, speaks string, connect func(mcpclient.Options) *mcpclient.Client) {
		if speaks == "modern" || version != modernVersion {
			return
		}
		c := connect(mcpclient.Options{Handlers: map[string]mcpclient.Handler{"elicitation/create": func(context.Context, json.RawMessage) (any, error) { return nil, nil }}})
		answered := 0
		call := json.RawMessage(`{"name":"u__ask_all","arguments":{"count":50}}`)
		req := mcpclient.Request{Method: "tools/call", Params: call, RelayInput: true}
		for rounds := 1; ; rounds++ {
			result, err := c.Do(t.Context(), req)
			must(t, err)
			var r struct {
				InputRequests map[string]struct{ Params struct{ Message string } }
				RequestState  json.RawMessage
			}
			must(t, json.Unmarshal(result, &r))
			if len(r.InputRequests) == 0 {
				if n := strings.Count(string(result), `accept`); n != 50 || answered != 50 || rounds > 10 {
					t.Errorf("%d of %d answers in %d rounds: %s", n, answered, rounds, result)
				}
				break
			}
			answers := map[string]any{}
			for name, question := range r.InputRequests {
				answers[name] = map[string]any{"action": "accept", "content": map[string]any{"to": question.Params.Message}}
				answered++
			}
			if len(answers) > 20 {
				t.Errorf("%d questions in one round", len(answers))
			}
			encoded, err := json.Marshal(answers)
			must(t, err)
			req.Params = json.RawMessage(rawjson.With(rawjson.With(call, "inputResponses", encoded), "requestState", r.RequestState))
		}
	})
}

// TestUpstreamsInstructions has models learn what servers say of themselves, and that tools
// which are not listed can be found.
func TestUpstreamsInstructions(t *testing.T) {
	t.Parallel()
	program := upstreamBinary(t)
	s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), withTokens("ann", "anns", "bob", "bobs")+
		"users: {ann: {groups: [chiefs]}, bob: {}}\ndiscovery: {mode: auto, limit: 10}\nmcp_servers:\n"+entry("u", ", groups: [chiefs]", program)+entry("v", "", program, "--tools", "20"))...)
	for _, version := range []string{"2025-11-25", modernVersion} {
		told := func(token string) string { return userOf(t, s, token, version, nil).Server().Instructions }
		eventually(t, "ann is told of both servers", func() bool {
			got := told("anns")
			return strings.Contains(got, "## MCP server u\nAsk nicely.") && strings.Contains(got, "## MCP server v\nAsk nicely.") && strings.Contains(got, "mcp_search")
		})
		if got := told("bobs"); strings.Contains(got, "MCP server u") || !strings.Contains(got, "MCP server v") {
			t.Errorf("bob is told %s", got)
		}
	}
	c := userOf(t, s, "bobs", "2025-11-25", nil)
	if got := comesTo(c, "tools/call", `{"name":"mcp_info","arguments":{"server":"v","tool":"echo"}}`); !strings.Contains(got, "Ask nicely.") {
		t.Errorf("mcp_info says %s", got)
	}
}

// TestUpstreamsStructuredContent sends Claude Code, which shows models structured content
// only, all that results say as text, and declares no schema of what it does not get.
func TestUpstreamsStructuredContent(t *testing.T) {
	t.Parallel()
	faithfully(t, func(t *testing.T, _, _ string, connect func(mcpclient.Options) *mcpclient.Client) {
		other, claude := connect(mcpclient.Options{}), connect(mcpclient.Options{Name: "claude-code"})
		for _, test := range []struct{ params, both, text string }{
			{`{"name":"u__both","arguments":{}}`, `"content":[{"type":"text","text":"more than the data"}],"structuredContent":{"n":1}`, `"content":[{"type":"text","text":"more than the data"},{"type":"text","text":"{\"n\":1}"}]`},
			{`{"name":"u__same","arguments":{}}`, `"content":[{"type":"text","text":"{ \"n\": 1 }"}],"structuredContent":{"n":1}`, `"content":[{"type":"text","text":"{ \"n\": 1 }"}]`},
			{`{"name":"mcp_exec","arguments":{"server":"u","tool":"both"}}`, `"structuredContent":{"n":1}`, `{"type":"text","text":"{\"n\":1}"}]`},
			{`{"name":"list_directory","arguments":{"path":"."}}`, `"structuredContent":`, `"content":[{"type":"text","text":"`},
		} {
			if got := comesTo(other, "tools/call", test.params); !strings.Contains(got, test.both) {
				t.Errorf("%s: got %s; want %s", test.params, got, test.both)
			}
			if got := comesTo(claude, "tools/call", test.params); !strings.Contains(got, test.text) || strings.Contains(got, "structuredContent") {
				t.Errorf("Claude Code, %s: got %s; want %s", test.params, got, test.text)
			}
		}
		for name, entry := range byName(t, claude) {
			if rawjson.Member(entry, "outputSchema") != nil {
				t.Errorf("%s declares structured content to Claude Code", name)
			}
		}
		if all := byName(t, other); rawjson.Member(all["u__both"], "outputSchema") == nil || rawjson.Member(all["list_directory"], "outputSchema") == nil {
			t.Error("no schema is declared to others")
		}
	})
}

// TestUpstreamsStructuredSettings has configuration say which half of results clients get.
func TestUpstreamsStructuredSettings(t *testing.T) {
	t.Parallel()
	program := upstreamBinary(t)
	s := openGateway(t, "structured_content: text\n"+gateway(entry("u", "", program, "--offer", "faithful"), entry("v", ", structured_content: structured", program, "--offer", "faithful"),
		entry("w", ", structured_content: both", program, "--offer", "faithful")))
	for name, want := range map[string]string{
		"u__both": `{"content":[{"type":"text","text":"more than the data"},{"type":"text","text":"{\"n\":1}"}]}`,
		"v__both": `{"content":[],"structuredContent":{"n":1}}`,
		"w__both": `{"content":[{"type":"text","text":"more than the data"}],"structuredContent":{"n":1}}`,
	} {
		s.awaits(name)
		if got := string(s.request("tools/call", map[string]any{"name": name, "arguments": map[string]any{}})); got != want {
			t.Errorf("%s: got %s; want %s", name, got, want)
		}
	}
	for _, tool := range s.tools() {
		if declared := tool.OutputSchema != nil; declared != (tool.Name[0] == 'v' && tool.Name[1] == '_' || tool.Name[0] == 'w' && tool.Name[1] == '_') && strings.HasSuffix(tool.Name, "__both") {
			t.Errorf("%s declares structured content: %t", tool.Name, declared)
		}
	}
}

// TestUpstreamsUnlistedWatched watches a document that is in no list.
func TestUpstreamsUnlistedWatched(t *testing.T) {
	t.Parallel()
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t), "--offer", "good,bad,faithful")))
	s.awaits("u__touch")
	s.request("resources/subscribe", map[string]any{"uri": "mcp://u/report://2026/q3"})
	eventually(t, "the change is told", func() bool {
		s.says("u__touch", map[string]any{"at": "report://2026/q3"}, "touched")
		return s.notified("notifications/resources/updated") > 0
	})
}
