package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

type noInput struct{}

type echoInput struct {
	Text string `json:"text" doc:"What to say."`
}

// add has the server offer more tools.
func add(s *Server, tools ...domain.Tool) {
	s.exec.Registry.Register(domain.FixedSource("more", domain.Offer{Tools: tools}, nil))
}

// local is the client of a stdio server.
func local() domain.Principal {
	return domain.Principal{ID: "user:local", Name: "local"}
}

// everybody authenticates every request.
type everybody struct{}

func (everybody) Authenticate(Credentials) (domain.Principal, *Challenge) {
	return domain.Principal{ID: "user:anonymous", Name: "anonymous"}, nil
}

// fixture returns a server whose tools go wrong in every way there is, and its
// registry.
func fixture(t testing.TB) (*Server, *domain.Registry) {
	t.Helper()
	tool := func(name string, run func(context.Context) (domain.ToolResult, error)) domain.Tool {
		return domain.Define(domain.Tool{Name: name, Description: "A tool.", Timeout: time.Minute},
			func(ctx context.Context, _ noInput) (domain.ToolResult, error) { return run(ctx) })
	}
	slow := tool("slow", func(ctx context.Context) (domain.ToolResult, error) {
		<-ctx.Done()
		return domain.ToolResult{}, ctx.Err()
	})
	deaf := tool("deaf", func(context.Context) (domain.ToolResult, error) {
		<-t.Context().Done() // deaf to the end of its own
		return domain.Text("late"), nil
	})
	off, staff := tool("off", nil), tool("staff", func(context.Context) (domain.ToolResult, error) { return domain.Text("hello, staff"), nil })
	slow.Timeout, deaf.Timeout, off.Disabled, staff.Groups = 20*time.Millisecond, 10*time.Millisecond, true, []string{"staff"}
	registry, err := domain.NewRegistry(
		domain.Define(domain.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, in echoInput) (domain.ToolResult, error) {
			return domain.Text(in.Text), nil
		}),
		tool("sad", func(context.Context) (domain.ToolResult, error) {
			return domain.Failure("not_found", "no such file", "Look elsewhere."), nil
		}),
		tool("broken", func(context.Context) (domain.ToolResult, error) {
			return domain.ToolResult{}, errors.New("disk on fire")
		}),
		tool("panics", func(context.Context) (domain.ToolResult, error) { panic("oops") }),
		tool("wait", func(ctx context.Context) (domain.ToolResult, error) {
			<-ctx.Done()
			return domain.ToolResult{}, ctx.Err()
		}),
		tool("nap", func(context.Context) (domain.ToolResult, error) {
			time.Sleep(20 * time.Millisecond)
			return domain.Text("rested"), nil
		}),
		tool("spin", func(context.Context) (domain.ToolResult, error) { // about as long as a reader waits
			for start, long := time.Now(), fastCall/2+rand.N(fastCall); time.Since(start) < long; {
				runtime.Gosched()
			}
			return domain.Text("just so"), nil
		}),
		tool("steps", func(ctx context.Context) (domain.ToolResult, error) {
			for i := range 3 {
				call.ReportProgress(ctx, call.Progress{Done: float64(i + 1), Total: 3})
			}
			return domain.Text("done"), nil
		}),
		tool("mixed", func(context.Context) (domain.ToolResult, error) {
			r := domain.ToolResult{Results: map[string]int{"n": 1}, Meta: map[string]string{"k": "v"}}
			r.Content = []domain.Content{
				{Type: domain.TextContent, Text: "\x00\"<é"},
				{Type: domain.ImageContent, Data: []byte("png"), MIMEType: "image/png"},
				{Type: domain.LinkContent, URI: "file:///x", Name: "x"},
				{Type: domain.ResourceContent, URI: "a:b", MIMEType: "text/plain", Text: "t"},
			}
			return r, nil
		}),
		slow, deaf, off, staff,
	)
	if err != nil {
		t.Fatal(err)
	}
	settings := domain.Settings{Limits: domain.Limits{MaxAbandonGrace: 10 * time.Millisecond}}
	exec := call.NewExecutor(registry, call.NewResultStore(1000), settings, nil)
	return New(exec, Options{
		Info: mcp.Implementation{Name: "fixture", Version: "1"}, Instructions: "Be kind.", Log: zap.NewNop(),
		MaxMessageBytes: 1 << 20, MaxInFlight: 500, Grace: 5 * time.Second,
	}), registry
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// request returns a message as a client of either era sends it.
func request(id, method, params string, modern bool) string {
	params = strings.TrimSuffix(strings.TrimPrefix(params, "{"), "}")
	if modern {
		if params != "" {
			params += ","
		}
		params += modernMeta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params)
}

func initialize(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

// outcomes are the answers to calls, but for what the modern era adds.
var outcomes = []struct{ name, args, want string }{
	{"echo", `{"text":"hi"}`, `"result":{"content":[{"type":"text","text":"hi"}]`},
	{"mixed", `{}`, `"result":{"content":[{"type":"text","text":"\u0000\"<é"},{"type":"image","data":"cG5n","mimeType":"image/png"},` +
		`{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"t"}}],` +
		`"structuredContent":{"n":1}`},
	{"sad", `{}`, `"result":{"content":[{"type":"text","text":"no such file"}],"structuredContent":{"is_error":true,"error_type":"not_found",` +
		`"message":"no such file","next_action_hint":"Look elsewhere."},"isError":true`},
	{"nope", `{}`, `"error":{"code":-32001,"message":"no tool \"nope\"","data":{"error_type":"tool_not_found","next_action_hint":"Use one of the tools that the server lists.","tool":"nope"}}`},
	{"staff", `{}`, `"error":{"code":-32001,"message":"no tool \"staff\"","data":{"error_type":"tool_not_found","next_action_hint":"Use one of the tools that the server lists.","tool":"staff"}}`},
	{"off", `{}`, `"error":{"code":-32004,"message":"tool \"off\" is disabled in the server's configuration"`},
	{"broken", `{}`, `"error":{"code":-32005,"message":"broken failed: disk on fire"`},
	{"panics", `{}`, `"error":{"code":-32005,"message":"panics failed: panic: oops"`},
	{"slow", `{}`, `"error":{"code":-32006,"message":"slow timed out after 0.02s, the operator's limit (tools.slow.timeout)","data":{"error_type":"timeout","next_action_hint":"Ask for less in one call, or ask the operator to raise tools.slow.timeout.","timeout_s":0.02,"tool":"slow"}}`},
	{"deaf", `{}`, `"error":{"code":-32006,"message":"deaf timed out after 0.01s, the operator's limit (tools.deaf.timeout)"`},
	{"echo", `{"txt":"hi"}`, `"error":{"code":-32602,"message":"echo: text is required; txt is not a known argument; did you mean text?"`},
	{"echo", `[1]`, `"error":{"code":-32602,"message":"echo: arguments must be an object, not an array"`},
}

// conversation sends a message and returns the answer to it.
type conversation func(t *testing.T, msg string) string

// ids are sent back exactly as they came.
var ids = []string{`1`, `"one"`, `9007199254740993`, `"\u0041"`, `-5`, `1.50`}

func TestOutcomes(t *testing.T) {
	s, _ := fixture(t)
	for _, modern := range []bool{false, true} {
		for transport, ask := range map[string]conversation{"stdio": overStdio(t, s), "http": overHTTP(t, s, modern, nil)} {
			t.Run(fmt.Sprintf("%s modern %v", transport, modern), func(t *testing.T) {
				if !modern {
					if got := ask(t, initialize("2025-11-25")); !strings.Contains(got, `"instructions":"Be kind."`) {
						t.Errorf("initialize: %s", got)
					}
				} else if got := ask(t, request(`0`, "server/discover", `{}`, true)); !strings.Contains(got, `"instructions":"Be kind."`) {
					t.Errorf("discover: %s", got)
				}
				for i, o := range outcomes {
					id := ids[i%len(ids)]
					got := ask(t, request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, o.name, o.args), modern))
					if want := `{"jsonrpc":"2.0","id":` + id + `,` + o.want; !strings.HasPrefix(got, want) {
						t.Errorf("%s(%s)\n got %s\nwant %s", o.name, o.args, got, want)
					}
					if !json.Valid([]byte(got)) {
						t.Errorf("not JSON: %s", got)
					}
					if complete := strings.Contains(got, `"resultType":"complete"`); complete != (modern && strings.Contains(got, `"result":`)) {
						t.Errorf("modern %v: %s", modern, got)
					}
				}
			})
		}
	}
}

// TestResultMode checks that the same failures can come as results.
func TestResultMode(t *testing.T) {
	s, _ := fixture(t)
	s.ErrorsAsResults.Store(true)
	for _, modern := range []bool{false, true} {
		for _, ask := range []conversation{overStdio(t, s), overHTTP(t, s, modern, nil)} {
			if !modern {
				ask(t, initialize("2025-11-25"))
			}
			for name, code := range map[string]int{"nope": -32001, "off": -32004, "broken": -32005, "slow": -32006, "echo": -32602} {
				got := ask(t, request(`7`, "tools/call", fmt.Sprintf(`{"name":%q}`, name), modern))
				var answer struct {
					Result struct {
						IsError           bool
						Content           []struct{ Text string }
						StructuredContent struct {
							Code    int
							Message string
						}
					}
				}
				if err := json.Unmarshal([]byte(got), &answer); err != nil {
					t.Fatal(err)
				}
				r := answer.Result
				if !r.IsError || r.StructuredContent.Code != code || r.StructuredContent.Message != r.Content[0].Text {
					t.Errorf("%s: %s", name, got)
				}
			}
		}
	}
}

func overStdio(t *testing.T, s *Server) conversation {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), local, in, out) }()
	t.Cleanup(func() {
		toServer.Close()
		go io.Copy(io.Discard, fromServer)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	answers := bufio.NewReader(fromServer)
	return func(t *testing.T, msg string) string {
		if _, err := fmt.Fprintln(toServer, msg); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(line, "\n")
	}
}

func httpFixture(t *testing.T, s *Server, tokens *Tokens) *httptest.Server {
	opts := HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 100, Authenticator: everybody{}}
	if tokens != nil {
		opts.Authenticator, opts.AnyHost = tokens, true
	}
	h := s.Handler(t.Context(), opts).(*httpHandler)
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return ts
}

// post sends a message as a client of either era does.
func post(t *testing.T, url, session, msg string, modern bool, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(msg))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	if modern {
		var m struct {
			Method string
			Params struct{ Name, URI string }
		}
		json.Unmarshal([]byte(msg), &m)
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func overHTTP(t *testing.T, s *Server, modern bool, tokens *Tokens) conversation {
	ts := httpFixture(t, s, tokens)
	session := ""
	return func(t *testing.T, msg string) string {
		resp := post(t, ts.URL+"/mcp", session, msg, modern, nil)
		defer resp.Body.Close()
		if id := resp.Header.Get(sessionHeader); id != "" {
			session = id
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}
