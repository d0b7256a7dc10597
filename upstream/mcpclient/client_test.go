package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

type input struct {
	Text string `json:"text,omitempty" doc:"A text."`
}

// newServer returns a server whose tools do what a client has to cope with.
func newServer(t *testing.T) (*server.Server, chan error, *domain.Registry) {
	canceled := make(chan error, 1)
	tool := func(name string, run func(ctx context.Context, in input) (domain.ToolResult, error)) domain.Tool {
		return domain.Define(domain.Tool{Name: name, Description: "A tool.", Timeout: time.Minute}, run)
	}
	registry, err := domain.NewRegistry(
		tool("steps", func(ctx context.Context, in input) (domain.ToolResult, error) {
			for i := range 3 {
				call.ReportProgress(ctx, call.Progress{Done: float64(i + 1), Total: 3, Message: in.Text})
			}
			return domain.Text("done"), nil
		}),
		tool("wait", func(ctx context.Context, _ input) (domain.ToolResult, error) {
			call.ReportProgress(ctx, call.Progress{Done: 1})
			<-ctx.Done()
			canceled <- ctx.Err()
			return domain.ToolResult{}, ctx.Err()
		}),
		tool("ask", func(ctx context.Context, _ input) (domain.ToolResult, error) {
			answers, err := call.Ask(ctx, map[string]call.InputRequest{
				"name": {Method: call.AskElicitation, Params: map[string]any{"message": "Name?"}},
				"poem": {Method: call.AskSampling, Params: map[string]any{"messages": []any{}, "maxTokens": 5}},
			})
			if err != nil {
				return domain.ToolResult{}, err
			}
			return domain.Text(string(answers["name"]) + " " + string(answers["poem"])), nil
		}),
		tool("broken", func(context.Context, input) (domain.ToolResult, error) {
			return domain.ToolResult{}, &domain.Error{Code: -32042, Message: "sign in", Verbatim: true, RawData: json.RawMessage(`{"z":1, "a":[2]}`)}
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	exec := call.NewExecutor(registry, call.NewResultStore(1000), domain.Settings{}, nil)
	return server.New(exec, server.Options{Info: mcp.Implementation{Name: "test", Version: "1"}, Instructions: "Be kind.", Log: zap.NewNop(), MaxMessageBytes: 1 << 20, MaxInFlight: 100, Grace: time.Second}), canceled, registry
}

type everybody struct{}

func (everybody) Authenticate(server.Credentials) (domain.Principal, *server.Challenge) {
	return domain.Principal{ID: "user:x", Name: "x"}, nil
}

// pipes are a child's streams.
type pipes struct {
	io.Reader
	io.WriteCloser
	in io.Closer
}

func (p pipes) Close() error { return errors.Join(p.WriteCloser.Close(), p.in.Close()) }

// connect connects to s over one of its transports.
func connect(t *testing.T, s *server.Server, transport string, opts mcpclient.Options) *mcpclient.Client {
	var c *mcpclient.Client
	var err error
	if transport == "stdio" {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		go s.ServeStdio(t.Context(), func() domain.Principal { return domain.Principal{ID: "user:x"} }, in, out)
		c, err = mcpclient.Connect(t.Context(), pipes{fromServer, toServer, fromServer}, opts)
	} else {
		ts := httptest.NewServer(s.Handler(t.Context(), server.HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: everybody{}}))
		t.Cleanup(ts.Close)
		c, err = mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL+"/mcp", nil, opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestClient uses everything there is, over both transports and in protocol
// versions of both generations.
func TestClient(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{"2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28", ""} {
			t.Run(transport+" "+version, func(t *testing.T) {
				s, canceled, registry := newServer(t)
				changed := make(chan string, 10)
				answer := func(text string) mcpclient.Handler {
					return func(context.Context, json.RawMessage) (any, error) { return json.RawMessage(text), nil }
				}
				c := connect(t, s, transport, mcpclient.Options{
					Name: "t", Version: "1", Protocol: version, LogLevel: "debug",
					Notify: func(_ context.Context, method string, _ json.RawMessage) { changed <- method },
					Handlers: map[string]mcpclient.Handler{
						"elicitation/create":     answer(`{"action":"accept","content":{"b":1,"a":2}}`),
						"sampling/createMessage": answer(`{"role":"assistant","content":{"type":"text","text":"Roses"},"model":"m"}`),
					},
				})
				if about := c.Server(); about.Instructions != "Be kind." || version != "" && about.Protocol != version || version == "" && about.Protocol != "2026-07-28" ||
					!strings.Contains(string(about.Info), `"test"`) || !strings.Contains(string(about.Capabilities), `"tools"`) {
					t.Errorf("%+v", about)
				}
				if tools, err := c.List(t.Context(), "tools/list"); err != nil || len(tools) != 4 || !json.Valid(tools[3]) {
					t.Errorf("%s, error %v", tools, err)
				}
				var steps []mcpclient.Progress
				res, err := c.CallTool(t.Context(), "steps", map[string]any{"text": "go"}, func(p mcpclient.Progress) { steps = append(steps, p) })
				if err != nil || !strings.Contains(string(res), `"text":"done"`) || len(steps) != 3 || steps[2].Done != 3 || steps[2].Total != 3 || steps[2].Message != "go" {
					t.Errorf("%s, progress %v, error %v", res, steps, err)
				}
				res, err = c.CallTool(t.Context(), "ask", nil, nil)
				if version == "2024-11-05" || version == "2025-03-26" { // which have no elicitation
					if err == nil || !strings.Contains(err.Error(), "does not support elicitation/create") {
						t.Errorf("%s, error %v", res, err)
					}
				} else if err != nil || !strings.Contains(string(res), `{\"action\":\"accept\",\"content\":{\"b\":1,\"a\":2}} {\"role\"`) {
					t.Errorf("%s, error %v", res, err)
				}
				_, err = c.CallTool(t.Context(), "broken", nil, nil)
				if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32042 || string(e.Data.(json.RawMessage)) != `{"z":1, "a":[2]}` {
					t.Errorf("%#v", err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := errors.New("enough")
				if _, err = c.CallTool(ctx, "wait", nil, func(mcpclient.Progress) { cancel(stop) }); err != stop || <-canceled == nil {
					t.Errorf("error %v", err)
				}
				listening, end := context.WithCancel(t.Context())
				heard := make(chan error, 1)
				go func() { heard <- c.Listen(listening, mcpclient.Filter{Tools: true}) }()
				for n := 0; !changeHeard(changed); n++ { // the stream of a session is opened while calls are made
					more := domain.Define(domain.Tool{Name: fmt.Sprint("more", n), Description: "More."}, func(context.Context, input) (domain.ToolResult, error) { return domain.Text("more"), nil })
					registry.Register(domain.FixedSource(more.Name, domain.Offer{Tools: []domain.Tool{more}}, nil))
				}
				end()
				if err := <-heard; err != context.Canceled {
					t.Errorf("Listen: %v", err)
				}
				if c.Close(); c.Err() != mcpclient.ErrClosed {
					t.Errorf("closed: %v", c.Err())
				}
				if _, err := c.Call(t.Context(), "ping", nil); err != mcpclient.ErrClosed {
					t.Errorf("after Close: %v", err)
				}
			})
		}
	}
}

// changeHeard waits a while for the notification of a change.
func changeHeard(notifications <-chan string) bool {
	for {
		select {
		case got := <-notifications:
			if got == "notifications/tools/list_changed" {
				return true
			}
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}
}
