package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestHTTPResume loses the connection of calls, which go on in protocol version 2025-11-25:
// the client gets what it has missed, once for all and from any event on, and nobody else does.
func TestHTTPResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	p := s.newPeer(t, "2025-11-25", "anns")
	resume := func(p *peer, session, event string) (*http.Response, error) {
		header := p.headers("", map[string]string{"Last-Event-ID": event, "Accept": "text/event-stream", "Mcp-Session-Id": session})
		return s.try(t.Context(), "GET", "/mcp", nil, header)
	}
	for _, answered := range []bool{false, true} { // before the client asks again
		ctx, hangUp := context.WithCancel(t.Context())
		marker := newMarker()
		st, err := p.tryListen(ctx, "POST", p.callMessage(`"call"`, "bash", gate("resumed"+marker, marker), ""))
		must(t, err)
		event, ok := st.next("id: ")
		if !ok || event == "" {
			t.Fatal("a response that takes long has no event")
		}
		hangUp()
		open := func() { touch(t, dir+"/resumed"+marker+".go") }
		if answered {
			open()
			eventually(t, "the call is answered", func() bool { return strings.Count(s.log(), `"tool":"bash"`) == 2 })
		}
		for _, thief := range []*peer{s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")} {
			if resp, err := resume(thief, thief.session, event); err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("another session: %v %v", resp, err)
			}
		}
		for range 2 {
			resp, err := resume(p, p.session, event)
			must(t, err)
			if !answered {
				open()
			}
			again := &stream{resp.Header, bufio.NewScanner(resp.Body)}
			if answer, _ := again.next("data: "); !strings.Contains(answer, `"id":"call","result"`) || strings.Contains(answer, `"isError"`) {
				t.Errorf("resumed: %s %s", resp.Status, answer)
			}
			if line, more := again.next("data: "); more {
				t.Errorf("more follows the answer: %s", line)
			}
		}
	}
}
