package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// userOf connects somebody who has a token to a server.
func userOf(t *testing.T, s *httpServer, token, version string, handlers map[string]mcpclient.Handler) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer " + token}},
		mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience, Handlers: handlers})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// pdfs is a configuration with two upstreams of different groups, whose names begin
// alike, for ann and bob.
func pdfs(t *testing.T) string {
	return withTokens("ann", "anns", "bob", "bobs") +
		"users: {ann: {groups: [' Analysts']}, bob: {groups: [chiefs, other]}}\n" + gateway(
		entry("pdf", ", groups: [analysts], identity: {username: name}", upstreamBinary(t)),
		entry("pdf_secret", ", groups: ['CHIEFS ', none], identity: {username: name}", upstreamBinary(t)))
}

// TestUpstreamsHidden asks for what is hidden from a user in every way there is: the
// answer is that of a server that does not have it.
func TestUpstreamsHidden(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modernVersion} {
		for _, discovery := range []string{"all", "search"} {
			t.Run(version+" "+discovery, func(t *testing.T) {
				t.Parallel()
				config := strings.Replace(pdfs(t), "discovery: all", "discovery: "+discovery, 1)
				s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), config)...)
				ann, bob := userOf(t, s, "anns", version, nil), userOf(t, s, "bobs", version, nil)
				before, _, _ := strings.Cut(config, "  pdf_secret:")
				without := userOf(t, launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), before)...), "anns", version, nil)
				for user, tool := range map[*mcpclient.Client]string{ann: "pdf__echo", without: "pdf__echo", bob: "pdf_secret__echo"} {
					eventually(t, tool+" can be called", func() bool {
						result, err := user.CallTool(t.Context(), tool, map[string]any{"message": "x"}, nil)
						return err == nil && strings.Contains(string(result), `"x"`)
					})
				}
				tools, err := ann.List(t.Context(), "tools/list")
				must(t, err)
				if all := fmt.Sprintf("%s", tools); strings.Contains(all, "secret") || discovery == "all" != strings.Contains(all, "pdf__echo") {
					t.Errorf("ann sees %.2000s", all)
				}
				asked := []struct {
					method string
					params string
				}{
					{"tools/call", `{"name":"pdf_secret__echo","arguments":{"message":"x"}}`}, {"tools/call", `{"name":"pdf_secret_echo","arguments":{"message":"x"}}`},
					{"tools/call", `{"name":"pdf_secret__echo","arguments":{"wrong":1}}`}, {"tools/call", `{"name":"pdf_secret__no_such_tool"}`}, {"tools/call", `{"name":"pdf_secret"}`},
					{"tools/call", `{"name":"mcp_exec","arguments":{"server":"pdf_secret","tool":"echo","args":{"message":"x"}}}`},
					{"tools/call", `{"name":"mcp_exec","arguments":{"server":"pdf_secret","tool":"none","args":{}}}`},
					{"tools/call", `{"name":"mcp_exec","arguments":{"server":"pdf","tool":"pdf_secret__echo","args":{"message":"x"}}}`},
					{"tools/call", `{"name":"mcp_info","arguments":{"server":"pdf_secret","tool":"echo"}}`}, {"tools/call", `{"name":"mcp_info","arguments":{"server":"pdf_secret"}}`},
					{"tools/call", `{"name":"mcp_list_tools","arguments":{"server":"pdf_secret"}}`}, {"tools/call", `{"name":"mcp_list_tools","arguments":{}}`},
					{"tools/call", `{"name":"mcp_search","arguments":{"query":"pdf_secret echo"}}`}, {"tools/call", `{"name":"mcp_search","arguments":{"query":"says it again"}}`},
					{"prompts/get", `{"name":"pdf_secret__plain"}`}, {"prompts/get", `{"name":"pdf_secret__poem","arguments":{"about":"x"}}`},
					{"completion/complete", `{"ref":{"type":"ref/prompt","name":"pdf_secret__poem"},"argument":{"name":"style","value":"h"}}`},
					{"resources/list", `{}`}, {"resources/templates/list", `{}`}, {"prompts/list", `{}`},
					{"resources/read", `{"uri":"status://upstreams"}`},
				}
				for _, uri := range uris(t, bob, "pdf_secret") {
					asked = append(asked, struct{ method, params string }{"resources/read", fmt.Sprintf(`{"uri":%q}`, uri)})
				}
				for _, a := range asked {
					ask := func(c *mcpclient.Client) string {
						result, err := c.Call(t.Context(), a.method, json.RawMessage(a.params))
						failed, _ := errors.AsType[*jsonrpc.Error](err)
						said, _ := json.Marshal([]any{result, failed})
						return fleeting.ReplaceAllString(string(said), "")
					}
					if hidden, absent := ask(ann), ask(without); hidden != absent {
						t.Errorf("%s %s:\nof a hidden one %.800s\nof one that is not there %.800s", a.method, a.params, hidden, absent)
					}
				}
			})
		}
	}
}

// fleeting is what differs from call to call, also in JSON within a text.
var fleeting = regexp.MustCompile(`\\?"(took_ms|duration_ms|age_ms|uptime_s|request_id|correlation_id|time|since)\\?": *(\\?"[^"]*"|[0-9.]+)`)

// uris returns the resources of an upstream that a user sees.
func uris(t *testing.T, c *mcpclient.Client, upstream string) (all []string) {
	t.Helper()
	items, err := c.List(t.Context(), "resources/list")
	must(t, err)
	for _, item := range items {
		var r struct{ URI, Name string }
		must(t, json.Unmarshal(item, &r))
		if strings.HasPrefix(r.Name, upstream) || strings.Contains(r.URI, upstream) {
			all = append(all, r.URI)
		}
	}
	if len(all) == 0 {
		t.Errorf("%s has no resources", upstream)
	}
	return all
}

// TestUpstreamsIdentity forges the argument that says who calls, in every way a call
// can be made.
func TestUpstreamsIdentity(t *testing.T) {
	t.Parallel()
	s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), pdfs(t))...)
	for _, version := range []string{"2025-11-25", modernVersion} {
		ann := userOf(t, s, "anns", version, nil)
		eventually(t, "the tool can be called", func() bool {
			_, err := ann.CallTool(t.Context(), "pdf__whoami", map[string]any{}, nil)
			return err == nil
		})
		for _, call := range []struct{ tool, args string }{
			{"pdf__whoami", `{}`}, {"pdf__whoami", `{"username":"root"}`}, {"pdf__whoami", `{"username":null,"note":"n"}`}, {"pdf__whoami", `{"username":["root"]}`},
			{"pdf__whoami", `{"username":"bob","username":"root"}`}, {"pdf__whoami", `{"user\u006eame":"root"}`}, {"pdf_whoami", `{"username":"root"}`},
			{"mcp_exec", `{"server":"pdf","tool":"whoami","args":{"username":"root"}}`}, {"mcp_exec", `{"server":"pdf","tool":"whoami","args":{}}`},
		} {
			result, err := ann.CallTool(t.Context(), call.tool, json.RawMessage(call.args), nil)
			if err != nil || strings.Contains(string(result), "root") || strings.Contains(string(result), "bob") || !strings.Contains(string(result), `\"username\":\"ann\"`) {
				t.Errorf("%s %s: %s, %v", call.tool, call.args, result, err)
			}
		}
		tools, err := ann.List(t.Context(), "tools/list")
		must(t, err)
		for _, tool := range tools {
			if s := string(tool); strings.Contains(s, `"pdf__whoami"`) && strings.Contains(s, `"required"`) {
				t.Errorf("the model has to say what the server writes: %s", s)
			}
		}
	}
}

// TestUpstreamsAskTheRightOne has calls of two users in flight at once on an upstream
// that asks them. No question reaches the other one, over whatever it comes.
func TestUpstreamsAskTheRightOne(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"legacy", "modern"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			for _, transport := range []string{"stdio", "http"} {
				t.Run(fmt.Sprintf("%s upstream on %s, clients of %s", speaks, transport, version), func(t *testing.T) {
					t.Parallel()
					one := entry("asks", ", call_timeout: 5s", upstreamBinary(t), "--speaks", speaks)
					if transport == "http" {
						one = startRemote(t, "--speaks", speaks).entry("asks", ", call_timeout: 5s")
					}
					s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), withTokens("ann", "anns", "bob", "bobs")+gateway(one))...)
					var mu sync.Mutex
					asked := map[string][]string{}
					users := map[string]*mcpclient.Client{}
					for _, name := range []string{"ann", "bob"} {
						users[name] = userOf(t, s, name+"s", version, map[string]mcpclient.Handler{"elicitation/create": func(_ context.Context, params json.RawMessage) (any, error) {
							var p struct{ Message string }
							err := json.Unmarshal(params, &p)
							mu.Lock()
							defer mu.Unlock()
							asked[name] = append(asked[name], p.Message)
							return map[string]any{"action": "accept", "content": map[string]any{"name": "answer of " + name}}, err
						}})
					}
					eventually(t, "the upstream serves", func() bool {
						_, err := users["ann"].CallTool(t.Context(), "asks__about", nil, nil)
						return err == nil
					})
					held := t.TempDir()
					var calls sync.WaitGroup
					calls.Go(func() { _, _ = users["bob"].CallTool(t.Context(), "asks__hold", map[string]any{"at": held}, nil) })
					noted(t, held, "begun", 1)
					answered, failed := 0, ""
					for range 5 {
						for name, user := range users {
							calls.Go(func() {
								result, err := user.CallTool(t.Context(), "asks__ask_form", map[string]any{"message": "for " + name}, nil)
								other := map[string]string{"ann": "bob", "bob": "ann"}[name]
								if strings.Contains(string(result), "answer of "+other) {
									t.Errorf("%s got %s, %v", name, result, err)
								}
								mu.Lock()
								defer mu.Unlock()
								if err == nil && strings.Contains(string(result), "answer of "+name) {
									answered++
								} else {
									failed = fmt.Sprintf("%s, %v", result, err)
								}
							})
						}
					}
					touch(t, held+"/go")
					calls.Wait()
					for name, all := range asked {
						for _, message := range all {
							if !strings.Contains(message, "for "+name) {
								t.Errorf("%s was asked %q", name, message)
							}
						}
					}
					t.Logf("%d of 10 calls had their answers (%s); ann was asked %d times, bob %d times", answered, failed, len(asked["ann"]), len(asked["bob"]))
					if (speaks == "modern" || transport == "http") && answered != 10 { // where it is clear whose question it is
						t.Errorf("only %d of 10 had their answers: %q", answered, failed)
					}
					for name, user := range users { // alone, one is always asked
						result, err := user.CallTool(t.Context(), "asks__ask_form", map[string]any{"message": "for " + name}, nil)
						if err != nil || !strings.Contains(string(result), "answer of "+name) {
							t.Errorf("%s, alone: %s, %v", name, result, err)
						}
					}
				})
			}
		}
	}
}

// TestUpstreamsAskLate has an upstream ask for a call that its caller has canceled, while
// the call of another user is the only one in flight: that user is not asked.
func TestUpstreamsAskLate(t *testing.T) {
	t.Parallel()
	config := withTokens("ann", "anns", "bob", "bobs") + gateway(entry("u", "", upstreamBinary(t), "--offer", "good,bad", "--speaks", "legacy"))
	s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), config)...)
	var asked atomic.Int64
	ask := func(context.Context, json.RawMessage) (any, error) {
		asked.Add(1)
		return map[string]any{"action": "accept", "content": map[string]any{}}, nil
	}
	handlers := map[string]mcpclient.Handler{"elicitation/create": ask}
	ann, bob := userOf(t, s, "anns", "2025-11-25", handlers), userOf(t, s, "bobs", "2025-11-25", handlers)
	eventually(t, "the upstream serves", func() bool {
		_, err := ann.CallTool(t.Context(), "u__about", nil, nil)
		return err == nil
	})
	late, held := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{}, 2)
	call := func(ctx context.Context, c *mcpclient.Client, tool, at string) {
		if result, err := c.CallTool(ctx, tool, map[string]any{"kind": "ann", "at": at}, nil); ctx.Err() == nil && !strings.Contains(string(result), "held") {
			t.Errorf("%s: %s, %v", tool, result, err)
		}
		over <- struct{}{}
	}
	go call(ctx, ann, "u__ask_late", late)
	noted(t, late, "begun", 1)
	cancel()
	<-over
	go call(t.Context(), bob, "u__hold", held)
	noted(t, held, "begun", 1)
	touch(t, late+"/go")
	noted(t, late, "answered", 1)
	touch(t, held+"/go")
	<-over
	if asked.Load() > 0 {
		t.Error("a user was asked what another one's call was about")
	}
}

// TestUpstreamsGroupsChange changes the groups of a user while a session is open.
func TestUpstreamsGroupsChange(t *testing.T) {
	t.Parallel()
	file, _ := configured(t, pdfs(t))
	s := launchHTTP(t, nil, binary(), "--config", file)
	ann := userOf(t, s, "anns", "2025-11-25", nil)
	names := func() (all []string) {
		items, err := ann.List(t.Context(), "tools/list")
		must(t, err)
		for _, item := range items {
			var tool struct{ Name string }
			must(t, json.Unmarshal(item, &tool))
			all = append(all, tool.Name)
		}
		return all
	}
	eventually(t, "ann sees what analysts do", func() bool { return slices.Contains(names(), "pdf__echo") })
	reconfigure(t, file, strings.Replace(pdfs(t), "' Analysts'", "chiefs", 1))
	eventually(t, "ann sees what chiefs do", func() bool { return slices.Contains(names(), "pdf_secret__echo") })
	if all := names(); slices.Contains(all, "pdf__echo") {
		t.Errorf("ann still sees %q", all)
	}
	if _, err := ann.CallTool(t.Context(), "pdf__echo", map[string]any{"message": "x"}, nil); err == nil {
		t.Error("ann still calls what analysts do")
	}
}
