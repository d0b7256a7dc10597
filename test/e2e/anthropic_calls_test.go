package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// TestAnthropicProgress sees an answer grow, over stdio and over HTTP.
func TestAnthropicProgress(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	config := usesAnthropic(serveAnthropic(t, fake), "api_key: "+anthropic.APIKey)
	turn := anthropic.Turn{Thinking: "some thoughts", Text: []string{"one two three"}, Chunk: 16}
	message := func(last float64, p mcpclient.Progress) float64 {
		if p.Done <= last || !strings.Contains(p.Message, "characters") {
			t.Errorf("after %v: %+v", last, p)
		}
		return p.Done
	}

	c, _ := openTools(t, config)
	fake.Say(turn)
	last, seen := 0.0, 0
	progress := func(p mcpclient.Progress) { last, seen = message(last, p), seen+1 }
	a, err := c.mcp.CallTool(t.Context(), "claude_conversation", arguments("message", "hi"), progress)
	if err != nil || !strings.Contains(string(a), `"one two three"`) {
		t.Errorf("got %s, %v", a, err)
	}
	if seen == 0 {
		t.Error("no progress is seen over stdio")
	}

	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), config)...)
	for _, version := range []string{"2025-11-25", modernVersion} {
		p := s.newPeer(t, version, "")
		fake.Say(turn)
		r := p.post(t, p.callMessage("1", "claude_conversation", arguments("message", "hi"), `"here"`), nil)
		all := r.messages()
		if len(all) < 2 || !strings.Contains(r.last(), `"one two three"`) {
			t.Fatalf("over HTTP, %s: %d %q", version, r.status, all)
		}
		last := 0.0
		for _, raw := range all[:len(all)-1] {
			var n struct {
				Params struct {
					mcpclient.Progress
					ProgressToken string
				}
			}
			must(t, json.Unmarshal([]byte(raw), &n))
			if n.Params.ProgressToken != "here" {
				t.Errorf("got %s", raw)
			}
			last = message(last, n.Params.Progress)
		}
	}
}

// TestAnthropicCancel takes calls back: the request is aborted.
func TestAnthropicCancel(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	base := serveAnthropic(t, fake)
	c, _ := openTools(t, usesAnthropic(base), keys...)
	half := anthropic.Turn{Thinking: "hm", Text: []string{"half"}}.Events("m")
	gone := func(what string) {
		t.Helper()
		select {
		case <-fake.Gone():
		case <-time.After(patience):
			t.Fatalf("%s: the request stays", what)
		}
	}
	for _, r := range []anthropic.Reply{{Hang: true}, {Header: anthropic.EventStream(), Body: half, Hang: true}} {
		before := len(fake.Requests())
		fake.Script(anthropic.MessagesPath, r)
		call := c.begin("claude_conversation", arguments("message", "hello", "conversation_id", "kept"))
		eventually(t, "the request has come", func() bool { return len(fake.Requests()) > before })
		call.cancel()
		gone("over stdio")
	}
	fake.Script(anthropic.CostPath, anthropic.Reply{Body: `{"data":[`, Hang: true})
	call := c.begin("anthropic_usage", arguments("action", "cost", "starting_at", "2026-01-01"))
	eventually(t, "the request has come", func() bool { r := fake.Requests(); return r[len(r)-1].Path == anthropic.CostPath })
	call.cancel()
	gone("a report")
	if a := c.talk("and now?", "conversation_id", "kept"); a.text() != "You said: and now?" || a.Result.Meta["conversation_messages"] != 2.0 {
		t.Errorf("what was taken back is part of the conversation: %s %v", a.text(), a.Result.Meta)
	}
	c.ping()

	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), usesAnthropic(base, "api_key: "+anthropic.APIKey))...)
	p := s.newPeer(t, "2025-11-25", "")
	before := len(fake.Requests())
	fake.Script(anthropic.MessagesPath, anthropic.Reply{Header: anthropic.EventStream(), Body: half, Hang: true})
	reply := p.send(t.Context(), p.callMessage("1", "claude_conversation", arguments("message", "hello"), ""))
	eventually(t, "the request has come", func() bool { return len(fake.Requests()) > before })
	p.post(t, cancelFirst, nil)
	gone("over HTTP")
	<-reply
}

// TestAnthropicEnvironment starts a server among variables that other programs
// have of Anthropic's libraries and of proxies. The fake refuses headers it does
// not know, and the address is none that proxies are left out for.
func TestAnthropicEnvironment(t *testing.T) {
	t.Parallel()
	var trapped atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { trapped.Add(1); w.WriteHeader(502) }))
	t.Cleanup(trap.Close)
	fake := new(anthropic.Server)
	listener, err := net.Listen("tcp", net.JoinHostPort(proxiedAddress(t), "0"))
	must(t, err)
	s := &httptest.Server{Listener: listener, Config: &http.Server{Handler: fake}}
	s.Start()
	t.Cleanup(s.Close)
	env := append([]string{
		"ANTHROPIC_AUTH_TOKEN=ambient-token", "ANTHROPIC_BASE_URL=" + trap.URL, "ANTHROPIC_CUSTOM_HEADERS=X-Ambient: 1",
		"ANTHROPIC_MODEL=ambient-model",
		"ANTHROPIC_PROFILE=ambient", "ANTHROPIC_LOG=debug", "SSLKEYLOGFILE=/dev/stdout",
	}, keys...)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+trap.URL)
	}
	c, _ := openTools(t, usesAnthropic(s.URL), env...)
	if a := c.talk("hello"); a.text() != "You said: hello" {
		t.Errorf("got %s", a.text())
	}
	report(t, "cost", c.call("anthropic_usage", arguments("action", "cost", "starting_at", "2026-01-01")))
	if a := c.call("capabilities_refresh", nil); a.failed() {
		t.Errorf("got %s", a.text())
	}
	for _, r := range fake.Requests() {
		for name, values := range r.Header {
			if strings.Contains(strings.ToLower(name+fmt.Sprint(values)), "ambient") || name == "Authorization" {
				t.Errorf("%s is sent: %s", name, values)
			}
		}
		version := "2023-06-01" // of reports
		if r.Path == anthropic.MessagesPath {
			version = "2026-10-21"
		}
		if strings.Contains(string(r.Body), "ambient") || r.Header.Get("Anthropic-Version") != version {
			t.Errorf("%s: %v %s", r.Path, r.Header, r.Body)
		}
	}
	if n := trapped.Load(); n != 0 {
		t.Errorf("%d requests went to where the environment says", n)
	}
	c.ping()
}

// proxiedAddress returns an address of this machine that programs use proxies
// for, unlike its loopback addresses, if it has one.
func proxiedAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			return ip.IP.String()
		}
	}
	return "127.0.0.1"
}

// TestAnthropicSwitching has a service that changes to another protocol and then
// says nothing: that is no answer, which is known at once.
func TestAnthropicSwitching(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 8)
	switching := func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		io.Copy(io.Discard, conn)
		gone <- struct{}{}
	}
	base := serveRaw(t, map[string]func(net.Conn){anthropic.MessagesPath: switching, anthropic.CostPath: switching})
	c, _ := openTools(t, usesAnthropic(base)+"tools: {claude_conversation: {timeout: 2s}, anthropic_usage: {timeout: 2s}}\n", keys...)
	for tool, args := range map[string]map[string]any{
		"claude_conversation": arguments("message", "hello"), "anthropic_usage": arguments("action", "cost", "starting_at", "2026-01-01"),
	} {
		wantFailure(t, tool, c.call(tool, args), "http_status", "HTTP 101")
		select {
		case <-gone:
		case <-time.After(patience):
			t.Fatalf("%s: the connection stays", tool)
		}
	}
	c.ping()
}
