package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// reply is an HTTP response that has been read.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends one request. A header whose value is empty is left out.
func (s *httpServer) do(t *testing.T, method, path, body string, header map[string]string) reply {
	t.Helper()
	resp, err := s.try(t.Context(), method, path, strings.NewReader(body), header)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// try sends a request and returns the response as soon as it begins.
func (s *httpServer) try(ctx context.Context, method, path string, body io.Reader, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.scheme+"://"+s.address+path, body)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for name, value := range header {
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	return s.client.Do(req)
}

// peer is one client of an httpServer: one session, or of the modern era none.
type peer struct {
	server  *httpServer
	token   string
	session string
	modern  bool
	can     string // capabilities, if it has any
}

const modernVersion = "2026-07-28"

// initializeMessage begins a session.
func initializeMessage(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

// newPeer begins a session of version, or for the modern era just notes it.
func (s *httpServer) newPeer(t *testing.T, version, token string) *peer {
	t.Helper()
	p := &peer{server: s, token: token, modern: version == modernVersion}
	if p.modern {
		return p
	}
	p.begin(t, version)
	return p
}

// begin begins a session.
func (p *peer) begin(t *testing.T, version string) {
	t.Helper()
	r := p.post(t, strings.Replace(initializeMessage(version), `"capabilities":{}`, `"capabilities":`+cmp.Or(p.can, "{}"), 1), nil)
	if p.session = r.header.Get("Mcp-Session-Id"); r.status != http.StatusOK || p.session == "" {
		t.Fatalf("initialize: %d, session %q: %s", r.status, p.session, r.body)
	}
	if r := p.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil); r.status != http.StatusAccepted {
		t.Fatalf("initialized: %d: %s", r.status, r.body)
	}
}

// message is a request of the peer's era. Params and meta are members without
// braces.
func (p *peer) message(id, method, params, meta string) string {
	if p.modern {
		meta = members(meta, `"io.modelcontextprotocol/protocolVersion":"`+modernVersion+`","io.modelcontextprotocol/clientCapabilities":`+cmp.Or(p.can, "{}"))
	}
	if meta != "" {
		params = members(params, `"_meta":{`+meta+`}`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params)
}

func members(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// callMessage is a tools/call. Token is that of progress, if not empty.
func (p *peer) callMessage(id, tool string, args any, token string) string {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // tests write arguments that are JSON
	}
	if token != "" {
		token = `"progressToken":` + token
	}
	return p.message(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, raw), token)
}

// headers are those the peer sends with a message, changed by header.
func (p *peer) headers(msg string, header map[string]string) map[string]string {
	all := map[string]string{"Mcp-Session-Id": p.session}
	if p.token != "" {
		all["Authorization"] = "Bearer " + p.token
	}
	if p.modern {
		var m struct {
			Method string
			Params struct{ Name, URI, TaskID string }
		}
		_ = json.Unmarshal([]byte(msg), &m) // some are wrong on purpose
		all["MCP-Protocol-Version"], all["Mcp-Method"], all["Mcp-Name"] = modernVersion, m.Method, cmp.Or(m.Params.Name, m.Params.URI, m.Params.TaskID)
	}
	for name, value := range header {
		all[name] = value
	}
	return all
}

func (p *peer) post(t *testing.T, msg string, header map[string]string) reply {
	t.Helper()
	return p.server.do(t, "POST", "/mcp", msg, p.headers(msg, header))
}

// send posts a message from another goroutine. The reply comes when the answer
// is complete; one that could not be had has status 0.
func (p *peer) send(ctx context.Context, msg string) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		resp, err := p.server.try(ctx, "POST", "/mcp", strings.NewReader(msg), p.headers(msg, nil))
		if err != nil {
			done <- reply{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		done <- reply{resp.StatusCode, resp.Header, string(b)}
	}()
	return done
}

// call calls a tool and returns the answer, which must be one.
func (p *peer) call(t *testing.T, tool string, args any) answer {
	t.Helper()
	r := p.post(t, p.callMessage("1", tool, args, ""), nil)
	var a answer
	if err := json.Unmarshal([]byte(r.last()), &a); err != nil {
		t.Fatalf("%s: %d %q: %v", tool, r.status, r.body, err)
	}
	return a
}

// messages returns the JSON-RPC messages of a reply, whichever form it has.
func (r reply) messages() (all []string) {
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return []string{r.body}
	}
	for line := range strings.Lines(r.body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

// last returns the last message, which is the answer, or "" if there is none.
func (r reply) last() string {
	all := r.messages()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// stream reads a stream of events line by line while it goes on.
type stream struct {
	header http.Header
	lines  *bufio.Scanner
}

// listen opens a stream that ends with the test.
func (p *peer) listen(t *testing.T, method, msg string) *stream {
	t.Helper()
	s, err := p.tryListen(t.Context(), method, msg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *peer) tryListen(ctx context.Context, method, msg string) (*stream, error) {
	header := map[string]string{"Accept": "application/json, text/event-stream"}
	resp, err := p.server.try(ctx, method, "/mcp", strings.NewReader(msg), p.headers(msg, header))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("%s: %s, %s", method, resp.Status, b)
	}
	return &stream{resp.Header, bufio.NewScanner(resp.Body)}, nil
}

// next returns the next line that begins with prefix, without it, or false at
// the end of the stream.
func (s *stream) next(prefix string) (string, bool) {
	for s.lines.Scan() {
		if rest, ok := strings.CutPrefix(s.lines.Text(), prefix); ok {
			return rest, true
		}
	}
	return "", false
}
