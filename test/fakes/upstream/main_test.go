package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// duplex is one end of two pipes.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// client connects to an upstream over a transport.
func client(t *testing.T, o options, transport string, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	u := &upstream{options: o, sessions: map[*session]bool{}, tasks: map[string]*task{}}
	var c *mcpclient.Client
	var err error
	if transport == "http" {
		server := httptest.NewServer(&endpoint{upstream: u, base: t.Context(), sessions: map[string]*session{}})
		t.Cleanup(server.CloseClientConnections)
		c, err = mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, server.URL, nil, opts)
	} else {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		go func() {
			u.serveStdio(context.Background(), toServer, fromServer)
			fromServer.Close()
		}()
		c, err = mcpclient.Connect(t.Context(), duplex{toClient, fromClient}, opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestProtocol has a client that keeps the rules use the server.
func TestProtocol(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{legacyVersion, modernVersion} {
			t.Run(transport+" "+version, func(t *testing.T) {
				changes := make(chan string, 8)
				c := client(t, options{offer: "good,bad", page: 7, tools: 30}, transport, mcpclient.Options{
					Name: "t", Version: "1", Protocol: version,
					Notify: func(_ context.Context, method string, _ json.RawMessage) {
						if strings.HasSuffix(method, "changed") {
							changes <- method
						}
					},
					Handlers: map[string]mcpclient.Handler{
						"elicitation/create": func(_ context.Context, params json.RawMessage) (any, error) {
							var p struct{ Message string }
							err := json.Unmarshal(params, &p)
							return map[string]any{"action": "accept", "content": map[string]any{"message": p.Message}}, err
						},
						"sampling/createMessage": func(context.Context, json.RawMessage) (any, error) { return map[string]any{"model": "poet"}, nil },
						"roots/list":             func(context.Context, json.RawMessage) (any, error) { return map[string]any{"roots": []any{}}, nil },
					},
				})
				tools, err := c.List(t.Context(), "tools/list")
				if want := len(sets()["good"]()) + len(sets()["bad"]()) + 30; err != nil || len(tools) != want {
					t.Errorf("%d tools, not %d: %v", len(tools), want, err)
				}
				for _, test := range []struct{ tool, args, want string }{
					{"echo", `{"message":"é"}`, "é"},
					{"ask_form", `{}`, `Who are you?`},
					{"ask_rounds", `{"rounds":3}`, `Round 2?`},
					{"ask_model", `{}`, "poet"},
					{"ask_roots", `{}`, "roots"},
					{"v2", `{"kind":"full","as":"structured"}`, "primary_file"},
					{"content_none", `{}`, `"content":[]`},
					{"twice", `{}`, "first"},
					{"list_issue", `{}`, "did list_issue"},
				} {
					result, err := c.CallTool(t.Context(), test.tool, json.RawMessage(test.args), nil)
					if err != nil || !strings.Contains(string(result), test.want) {
						t.Errorf("%s: %s, %v", test.tool, result, err)
					}
				}
				reports := 0
				if _, err := c.CallTool(t.Context(), "progress", map[string]int{"steps": 3}, func(mcpclient.Progress) { reports++ }); err != nil || reports != 3 {
					t.Errorf("%d reports of progress: %v", reports, err)
				}
				_, err = c.CallTool(t.Context(), "fail", json.RawMessage(`{"code":-32042,"message":"m","data":{"n":1.50}}`), nil)
				if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32042 || string(e.Data.(json.RawMessage)) != `{"n":1.50}` {
					t.Errorf("got %v", err)
				}
				if version == modernVersion {
					go func() { _ = c.Listen(t.Context(), mcpclient.Filter{Tools: true}) }()
				}
				for heard := false; !heard; { // the stream may not be open yet
					if _, err := c.CallTool(t.Context(), "announce", nil, nil); err != nil {
						t.Fatal(err)
					}
					select {
					case <-changes:
						heard = true
					case <-time.After(10 * time.Millisecond):
					}
				}
				for _, method := range []string{"resources/list", "resources/templates/list", "prompts/list"} {
					if items, err := c.List(t.Context(), method); err != nil || len(items) < 2 {
						t.Errorf("%s: %d, %v", method, len(items), err)
					}
				}
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for found(dir, "begun") == 0 {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
				if _, err := c.CallTool(ctx, "late", map[string]string{"at": dir}, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("canceled: %v", err)
				}
				for found(dir, "stopped") == 0 {
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
}

// found counts what was noted in a directory.
func found(dir, name string) (n int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name) {
			n++
		}
	}
	return n
}

// TestSets checks that what is offered is JSON, and what is not.
func TestSets(t *testing.T) {
	for name, set := range sets() {
		if !json.Valid([]byte("{"+entries(set())+"}")) && name != "deep" { // for which the decoder is too strict
			t.Errorf("%s is not JSON", name)
		}
	}
	tools := ordinary(500)
	seen := map[string]bool{}
	for _, tool := range tools {
		seen[tool.name] = true
	}
	if len(seen) != 500 {
		t.Errorf("%d names", len(seen))
	}
}
