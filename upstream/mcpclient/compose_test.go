package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// answers are the bodies of an HTTP server's answers to requests, by what is
// received.
type roundTripper func(r *http.Request, body []byte) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	return f(r, body)
}

func jsonResponse(status int, format string, args ...any) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		ContentLength: -1, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(format, args...)))}
}

const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new"}}}`

// newHTTP connects to a modern server that answers with what answer returns.
func newHTTP(t *testing.T, opts mcpclient.Options, answer func(r *http.Request, method string, id, params json.RawMessage) *http.Response) *mcpclient.Client {
	t.Helper()
	transport := roundTripper(func(r *http.Request, body []byte) (*http.Response, error) {
		var m struct {
			ID, Params json.RawMessage
			Method     string
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, err
		}
		if m.Method == "server/discover" {
			return jsonResponse(200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered), nil
		}
		return answer(r, m.Method, m.ID, m.Params), nil
	})
	c, err := mcpclient.ConnectHTTP(t.Context(), &http.Client{Transport: transport}, "http://server.test/mcp", nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":`

// hideToken replaces a progress token that is the ID of the request.
func hideToken(params, id json.RawMessage) []byte {
	return bytes.ReplaceAll(params, []byte(`"progressToken":`+string(id)), []byte(`"progressToken":"ID"`))
}

// TestParams checks that parameters reach the server as they were given, with what
// the protocol sets.
func TestParams(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	progress := func(mcpclient.Progress) {}
	for _, c := range []struct {
		name        string
		req         mcpclient.Request
		old, modern string // empty for an error
	}{
		{"none", mcpclient.Request{}, `{}`, `{"_meta":{` + modernMeta + `{}}}`},
		{"as they are", mcpclient.Request{Params: raw(` {"a" : 1.0, "a":"<\u00e9>"} `)}, `{"a" : 1.0, "a":"<\u00e9>"}`, `{"a" : 1.0, "a":"<\u00e9>","_meta":{` + modernMeta + `{}}}`},
		{"lines", mcpclient.Request{Params: raw("{\n \"a\": \"<\"\r\n}")}, `{"a":"<"}`, `{"a":"<","_meta":{` + modernMeta + `{}}}`},
		{"the caller's _meta", mcpclient.Request{Params: raw(`{"_meta":{"x/y": 1e2,"progressToken":7,"io.modelcontextprotocol/clientInfo":{}, "io.modelcontextprotocol/logLevel":"info"},"b":2}`)},
			`{"b":2,"_meta":{"x/y":1e2,"io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"info"}}`,
			`{"b":2,"_meta":{"x/y":1e2,"io.modelcontextprotocol/logLevel":"info",` + modernMeta + `{}}}`},
		{"progress", mcpclient.Request{Params: raw(`{"_meta":{"progressToken":"mine"}}`), Progress: progress},
			`{"_meta":{"progressToken":"ID"}}`, `{"_meta":{"progressToken":"ID",` + modernMeta + `{}}}`},
		{"progress alone", mcpclient.Request{Params: raw(`{"b":[{}] }`), Progress: progress},
			`{"b":[{}],"_meta":{"progressToken":"ID"}}`, `{"b":[{}],"_meta":{"progressToken":"ID",` + modernMeta + `{}}}`},
		{"text like _meta", mcpclient.Request{Params: raw(`{"a":"\"_meta\"", "c":"_meta"}`)}, `{"a":"\"_meta\"", "c":"_meta"}`, `{"a":"\"_meta\"", "c":"_meta","_meta":{` + modernMeta + `{}}}`},
		{"no object", mcpclient.Request{Params: raw(`[1]`)}, "", ""},
		{"a _meta that is none", mcpclient.Request{Params: raw(`{"_meta":1}`)}, "", ""},
		{"what has no JSON", mcpclient.Request{Params: func() {}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Method = "tools/call"
			old, s := scripted(t, mcpclient.Options{Name: "t", Version: "1"})
			go func() {
				m := s.next()
				s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, hideToken(m.Params, m.ID))
			}()
			ctx, cancel := context.WithCancel(t.Context())
			if c.old == "" {
				cancel()
			}
			defer cancel()
			got, err := old.Do(ctx, c.req)
			if string(got) != c.old || (err == nil) != (c.old != "") || errors.Is(err, context.Canceled) {
				t.Errorf("with a handshake: %s, error %v\nwant %s", got, err, c.old)
			}
			modern := newHTTP(t, mcpclient.Options{Name: "t", Version: "1"}, func(_ *http.Request, _ string, id, params json.RawMessage) *http.Response {
				return jsonResponse(200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, hideToken(params, id))
			})
			if got, err := modern.Do(t.Context(), c.req); string(got) != c.modern || (err == nil) != (c.modern != "") {
				t.Errorf("modern: %s, error %v\nwant %s", got, err, c.modern)
			}
		})
	}
}

// TestInput checks that a call which requires input is made again with it.
func TestInput(t *testing.T) {
	answer := func(context.Context, json.RawMessage) (any, error) {
		return json.RawMessage(`{"action":"accept"}`), nil
	}
	c := newHTTP(t, mcpclient.Options{Name: "t", Version: "1", Handlers: map[string]mcpclient.Handler{"elicitation/create": answer}},
		func(_ *http.Request, _ string, id, params json.RawMessage) *http.Response {
			result := string(params)
			if !strings.Contains(result, "inputResponses") {
				result = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s\u002f"}`
			}
			return jsonResponse(200, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
		})
	got, err := c.Do(t.Context(), mcpclient.Request{Method: "tools/call", Params: json.RawMessage(`{"b":2,"requestState":"old"}`)})
	want := `{"b":2,"inputResponses":{"q":{"action":"accept"}},"requestState":"s\u002f","_meta":{` + modernMeta + `{"elicitation":{}}}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, error %v\nwant %s", got, err, want)
	}
}
