package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestRevokedCalls revokes a token while its principal has calls in flight and background
// jobs: all of it ends, and nobody else's does.
func TestRevokedCalls(t *testing.T) {
	t.Parallel()
	args := httpConfig(t, t.TempDir(), withTokens("ann", "anns", "bob", "bobs"))
	s := launchHTTP(t, nil, binary(), args...)
	marker, others := newMarker(), newMarker()
	sleep := func(p *peer, marker string, background bool) string {
		return p.callMessage(`1`, "bash", map[string]any{"command": "sleep 1000." + marker, "background": background}, "")
	}
	var answers []<-chan reply
	for _, version := range eras {
		p := s.newPeer(t, version, "anns")
		if r := p.post(t, sleep(p, marker, true), nil); r.status != http.StatusOK || strings.Contains(r.body, `"isError":true`) {
			t.Fatalf("a background job: %d %s", r.status, r.body)
		}
		answers = append(answers, p.send(t.Context(), sleep(p, marker, false)))
	}
	bob := s.newPeer(t, modernVersion, "bobs")
	bob.post(t, sleep(bob, others, true), nil)
	sleeping(t, marker, 2*len(eras))
	sleeping(t, others, 1)
	text := strings.Replace(read(t, args[1]), tokenEntry("ann", "anns")+", ", "", 1)
	must(t, os.WriteFile(args[1], []byte(text), 0o600))
	gone(t, marker)
	for i, answer := range answers {
		if r := <-answer; !strings.Contains(r.body, "revoked") {
			t.Errorf("%s: a call in flight is answered with %d %s", eras[i], r.status, r.body)
		}
	}
	sleeping(t, others, 1)
}

// TestTokensOverlap changes a token over: for a while both are those of one principal,
// whose session goes on with the new one when the old one is revoked.
func TestTokensOverlap(t *testing.T) {
	t.Parallel()
	file, _ := configured(t, withTokens("ann", "old"))
	s := launchHTTP(t, nil, binary(), "--config", file)
	p := s.newPeer(t, "2025-11-25", "old")
	s.reloaded(t, file, withTokens("ann", "old", "ann", "new"))
	for _, token := range []string{"old", "new"} {
		p.token = token
		p.may(t, token, http.StatusOK)
	}
	s.reloaded(t, file, withTokens("ann", "new"))
	p.may(t, "the new one", http.StatusOK)
	p.token = "old"
	p.may(t, "the old one", http.StatusUnauthorized)
	s.reloaded(t, file, fmt.Sprintf("server: {tokens: [%s, %s]}\n", tokenEntry("ann", "old"), strings.Replace(tokenEntry("ann", "new"), "}", ", expires: 2001-01-01T00:00:00Z}", 1)))
	p.may(t, "the old one again", http.StatusOK)
	p.token = "new"
	p.may(t, "one that has expired", http.StatusUnauthorized)
}
