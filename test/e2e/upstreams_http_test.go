package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUpstreamsBrokenLists has lists break after their first page: what came before counts,
// and it is said what is missing.
func TestUpstreamsBrokenLists(t *testing.T) {
	t.Parallel()
	var pages atomic.Int32
	web := scriptedWeb(t, func(w http.ResponseWriter, path, method string, params json.RawMessage) string {
		if method != "tools/list" {
			return ""
		}
		if !strings.Contains(string(params), "cursor") {
			return `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"2"}`
		}
		switch path {
		case "/error":
			return `!{"code":-32603,"message":"page 2 is broken"}`
		case "/status":
			http.Error(w, "<p>inner-host</p>", http.StatusInternalServerError)
			return "-"
		case "/shape":
			return `{"tools":7}`
		case "/cyclic":
			return `{"tools":[{"name":"u","inputSchema":{"type":"object"}}],"nextCursor":"2"}`
		case "/same": // whatever the cursor, which is another one each time
			return fmt.Sprintf(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, pages.Add(1)+2)
		}
		return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, pages.Add(1)+2) // empty pages for ever
	})
	var entries []string
	kinds := map[string]string{"error": "page 2 is broken", "status": "500", "shape": "invalid result", "cyclic": "does not end", "same": "does not end", "empty": "does not end"}
	for kind := range kinds {
		entries = append(entries, fmt.Sprintf("  %s: {url: %q, headers: {Authorization: x}}\n", kind, web+"/"+kind))
	}
	s := openGateway(t, gateway(entries...))
	for kind := range kinds {
		s.awaits(kind + "__t")
		s.says(kind+"__t", nil, "ran")
	}
	status, list, check := s.upstreams(), s.run("upstream", "list"), s.run("check")
	for kind, why := range kinds {
		for where, text := range map[string]string{"status": status, "list": list, "check": check} {
			if !strings.Contains(text, why) || !strings.Contains(text, "tools/list is not read whole") {
				t.Errorf("%s of %s does not have %q: %s", where, kind, why, text)
			}
		}
	}
	if strings.Contains(status+list+check, "inner-host") {
		t.Error("a page of HTML is shown")
	}
	if n := pages.Load(); n > 150 { // by three programs
		t.Errorf("%d pages were asked for", n)
	}
}

// scriptedWeb is a server over HTTP without sessions for each path. What answer returns is a
// result, an error after "!", or a minus if it has answered; empty for what any server answers.
func scriptedWeb(t *testing.T, answer func(w http.ResponseWriter, path, method string, params json.RawMessage) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_ = json.Unmarshal(body, &m)
		result := answer(w, r.URL.Path, m.Method, m.Params)
		switch {
		case result != "":
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		case m.Method == "tools/call":
			result = `{"content":[{"type":"text","text":"ran"}]}`
		case m.Method == "ping":
			result = "{}"
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		default:
			result = `!{"code":-32601,"message":"Method not found"}`
		}
		w.Header().Set("Content-Type", "application/json")
		if failure, failed := strings.CutPrefix(result, "!"); failed {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failure)
		} else if result != "-" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestUpstreamsStatuses has servers answer calls with HTTP errors: what they mean is said, and
// a server that asks to be left alone is.
func TestUpstreamsStatuses(t *testing.T) {
	t.Parallel()
	var limited atomic.Int32
	const page = "<html><body>proxy-7.inner.corp</body></html>"
	web := scriptedWeb(t, func(w http.ResponseWriter, path, method string, _ json.RawMessage) string {
		var status int
		fmt.Sscanf(path, "/%d", &status)
		if path == "/401/start" || status > 0 && method == "tools/call" {
			if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "30")
				limited.Add(1)
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			fmt.Fprint(w, page)
			return "-"
		}
		return ""
	})
	e := func(name, path string) string {
		return fmt.Sprintf("  %s: {url: %q, headers: {Authorization: x}}\n", name, web+path)
	}
	s := openGateway(t, gateway(e("denied", "/401"), e("forbidden", "/403"), e("limited", "/429"), e("busy", "/503"), e("broken", "/500"), e("other", "/422")))
	for _, name := range []string{"denied", "forbidden", "limited", "busy", "broken", "other"} {
		s.awaits(name + "__t")
	}
	s.refused("denied__t", nil, "401", `"failure":"auth"`, "credential is missing, or was refused")
	s.refused("forbidden__t", nil, "403", `"failure":"auth"`)
	s.refused("other__t", nil, "422", `"failure":"permanent"`)
	s.refused("broken__t", nil, "500", "effect is unknown")
	for _, name := range []string{"limited", "busy"} {
		for range 3 {
			s.refused(name+"__t", nil, `"failure":"retryable"`, "left alone for")
			if said, _ := json.Marshal(s.call(name+"__t", nil)); strings.Contains(string(said), "unknown") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
	if n := limited.Load(); n != 2 {
		t.Errorf("servers that asked to be left alone were called %d times", n)
	}
	for _, name := range []string{"denied", "forbidden", "limited", "busy", "broken", "other"} {
		if said, _ := json.Marshal(s.call(name+"__t", nil)); strings.Contains(string(said), "corp") {
			t.Errorf("%s: a page is shown: %s", name, said)
		}
	}
	first := openGateway(t, gateway(e("denied", "/401/start")))
	first.reported("credential is missing, or was refused")
}

// TestUpstreamsOddHTTP has servers redirect within their origin, and answer in ways that
// strict clients do not take.
func TestUpstreamsOddHTTP(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request reaches another origin, with %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	kinds := []string{"301", "302", "307", "308", "notified", "text", "untyped", "mark", "unended", "unterminated"}
	web := scriptedWeb(t, func(w http.ResponseWriter, path, method string, _ json.RawMessage) string {
		kind, slash := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/")
		var status int
		fmt.Sscanf(kind, "%d", &status)
		switch {
		case kind == "away":
			w.Header().Set("Location", elsewhere.URL+"/mcp?key=secret")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return "-"
		case status > 0 && !slash:
			w.Header().Set("Location", path+"/")
			w.WriteHeader(status)
			return "-"
		case kind == "notified" && strings.HasPrefix(method, "notifications/"):
			http.Error(w, "no", http.StatusBadRequest)
			return "-"
		}
		return ""
	})
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequest(r.Method, web+r.URL.Path, r.Body)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		kind := res.Header.Get("Content-Type")
		if kind == "application/json" {
			switch strings.Trim(r.URL.Path, "/") {
			case "text":
				kind = "text/plain; charset=utf-8"
			case "untyped":
				kind = ""
			case "mark":
				body = append([]byte("\xef\xbb\xbf"), body...)
			case "unended":
				kind, body = "text/event-stream", fmt.Appendf(nil, "data: %s\n", body)
			case "unterminated":
				kind, body = "text/event-stream", fmt.Appendf(nil, "event: message\ndata: %s", body)
			}
		}
		w.Header()["Content-Type"] = []string{kind}
		if at := res.Header.Get("Location"); at != "" {
			w.Header().Set("Location", at)
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body)
	}))
	t.Cleanup(odd.Close)
	var entries []string
	for _, kind := range append(kinds, "away") {
		entries = append(entries, fmt.Sprintf("  k%s: {url: %q, headers: {Authorization: x}}\n", kind, odd.URL+"/"+kind))
	}
	s := openGateway(t, gateway(entries...))
	for _, kind := range kinds {
		s.awaits("k" + kind + "__t")
		s.says("k"+kind+"__t", nil, "ran")
	}
	s.reported("redirects to", elsewhere.URL+"/mcp")
	if strings.Contains(s.upstreams(), "key=secret") {
		t.Error("the query of an address is shown")
	}
}
