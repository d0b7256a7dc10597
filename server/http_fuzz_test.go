package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzHTTP checks that whatever a client sends is answered with a status HTTP
// has for it, and with JSON where JSON is announced.
func FuzzHTTP(f *testing.F) {
	s, _ := fixture(f)
	offer(f, s)
	h := s.Handler(f.Context(), HTTPOptions{
		Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10,
		Authenticator: everybody{},
	}).(*httpHandler)
	mux := http.Handler(h)
	call := request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"x"}}`, true)
	f.Add("POST", call, "application/json", "application/json, text/event-stream", "2026-07-28", "tools/call", "echo", "", "")
	f.Add("POST", initialize("2025-11-25"), "application/json", "*/*", "", "", "", "", "")
	f.Add("POST", request(`1`, "resources/read", `{"uri":"doc:text"}`, true), "application/json", "application/json", "2026-07-28", "resources/read", "=?base64?ZG9jOnRleHQ=?=", "", "")
	f.Add("DELETE", "", "", "", "", "", "", "feed", "http://evil.example")
	f.Add("POST", "[]", "application/json; charset=utf-8", "text/event-stream", "1999-01-01", "x", "=?base64?!?=", "feed", "null")
	f.Add("OPTIONS", "", "", "", "", "", "", "", "http://localhost:1")
	f.Fuzz(func(t *testing.T, method, body, contentType, accept, version, methodHeader, name, session, origin string) {
		if strings.Contains(body, "wait") || strings.Contains(body, "listen") || strings.Contains(body, `\u`) || method == http.MethodGet {
			return // what goes on until the client ends it
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/mcp", strings.NewReader(body))
		if err != nil {
			return
		}
		for header, value := range map[string]string{
			"Content-Type": contentType, "Accept": accept, "Mcp-Protocol-Version": version, "Mcp-Method": methodHeader, "Mcp-Name": name,
			sessionHeader: session, "Origin": origin,
		} {
			if value != "" {
				r.Header[http.CanonicalHeaderKey(header)] = []string{value}
			}
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 || w.Code == http.StatusInternalServerError {
			t.Fatalf("%s %q: status %d", method, body, w.Code)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %q: %d %q", method, body, w.Code, w.Body)
		}
	})
}
