package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// TestUpstreamsJudge passes on to a server what its schema does not allow, for it to decide, and
// converts what models write as strings. A schema that takes for ever to expand costs nothing.
func TestUpstreamsJudge(t *testing.T) {
	t.Parallel()
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t), "--offer", "judging")))
	s.awaits("u__shot")
	for _, row := range []struct{ tool, args, want string }{
		{"u__bomb", `{"x":"y"}`, `{"x":"y"}`}, {"u__bomb", `{"x":1}`, `{"x":1}`},
		{"u__shot", `{}`, `{}`}, {"u__shot", `{"full":null,"f":1.50}`, `{"full":null,"f":1.50}`}, {"u__shot", `{"scale":"x","more":1}`, `{"scale":"x","more":1}`},
		{"u__shot", `{"n":"5","full":"true","f":"1.50","l":"[\"a\"]","o":"{\"x\":1}","scale":"5"}`, `{"n":5,"full":true,"f":1.50,"l":["a"],"o":{"x":1},"scale":"5"}`},
		{"u__shot", `{"l":"a","n":"five"}`, `{"l":["a"],"n":"five"}`}, {"u__shot", `{"scale":"wrong"}`, "scale must be css or device"},
		{"mcp_exec", `{"server":"u","tool":"shot","args":"{\"n\":\"5\"}"}`, `{"n":5}`}, {"mcp_exec", `{"server":"u","tool":"bomb","args":{"x":"y"}}`, `{"x":"y"}`},
	} {
		if a := s.call(row.tool, json.RawMessage(row.args)); a.text() != row.want || a.Error != nil {
			t.Errorf("%s %s: %s, %+v", row.tool, row.args, a.text(), a.Error)
		}
	}
	if a := s.call("u__shot", json.RawMessage(`[1]`)); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("an array of arguments: %+v", a)
	}
}

// TestSelect has parts selected of what tools of other servers return.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := openGateway(t, "limits: {max_result_chars: 1000}\n"+gateway(entry("u", "", upstreamBinary(t), "--offer", "judging,good")))
	s.awaits("u__issues")
	exec := func(tool, program string, args map[string]any) answer {
		return s.call("mcp_exec", arguments("server", "u", "tool", tool, "args", args, "select", program))
	}
	for program, want := range map[string]string{
		".items[] | {id, name}": "{\"id\":1.50,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}", ".items[].name": "a\nb", ".none": "null", "empty": "[select returned nothing]",
		".items[] |": "mcp_exec: select is no program of jq: unexpected EOF at byte 11", "items": "mcp_exec: select is no program of jq: function not defined: items/0",
	} {
		if a := exec("issues", program, nil); a.text() != want {
			t.Errorf("%s: %+v", program, a)
		}
	}
	a := exec("issues", ".items.name", nil)
	_, id, ok := strings.Cut(a.text(), `The call was made. All of its result: read_large_result(id="`)
	if id, _, _ = strings.Cut(id, `"`); !a.Result.IsError || !ok || !strings.HasPrefix(a.text(), "select failed: expected an object but got: array (") {
		t.Fatalf("%+v", a)
	}
	if a := s.call("read_large_result", arguments("id", id, "select", ".items | length")); a.text() != "2" {
		t.Errorf("what was kept: %+v", a)
	}
	if a := exec("echo", ".x", arguments("message", "no JSON")); !a.Result.IsError || !strings.HasPrefix(a.text(), "select applies to results that are JSON; this is not. The call was made.") {
		t.Errorf("%+v", a)
	}
	if a := exec("shot", ".", arguments("scale", "wrong")); !a.Result.IsError || a.text() != "scale must be css or device" {
		t.Errorf("an error of the tool: %+v", a)
	}
	if a := exec("issues", `[range(5000)] | "x" * length`, nil); !strings.Contains(a.text(), "read_large_result(id=") {
		t.Errorf("a long result: %+v", a)
	}
	if a := exec("issues", "def f: [., .] | f; f", nil); !a.Result.IsError || !strings.HasPrefix(a.text(), "select took too long") && !strings.HasPrefix(a.text(), "select takes more than ") {
		t.Errorf("an endless program: %+v", a)
	}
	s.ping()
}

// TestLeaksBeside looks for servers of others in what is for everybody: the file of capabilities,
// and how many servers there are.
func TestLeaksBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := launchHTTP(t, nil, binary(), httpConfig(t, dir, pdfs(t))...)
	ann, bob := userOf(t, s, "anns", "2025-11-25", nil), userOf(t, s, "bobs", "2025-11-25", nil)
	for user, tool := range map[*mcpclient.Client]string{ann: "pdf__echo", bob: "pdf_secret__echo"} {
		eventually(t, tool+" can be called", func() bool {
			_, err := user.CallTool(t.Context(), tool, map[string]any{"message": "x"}, nil)
			return err == nil
		})
	}
	if _, err := bob.CallTool(t.Context(), "capabilities_refresh", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	file, err := ann.CallTool(t.Context(), "read_file", map[string]any{"path": "capabilities.md"}, nil)
	if err != nil || strings.Contains(string(file), "secret") || !strings.Contains(string(file), "Files") {
		t.Errorf("%s, %v", file, err)
	}
	deadline := time.Now().Add(patience)
	for {
		raw, err := ann.Call(t.Context(), "resources/read", map[string]any{"uri": "status://health"})
		must(t, err)
		var r struct{ Contents []struct{ Text string } }
		must(t, json.Unmarshal(raw, &r))
		var h struct{ Upstreams map[string]int }
		must(t, json.Unmarshal([]byte(r.Contents[0].Text), &h))
		if len(h.Upstreams) == 1 && h.Upstreams["ready"] == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v", h.Upstreams)
		}
	}
}
