package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHTTPSession follows a session from initialize to DELETE.
func TestHTTPSession(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	ann, bob := s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")
	if ann.session == bob.session || len(ann.session) < 22 {
		t.Errorf("sessions %q and %q can be guessed", ann.session, bob.session)
	}
	ping := ann.message("1", "ping", "", "")
	asks := func(name string, p *peer, session string, status int) {
		t.Helper()
		for _, method := range []string{"POST", "GET", "DELETE"} {
			body := ""
			if method == "POST" {
				body = ping
			}
			if r := s.do(t, method, "/mcp", body, p.headers(body, map[string]string{"Mcp-Session-Id": session})); r.status != status {
				t.Errorf("%s: %s: %d; want %d", name, method, r.status, status)
			}
		}
		if r := p.post(t, "["+ping+"]", map[string]string{"Mcp-Session-Id": session}); r.status != status {
			t.Errorf("%s: batch: %d; want %d", name, r.status, status)
		}
	}
	asks("no session", ann, "", http.StatusBadRequest)
	asks("unknown session", ann, strings.Repeat("0", len(ann.session)), http.StatusNotFound)
	asks("session in capitals", ann, strings.ToUpper(ann.session), http.StatusNotFound)
	asks("very long session", ann, strings.Repeat(ann.session, 1000), http.StatusNotFound)
	asks("session of another token", bob, ann.session, http.StatusNotFound)
	for _, p := range []*peer{ann, bob} {
		if r := p.post(t, ping, nil); r.status != http.StatusOK {
			t.Errorf("a session was harmed: %d", r.status)
		}
	}
	stream := ann.listen(t, "GET", "")
	if r := s.do(t, "DELETE", "/mcp", "", ann.headers("", nil)); r.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", r.status)
	}
	if line, more := stream.next("data:"); more {
		t.Errorf("the stream of a deleted session has %s", line)
	}
	asks("deleted session", ann, ann.session, http.StatusNotFound)
	if r := bob.post(t, ping, nil); r.status != http.StatusOK {
		t.Errorf("another session was deleted: %d", r.status)
	}
}

// TestHTTPVersions negotiates each version of the era with sessions. A
// handshake that fails leaves no session.
func TestHTTPVersions(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := &peer{server: s}
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		r := p.post(t, initializeMessage(asked), nil)
		var a struct {
			Result struct{ ProtocolVersion string }
		}
		if err := json.Unmarshal([]byte(r.body), &a); err != nil || a.Result.ProtocolVersion != want {
			t.Errorf("%s: %d %.300s", asked, r.status, r.body)
		}
	}
	r := p.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":[]}}`, nil)
	if id := r.header.Get("Mcp-Session-Id"); id != "" {
		if r := (&peer{server: s, session: id}).post(t, p.message("1", "ping", "", ""), nil); r.status != http.StatusNotFound {
			t.Errorf("a failed handshake began a session: %d", r.status)
		}
	}
}

// TestHTTPSessionIdle lets sessions expire that nobody uses, and only those.
func TestHTTPSessionIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {session_ttl: 2s}")...)
	listening := s.newPeer(t, "2025-11-25", "")
	stream := listening.listen(t, "GET", "")
	calling := s.newPeer(t, "2025-11-25", "")
	call := calling.send(t.Context(), calling.callMessage("1", "bash", gate("call", "0"), ""))
	appears(t, dir+"/call.begun")
	idle := s.newPeer(t, "2025-11-25", "")
	<-time.After(2500 * time.Millisecond) // idle time is what this is about; asking would end it
	ping := idle.message("2", "ping", "", "")
	if r := idle.post(t, ping, nil); r.status != http.StatusNotFound {
		t.Errorf("idle for 2.5 s of 2 s: %d", r.status)
	}
	if r := listening.post(t, ping, nil); r.status != http.StatusOK {
		t.Errorf("with a stream open: %d", r.status)
	}
	if r := calling.post(t, ping, nil); r.status != http.StatusOK {
		t.Errorf("with a call under way: %d", r.status)
	}
	touch(t, dir+"/call.go")
	if r := <-call; !strings.Contains(r.body, "call done") {
		t.Errorf("the call: %d %s", r.status, r.body)
	}
	s.do(t, "DELETE", "/mcp", "", listening.headers("", nil))
	stream.next("data:")
}

// TestHTTPTooManySessions turns clients away who come when the house is full.
func TestHTTPTooManySessions(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {max_sessions: 2}")...)
	first, second := s.newPeer(t, "2025-11-25", ""), s.newPeer(t, "2025-11-25", "")
	full := func() bool {
		r := (&peer{server: s}).post(t, initializeMessage("2025-11-25"), nil)
		if r.status == http.StatusServiceUnavailable && (r.header.Get("Retry-After") == "" || r.header.Get("Mcp-Session-Id") != "") {
			t.Errorf("refused with %v", r.header)
		}
		return r.status == http.StatusServiceUnavailable
	}
	for range 2 {
		if !full() {
			t.Error("a third session was begun")
		}
	}
	if r := second.post(t, second.message("1", "ping", "", ""), nil); r.status != http.StatusOK {
		t.Errorf("a session there is: %d", r.status)
	}
	modern := s.newPeer(t, modernVersion, "")
	if a := modern.call(t, "echo", map[string]any{"message": "hi"}); a.text() != "Echo: hi" {
		t.Errorf("a client that needs no session: %+v", a)
	}
	s.do(t, "DELETE", "/mcp", "", first.headers("", nil))
	if full() {
		t.Error("no room although a session was deleted")
	}
}

// TestHTTPExpiredMakeRoom begins a session in the room of one that has expired.
func TestHTTPExpiredMakeRoom(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {max_sessions: 1, session_ttl: 1s}")...)
	s.newPeer(t, "2025-11-25", "")
	<-time.After(1500 * time.Millisecond)
	if r := (&peer{server: s}).post(t, initializeMessage("2025-11-25"), nil); r.status != http.StatusOK {
		t.Errorf("got %d %s, although the only session there was has expired", r.status, r.body)
	}
}
