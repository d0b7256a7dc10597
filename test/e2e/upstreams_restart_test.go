package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// restarting is a server over HTTP that knows no session any more once it has been started
// again. Its paths, /STATUS/BODY, are servers of their own, and say so in their own ways.
type restarting struct {
	*httptest.Server

	mu       sync.Mutex
	sessions map[string]string // path -> the one that it knows
	begun    map[string]int    // handshakes
	ran      map[string]int    // calls
	silent   map[string]bool
	modern   bool
}

var staleBodies = map[string][2]string{ // type and text
	"session": {"application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`},
	"json":    {"application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request"},"id":null}`},
	"object":  {"application/json", `{"error":"unknown"}`},
	"text":    {"text/plain", "Bad Request: Server not initialized"},
	"other":   {"text/plain", "no"},
	"html":    {"text/html", "<html><body>inner-host-7.corp</body></html>"},
	"empty":   {"", ""},
}

func startRestarting(t *testing.T) *restarting {
	r := &restarting{sessions: map[string]string{}, begun: map[string]int{}, ran: map[string]int{}, silent: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// restart has a server forget its session.
func (r *restarting) restart(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, path)
}

func (r *restarting) counts(path string) (begun, ran int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun[path], r.ran[path]
}

func (r *restarting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, id := req.URL.Path, req.Header.Get("Mcp-Session-Id")
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct{ Do string }
		}
	}
	_ = json.NewDecoder(req.Body).Decode(&m)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.sessions[path] == id && id != ""
	result := "{}"
	fail := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":%q}}`, m.ID, text)
	}
	switch {
	case req.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.Method == "server/discover" && r.modern:
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	case m.Method == "server/discover":
		http.Error(w, "Bad Request: Server not initialized", http.StatusBadRequest)
		return
	case m.Method == "initialize":
		r.begun[path]++
		r.sessions[path] = path + strconv.Itoa(r.begun[path])
		w.Header().Set("Mcp-Session-Id", r.sessions[path])
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"r","version":"1"}}`
	case !known && !r.modern:
		if r.silent[path] {
			r.mu.Unlock()
			<-req.Context().Done()
			r.mu.Lock()
			return
		}
		part := strings.Split(path, "/")
		status, _ := strconv.Atoi(part[1])
		w.Header().Set("Content-Type", staleBodies[part[2]][0])
		w.WriteHeader(status)
		fmt.Fprint(w, staleBodies[part[2]][1])
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "tools/list":
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case m.Method == "tools/call":
		r.ran[path]++
		result = `{"content":[{"type":"text","text":"ran"}]}`
		switch m.Params.Arguments.Do {
		case "break": // in the middle of the call
			delete(r.sessions, path)
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
			return
		case "list": // once it is started again
			delete(r.sessions, path)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
			return
		case "refuse":
			fail(http.StatusBadRequest, "browser session 7 is not open")
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// TestUpstreamsRestart has servers over HTTP begin anew, and answer what belongs to the old
// session in every way: the call works or, where it is not certain that it was not run, the
// one after it does.
func TestUpstreamsRestart(t *testing.T) {
	t.Parallel()
	r := startRestarting(t)
	var entries []string
	paths := map[string]string{}
	for _, status := range []int{200, 202, 400, 401, 403, 404, 405, 410, 422, 500, 502, 503, 504} {
		for body := range staleBodies {
			name := fmt.Sprintf("s%d%s", status, body)
			paths[name] = fmt.Sprintf("/%d/%s", status, body)
			entries = append(entries, fmt.Sprintf("  %s: {url: %q, headers: {Authorization: x}, timeout: 5s}\n", name, r.URL+paths[name]))
		}
	}
	s := openGateway(t, gateway(entries...))
	for name, path := range paths {
		s.awaits(name + "__t")
		works := func(when string) {
			t.Helper()
			if a := s.call(name+"__t", map[string]any{}); a.failed() || a.text() != "ran" {
				t.Errorf("%s, %s: %s %+v", name, when, a.text(), a.Error)
			}
		}
		works("at first")
		r.restart(path)
		_, before := r.counts(path)
		certain := strings.HasSuffix(path, "/session") && !strings.HasPrefix(path, "/5") || strings.HasPrefix(path, "/4")
		if a := s.call(name+"__t", map[string]any{}); certain && (a.failed() || a.text() != "ran") {
			t.Errorf("%s, the call itself: %s %+v", name, a.text(), a.Error)
		} else if said, _ := json.Marshal(a); strings.Contains(string(said), "corp") || strings.Contains(string(said), "<html") {
			t.Errorf("%s: %s", name, said)
		}
		works("after a restart")
		if _, ran := r.counts(path); ran > before+2 {
			t.Errorf("%s: a call was run twice", name)
		}
		s.call(name+"__t", map[string]any{"do": "break"})
		works("after a restart during a call")
		if body := path[len("/400/"):]; body != "session" && body != "empty" { // a second for each
			continue
		}
		s.call(name+"__t", map[string]any{"do": "list"})
		if !certain {
			s.call(name+"__t", map[string]any{})
		}
		works("after a restart before a list")
	}
	begun, _ := r.counts("/400/session")
	s.refused("s400session__t", map[string]any{"do": "refuse"}, "-32602", "browser session 7")
	if now, _ := r.counts("/400/session"); now != begun {
		t.Error("the refusal of a call has ended the session")
	}
}

// TestUpstreamsRestartSilent has a server over HTTP not answer any more what belongs to the old
// session, although calls keep coming.
func TestUpstreamsRestartSilent(t *testing.T) {
	t.Parallel()
	r := startRestarting(t)
	s := openGateway(t, gateway(fmt.Sprintf("  u: {url: %q, headers: {Authorization: x}, call_timeout: 1s}\n", r.URL+"/400/session")))
	s.awaits("u__t")
	s.says("u__t", nil, "ran")
	r.mu.Lock()
	r.silent["/400/session"] = true
	r.mu.Unlock()
	r.restart("/400/session")
	begun := time.Now()
	eventually(t, "it is connected to anew", func() bool { a := s.call("u__t", nil); return !a.failed() && a.text() == "ran" })
	t.Logf("after %v", time.Since(begun))
}

// TestUpstreamsRestartOlder has a server of 2026-07-28 come back as one that has sessions.
func TestUpstreamsRestartOlder(t *testing.T) {
	t.Parallel()
	r := startRestarting(t)
	r.modern = true
	s := openGateway(t, gateway(fmt.Sprintf("  u: {url: %q, headers: {Authorization: x}}\n", r.URL+"/400/text")))
	s.awaits("u__t")
	s.says("u__t", nil, "ran")
	r.mu.Lock()
	r.modern = false
	r.mu.Unlock()
	s.says("u__t", nil, "ran")
}
