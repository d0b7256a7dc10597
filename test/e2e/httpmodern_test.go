package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestHTTPModernHeaders checks that the headers of the era without sessions
// match the body: proxies decide by the headers, the server acts by the body.
func TestHTTPModernHeaders(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := s.newPeer(t, modernVersion, "")
	call := p.callMessage("1", "echo", map[string]any{"message": "hi"}, "")
	list := p.message("1", "tools/list", "", "")
	change := func(old, new string) string { return strings.Replace(call, old, new, 1) }
	const version = `"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `"`
	for _, test := range []struct {
		name, body string
		header     map[string]string
		status     int
		code       int
	}{
		{"call", call, nil, 200, 0},
		{"list", list, nil, 200, 0},
		{"discover", p.message("1", "server/discover", "", ""), nil, 200, 0},
		{"name in base64", call, map[string]string{"Mcp-Name": "=?base64?ZWNobw==?="}, 200, 0},
		{"session of the other era", call, map[string]string{"Mcp-Session-Id": "feed"}, 200, 0},
		{"no version header", call, map[string]string{"MCP-Protocol-Version": ""}, 400, -32020},
		{"version header of the other era", call, map[string]string{"MCP-Protocol-Version": "2025-11-25"}, 400, -32020},
		{"another version header", call, map[string]string{"MCP-Protocol-Version": "2099-01-01"}, 400, -32020},
		{"no method header", call, map[string]string{"Mcp-Method": ""}, 400, -32020},
		{"another method header", call, map[string]string{"Mcp-Method": "tools/list"}, 400, -32020},
		{"method header in capitals", call, map[string]string{"Mcp-Method": "Tools/Call"}, 400, -32020},
		{"another method in the body", list, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "echo"}, 400, -32020},
		{"no name header", call, map[string]string{"Mcp-Name": ""}, 400, -32020},
		{"another name header", call, map[string]string{"Mcp-Name": "bash"}, 400, -32020},
		{"name header in capitals", call, map[string]string{"Mcp-Name": "ECHO"}, 400, -32020},
		{"name header that is no base64", call, map[string]string{"Mcp-Name": "=?base64?*?="}, 400, -32020},
		{"no name in the body", change(`"name":"echo",`, ""), map[string]string{"Mcp-Name": "echo"}, 400, -32602},
		{"a second name in the body", change(`"name":"echo",`, `"name":"echo","name":"bash",`), map[string]string{"Mcp-Name": "echo"}, 400, -32020},
		{"a name in capitals in the body", change(`"name":"echo",`, `"name":"bash","Name":"echo",`), map[string]string{"Mcp-Name": "echo"}, 400, -32020},
		{"a second method in the body", change(`"method":"tools/call"`, `"method":"tools/call","Method":"tools/list"`), map[string]string{"Mcp-Method": "tools/list"}, 400, -32020},
		{"resumption", call, map[string]string{"Last-Event-ID": "1"}, 400, -32020},
		{"no version in the body", change(version+",", ""), nil, 400, -32602},
		{"version that is no string", change(`"`+modernVersion+`"`, "20260728"), nil, 400, -32602},
		{"no capabilities", change(`,"io.modelcontextprotocol/clientCapabilities":{}`, ""), nil, 400, -32602},
		{"capabilities of no kind", change(`clientCapabilities":{}`, `clientCapabilities":"all"`), nil, 400, -32602},
		{"unknown version", change(modernVersion, "2099-01-01"), map[string]string{"MCP-Protocol-Version": "2099-01-01"}, 400, -32022},
		{"unknown method", p.message("1", "no/such", "", ""), nil, 404, -32601},
		{"method of the other era", p.message("1", "ping", "", ""), nil, 404, -32601},
		{"handshake of the other era", p.message("1", "initialize", "", ""), nil, 404, -32601},
		{"unknown tool", p.callMessage("1", "nope", map[string]any{}, ""), nil, 200, -32001},
		{"wrong arguments", p.callMessage("1", "echo", map[string]any{"massage": 1}, ""), nil, 400, -32602},
		{"answer of a client", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, -32600},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := p.post(t, test.body, test.header)
			var a answer
			if err := json.Unmarshal([]byte(r.body), &a); err != nil || r.status != test.status {
				t.Fatalf("got %d %s; want %d", r.status, r.body, test.status)
			}
			if code := a.code(); code != test.code {
				t.Errorf("got %s; want code %d", r.body, test.code)
			}
			if test.code == -32022 {
				supported, _ := a.Error.Data["supported"].([]any)
				if !slices.Contains(supported, any(modernVersion)) || a.Error.Data["requested"] != "2099-01-01" {
					t.Errorf("got %v", a.Error.Data)
				}
			}
			if id := r.header.Get("Mcp-Session-Id"); id != "" {
				t.Errorf("session %s in the era without", id)
			}
		})
	}
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// TestHTTPModernMethods has nothing but POST in the era without sessions.
func TestHTTPModernMethods(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		r := s.do(t, method, "/mcp", "", map[string]string{"MCP-Protocol-Version": modernVersion, "Accept": "text/event-stream"})
		if r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") == "" {
			t.Errorf("%s: %d, Allow %q", method, r.status, r.header.Get("Allow"))
		}
	}
	p := s.newPeer(t, modernVersion, "")
	checkEventHeaders(t, "subscription", p.subscribe(t).header)
	if r := p.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`, nil); r.status != http.StatusAccepted || r.body != "" {
		t.Errorf("a notification: %d %s", r.status, r.body)
	}
}
