package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reloaded replaces the configuration and waits until it is in force.
func (s *httpServer) reloaded(t *testing.T, file, text string) {
	t.Helper()
	count := func() int { return strings.Count(s.log(), "configuration reloaded") }
	before := count()
	reconfigure(t, file, text)
	eventually(t, "the configuration is reloaded", func() bool { return count() > before })
}

// may checks the status that a peer gets for a call of echo in its session.
func (p *peer) may(t *testing.T, what string, status int) {
	t.Helper()
	r := p.post(t, p.callMessage("1", "echo", map[string]any{"message": "hello"}, ""), nil)
	if r.status != status || (status == http.StatusOK) != strings.Contains(r.body, "Echo: hello") {
		t.Errorf("%s: %d %s; want %d", what, r.status, r.body, status)
	}
	if status == http.StatusUnauthorized && !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer ") {
		t.Errorf("%s: no challenge: %v", what, r.header)
	}
}

// ends reports a stream that goes on. What it carries until its end is passed
// over.
func (s *stream) ends(t *testing.T, what string) {
	t.Helper()
	for {
		line, more := s.next("data: ")
		if !more {
			return
		}
		if !strings.Contains(line, "list_changed") && !strings.Contains(line, `"resultType":"complete"`) {
			t.Errorf("%s: %s", what, line)
		}
	}
}

// withTokens is a configuration with tokens, whose secrets are as given.
func withTokens(pairs ...string) string {
	var entries []string
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, tokenEntry(pairs[i], pairs[i+1]))
	}
	return "server: {tokens: [" + strings.Join(entries, ", ") + "]}\n"
}

// TestTokensVanish takes the tokens away while the server runs: it is closed to
// everybody until there are some again, whatever the command line says.
func TestTokensVanish(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--insecure-no-auth"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			t.Parallel()
			file, _ := configured(t, withTokens("ann", "anns"))
			s := launchHTTP(t, nil, binary(), append(flags, "--config", file)...)
			for _, secret := range []string{"anns", "other"} {
				var peers []*peer
				var streams []*stream
				for _, version := range eras {
					p := s.newPeer(t, version, secret)
					p.may(t, version, http.StatusOK)
					peers, streams = append(peers, p), append(streams, p.listenOrSubscribe(t))
				}
				s.reloaded(t, file, "errors: result\n")
				for i, p := range peers {
					streams[i].ends(t, "the stream of a token that vanished")
					p.may(t, "a token that vanished", http.StatusUnauthorized)
					p.token = ""
					p.may(t, "no token", http.StatusUnauthorized)
				}
				if r := s.do(t, "POST", "/mcp", initializeMessage("2025-11-25"), nil); r.status != http.StatusUnauthorized {
					t.Errorf("initialize without a token: %d", r.status)
				}
				if !strings.Contains(s.log(), "HTTP requests are rejected until") {
					t.Errorf("the log does not say so:\n%s", s.log())
				}
				s.reloaded(t, file, withTokens("ann", "other"))
			}
			s.newPeer(t, modernVersion, "other").may(t, "a token that is configured again", http.StatusOK)
		})
	}
}

// TestTokenOfRun serves without configured tokens: a token is made for the run
// and shown once, with what clients need. Configured tokens replace it for good.
func TestTokenOfRun(t *testing.T) {
	t.Parallel()
	file, _ := configured(t, "")
	s := launchHTTP(t, nil, binary(), "--config", file)
	var snippet struct {
		Servers map[string]struct {
			Type, URL string
			Headers   map[string]string
		} `json:"mcpServers"`
	}
	eventually(t, "the token is shown", func() bool {
		for line := range strings.Lines(s.log()) {
			if strings.HasPrefix(line, "{") {
				must(t, json.Unmarshal([]byte(line), &snippet))
				return true
			}
		}
		return false
	})
	entry := snippet.Servers["toolserver"]
	token, ok := strings.CutPrefix(entry.Headers["Authorization"], "Bearer ")
	if !ok || entry.Type != "http" || entry.URL != s.url {
		t.Fatalf("clients get %+v", entry)
	}
	s.newPeer(t, modernVersion, "").may(t, "no token", http.StatusUnauthorized)
	s.newPeer(t, modernVersion, token+"x").may(t, "another token", http.StatusUnauthorized)
	p := s.newPeer(t, "2025-11-25", token)
	p.may(t, "the token", http.StatusOK)
	if a := p.call(t, "echo", map[string]any{"message": token}); strings.Contains(a.text(), token) {
		t.Error("the token is not redacted")
	}
	s.reloaded(t, file, "errors: result\n")
	p.may(t, "the token after a reload", http.StatusOK)
	stream := p.listen(t, "GET", "")
	s.reloaded(t, file, withTokens("ann", "anns"))
	stream.ends(t, "the stream of the token of the run")
	p.may(t, "the token after others are configured", http.StatusUnauthorized)
	s.newPeer(t, "2025-11-25", "anns").may(t, "a configured token", http.StatusOK)
	s.reloaded(t, file, "")
	p.may(t, "the token after all others have vanished", http.StatusUnauthorized)
	if n := strings.Count(s.log(), token); n != 1 {
		t.Errorf("the token is shown %d times", n)
	}
}

// TestNoAuthentication serves everybody, says so, and stops when tokens are
// configured.
func TestNoAuthentication(t *testing.T) {
	t.Parallel()
	file, _ := configured(t, "")
	s := launchHTTP(t, nil, binary(), "--insecure-no-auth", "--config", file)
	for _, version := range eras {
		s.newPeer(t, version, "").may(t, version, http.StatusOK)
		s.newPeer(t, version, "any").may(t, version, http.StatusOK)
	}
	if log := s.log(); !strings.Contains(log, "WARNING") || strings.Contains(log, "Bearer") {
		t.Errorf("the log is\n%s", log)
	}
	p := s.newPeer(t, "2025-11-25", "")
	stream := p.listen(t, "GET", "")
	s.reloaded(t, file, withTokens("ann", "anns"))
	stream.ends(t, "the stream of somebody without token")
	p.may(t, "somebody without token", http.StatusUnauthorized)
	s.newPeer(t, modernVersion, "anns").may(t, "a token", http.StatusOK)
}

// TestTokenRevoked takes one of two tokens away, and exchanges the secret of the
// other: streams end whose credentials are not accepted any more, sessions stay
// those of their principal.
func TestTokenRevoked(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		file, _ := configured(t, withTokens("ann", "anns", "bob", "bobs", "eve", "eves"))
		s := launchHTTP(t, nil, binary(), "--config", file)
		ann, bob, eve := s.newPeer(t, version, "anns"), s.newPeer(t, version, "bobs"), s.newPeer(t, version, "eves")
		anns, bobs, eves := ann.listenOrSubscribe(t), bob.listenOrSubscribe(t), eve.listenOrSubscribe(t)
		s.reloaded(t, file, withTokens("bob", "new", "eve", "eves"))
		anns.ends(t, "the stream of a revoked token")
		bobs.ends(t, "the stream of a secret that was exchanged")
		ann.may(t, "a revoked token", http.StatusUnauthorized)
		bob.may(t, "the old secret", http.StatusUnauthorized)
		bob.token = "new"
		bob.may(t, "the new secret, in the same session", http.StatusOK)
		eve.may(t, "a token that has not changed", http.StatusOK)
		s.reloaded(t, file, withTokens("eve", "eves")+withoutEcho)
		if line, _ := eves.next("data: "); !strings.Contains(line, listChanged) {
			t.Errorf("%s: the stream of a token that has not changed has %q", version, line)
		}
	}
}

// roles is a configuration in which echo is for staff of the level internal, and
// files can be read by staff.
func roles(user, groups, level string) string {
	return fmt.Sprintf("users: {%s: {groups: [%s], compliance_level: %s}}\ncompliance: {levels: {public: {}, internal: {allowed_with: [public]}}}\n"+
		"tools: {echo: {groups: [staff], compliance_level: internal}}\nlogging: {level: info}\n", user, groups, level)
}

// TestRolesChange takes groups and levels of users away while they have sessions
// and streams open: that holds from the next message on, and they are notified.
func TestRolesChange(t *testing.T) {
	t.Parallel()
	steps := []struct {
		groups, level string
		may           bool
	}{{"staff", "internal", true}, {"guests", "internal", false}, {"staff, guests", "internal", true}, {"staff", "public", false}, {"staff", "internal", true}}
	config := func(user string, i int) string { return roles(user, steps[i].groups, steps[i].level) }
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		file, _ := configured(t, config("ann", 0)+withTokens("ann", "anns"))
		s := launchHTTP(t, nil, binary(), "--config", file)
		var peers []*peer
		var streams []*stream
		for _, version := range eras {
			p := s.newPeer(t, version, "anns")
			peers, streams = append(peers, p), append(streams, p.listenOrSubscribe(t))
		}
		for i, step := range steps {
			if i > 0 {
				s.reloaded(t, file, config("ann", i)+withTokens("ann", "anns"))
			}
			for n, p := range peers {
				for line := ""; i > 0 && !strings.Contains(line, listChanged); { // those of other lists come, too
					if line, _ = streams[n].next("data: "); line == "" {
						t.Fatalf("%v: the stream has ended", step)
					}
				}
				listed := strings.Contains(p.post(t, p.message("1", "tools/list", "", ""), nil).body, `"name":"echo"`)
				if a := p.call(t, "echo", map[string]any{"message": "hello"}); listed != step.may || (a.text() == "Echo: hello") != step.may {
					t.Errorf("%v: listed %t, called: %s", step, listed, a.text())
				}
			}
		}
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		file, _ := configured(t, config("local", 0))
		c := start(t, "--config", file)
		for i, step := range steps {
			if i > 0 {
				before := c.notified(listChanged)
				reconfigure(t, file, config("local", i))
				eventually(t, "the list changes", func() bool { return c.notified(listChanged) > before })
			}
			if a := c.call("echo", map[string]any{"message": "hello"}); (a.text() == "Echo: hello") != step.may {
				t.Errorf("%v: %s", step, a.text())
			}
			modern := json.RawMessage(`{"name":"echo","arguments":{"message":"hello"},"_meta":{` + modernMeta + `}}`)
			if r, err := c.mcp.Call(t.Context(), "tools/call", modern); strings.Contains(string(r), "Echo: hello") != step.may {
				t.Errorf("%v, modern: %s, %v", step, r, err)
			}
		}
	})
}

// TestSubscriptionRevoked takes a resource away from one of two subscribers.
func TestSubscriptionRevoked(t *testing.T) {
	t.Parallel()
	config := func(groups string) string {
		return withTokens("ann", "anns", "bob", "bobs") + "users: {ann: {groups: [" + groups + "]}, bob: {groups: [staff]}}\nresources: {file: {groups: [staff]}}\n"
	}
	for _, version := range eras {
		file, dir := configured(t, config("staff"))
		s := launchHTTP(t, nil, binary(), "--config", file)
		path := filepath.Join(dir, "document")
		touch(t, path)
		var streams []*stream
		for _, secret := range []string{"anns", "bobs"} {
			p := s.newPeer(t, version, secret)
			if p.modern {
				streams = append(streams, p.listen(t, "POST", p.message(`"sub"`, "subscriptions/listen",
					fmt.Sprintf(`"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%q]}`, "file://"+path), "")))
				if ack, _ := streams[len(streams)-1].next("data: "); !strings.Contains(ack, "document") {
					t.Fatalf("the subscription begins with %s", ack)
				}
				continue
			}
			if r := p.post(t, p.message("1", "resources/subscribe", fmt.Sprintf(`"uri":%q`, "file://"+path), ""), nil); !strings.Contains(r.body, `"result"`) {
				t.Fatalf("subscribing: %s", r.body)
			}
			streams = append(streams, p.listen(t, "GET", ""))
		}
		s.reloaded(t, file, config("guests"))
		must(t, os.WriteFile(path, []byte("other"), 0o600))
		for what := ""; !strings.Contains(what, "resources/updated"); { // what has changed for ann may come first
			what, _ = streams[1].next("data: ")
			if what == "" {
				t.Fatalf("%s: bob's stream has ended", version)
			}
		}
		s.reloaded(t, file, config("guests")+withoutEcho)
		for what := ""; !strings.Contains(what, listChanged); {
			if what, _ = streams[0].next("data: "); what == "" || strings.Contains(what, "resources/updated") {
				t.Fatalf("%s: ann's stream has %q", version, what)
			}
		}
	}
}
