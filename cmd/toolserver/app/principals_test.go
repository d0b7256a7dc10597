package app

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/test/fakes/anthropic"
)

// bySource takes the source of a principal for its credentials. All are called ann.
type bySource struct{}

func (bySource) Authenticate(c server.Credentials) (domain.Principal, *server.Challenge) {
	source := c.Authorization
	if source == "" {
		return domain.Principal{}, &server.Challenge{Description: "who vouches for you?"}
	}
	return domain.Principal{ID: domain.PrincipalID(source, "ann"), Name: "ann"}, nil
}

// namesake is a client that calls itself ann.
type namesake struct {
	t               *testing.T
	url             string
	source, session string
}

// post sends a message of one of the eras and returns the answer.
func (n *namesake) post(modern bool, id int, method, params string) (answer string, header http.Header, status int) {
	n.t.Helper()
	if modern {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	}
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, strings.TrimPrefix(params, ","))
	if strings.HasPrefix(method, "notifications/") {
		msg = strings.Replace(msg, fmt.Sprintf(`"id":%d,`, id), "", 1)
	}
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodPost, n.url, strings.NewReader(msg))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", n.source)
	if modern {
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		req.Header.Set("Mcp-Name", regexp.MustCompile(`"name":"(\w+)"`).FindStringSubmatch(params + `"name":"none"`)[1])
	} else {
		req.Header.Set("Mcp-Session-Id", n.session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b), resp.Header, resp.StatusCode
}

// call calls a tool.
func (n *namesake) call(modern bool, tool, args, more string) string {
	n.t.Helper()
	answer, _, _ := n.post(modern, 1, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{%s}%s`, tool, args, more))
	return answer
}

// TestNamesakes has two principals of the same name, whom different sources
// vouch for, on one server: nothing of one is the other's.
func TestNamesakes(t *testing.T) {
	t.Chdir(t.TempDir())
	fake := new(anthropic.Server)
	service := httptest.NewServer(fake)
	defer service.Close()
	text := fmt.Sprintf("anthropic: {api_key: %s, base_url: %q}\nsandbox: {enforcement: parse_only, private_hosts: [%q]}\n"+
		"limits: {max_result_chars: 1000, rate_per_minute: 100, per_principal: 2, queue_wait: 10ms}\ntools: {disk_info: {confirm: true}}\n",
		anthropic.APIKey, service.URL, strings.TrimPrefix(service.URL, "http://"))
	if err := os.WriteFile("toolserver.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Overrides{File: "toolserver.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Program{Version: "test"}, cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := server.New(a.exec, server.Options{Log: zap.NewNop(), MaxMessageBytes: 1 << 20, MaxInFlight: 100, Grace: time.Second, SessionEnded: a.sessionEnded})
	ts := httptest.NewServer(s.Handler(t.Context(), server.HTTPOptions{Path: "/mcp", SessionTTL: time.Minute, MaxSessions: 4, AnyHost: true, Authenticator: bySource{}}))
	defer ts.Close()
	begin := func(n *namesake) int {
		_, header, status := n.post(false, 0, "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`)
		n.session = header.Get("Mcp-Session-Id")
		return status
	}
	ann, other := &namesake{t: t, url: ts.URL + "/mcp", source: "token"}, &namesake{t: t, url: ts.URL + "/mcp", source: "issuer"}
	if begin(ann) != 200 || begin(other) != 200 {
		t.Fatal("no session")
	}
	thief := *other
	thief.session = ann.session

	t.Run("session", func(t *testing.T) {
		if answer, _, status := thief.post(false, 1, "ping", ""); status != http.StatusNotFound {
			t.Errorf("%d %s", status, answer)
		}
	})
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern %t", modern), func(t *testing.T) {
			large := ann.call(modern, "bash", `"command":"head -c 3000 /dev/zero | tr '\\0' x"`, "")
			page := fmt.Sprintf(`"id":%q,"page":2`, regexp.MustCompile(`lr_[0-9a-f]+`).FindString(large))
			if got := other.call(modern, "read_large_result", page, ""); strings.Contains(got, "xxx") {
				t.Errorf("a page of ann's: %s", got)
			}
			if got := ann.call(modern, "read_large_result", page, ""); !strings.Contains(got, "xxx") {
				t.Errorf("ann's own page: %s", got)
			}
			talk := fmt.Sprintf(`"message":"hello %t","conversation_id":"c%[1]t"`, modern)
			for _, n := range []*namesake{ann, other} {
				if got := n.call(modern, "claude_conversation", talk, ""); !strings.Contains(got, "hello") {
					t.Errorf("got %s", got)
				}
				if last := fake.Requests(); strings.Count(string(last[len(last)-1].Body), "hello") != 1 {
					t.Errorf("%s goes on with somebody else's: %s", n.source, last[len(last)-1].Body)
				}
			}
		})
	}
	t.Run("job", func(t *testing.T) {
		started := ann.call(false, "bash", `"command":"sleep 1000","background":true`, "")
		match := regexp.MustCompile(`\[job (\S+) started`).FindStringSubmatch(started)
		if match == nil {
			t.Fatalf("no job: %s", started)
		}
		stop := fmt.Sprintf(`"action":"stop","job":%q`, match[1])
		if got := other.call(false, "bash_jobs", stop, ""); !strings.Contains(got, `"isError":true`) {
			t.Errorf("another stops it: %s", got)
		}
		if got := ann.call(false, "bash_jobs", stop, ""); strings.Contains(got, `"isError":true`) {
			t.Errorf("ann does not: %s", got)
		}
	})
	t.Run("state", func(t *testing.T) {
		asked := ann.call(true, "disk_info", "", "")
		state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(asked)
		name := regexp.MustCompile(`"inputRequests":{"([^"]+)"`).FindStringSubmatch(asked)
		if state == nil || name == nil {
			t.Fatalf("no question: %s", asked)
		}
		again := fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{}}}`, state[1], name[1])
		if got := other.call(true, "disk_info", "", again); !strings.Contains(got, "-32602") {
			t.Errorf("another answers for ann: %s", got)
		}
		if got := ann.call(true, "disk_info", "", again); !strings.Contains(got, `"content"`) {
			t.Errorf("ann's answer: %s", got)
		}
	})
	t.Run("slots and cancel", func(t *testing.T) {
		done := make(chan string, 2)
		for i := range 2 {
			go func() {
				answer, _, _ := ann.post(false, 10+i, "tools/call", fmt.Sprintf(`"name":"bash","arguments":{"command":"touch slot%d; until [ -e go ]; do sleep 0.02; done; echo gone"}`, i))
				done <- answer
			}()
		}
		for i := range 2 {
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
				if _, err := os.Stat(fmt.Sprint("slot", i)); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("ann's calls do not begin")
				}
			}
		}
		if got := ann.call(false, "echo", `"message":"hi"`, ""); !strings.Contains(got, "-32007") {
			t.Errorf("ann has more slots than two: %s", got)
		}
		for _, modern := range []bool{false, true} {
			if got := other.call(modern, "echo", `"message":"hi"`, ""); !strings.Contains(got, "Echo: hi") {
				t.Errorf("another waits for ann: %s", got)
			}
		}
		other.post(false, 0, "notifications/cancelled", `"requestId":10`)
		if err := os.WriteFile("go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if answer := <-done; !strings.Contains(answer, "gone") {
				t.Errorf("got %s", answer)
			}
		}
	})
	t.Run("rate", func(t *testing.T) {
		for i := 0; ; i++ {
			if strings.Contains(ann.call(true, "echo", `"message":"hi"`, ""), "-32008") {
				break
			}
			if i > 1000 {
				t.Fatal("ann has no rate")
			}
		}
		if got := other.call(true, "echo", `"message":"hi"`, ""); !strings.Contains(got, "Echo: hi") {
			t.Errorf("another pays for ann: %s", got)
		}
	})
	t.Run("places of sessions", func(t *testing.T) {
		more := &namesake{t: t, url: ann.url, source: "token"}
		for i := 0; begin(more) == 200; i++ {
			if i > 4 {
				t.Fatal("ann has all sessions she wants")
			}
		}
		third := &namesake{t: t, url: ann.url, source: "third"}
		if begin(third) != 200 {
			t.Error("there is no place for another")
		}
	})
}
