package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/keyring"
)

// twoReplicas returns the addresses of two servers with the same keys, and the token of Ann, whom both know, and Bob.
func twoReplicas(t *testing.T) (urls [2]string, servers [2]*Server) {
	tokens, err := ParseTokens("token", []Token{{Name: "ann", Hash: HashToken("ann-token")}, {Name: "bob", Hash: HashToken("bob-token")}})
	if err != nil {
		t.Fatal(err)
	}
	keys := keyring.New([]keyring.Key{{ID: "k1", Secret: []byte(strings.Repeat("x", 32))}})
	for i := range urls {
		s, _ := fixture(t)
		addAsking(t, s)
		s.exec.Store.UseKeys(keys)
		servers[i], urls[i] = s, httpFixture(t, s, tokens).URL+"/mcp"
	}
	return urls, servers
}

// TestSessionsOfReplicas has one replica go on with the session of another one, for the same principal, until it has ended.
func TestSessionsOfReplicas(t *testing.T) {
	urls, servers := twoReplicas(t)
	ann, bob := map[string]string{"Authorization": "Bearer ann-token"}, map[string]string{"Authorization": "Bearer bob-token"}
	session := begin(t, urls[0], ann)
	status := func(url, session string, as map[string]string) int {
		resp := post(t, url, session, request(`7`, "tools/call", `{"name":"echo","arguments":{"text":"hi"}}`, false), false, as)
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusOK && !strings.Contains(string(body), "hi") {
			t.Errorf("got %s", body)
		}
		return resp.StatusCode
	}
	for _, url := range urls {
		for name, test := range map[string]struct {
			session string
			as      map[string]string
			want    int
		}{
			"its own":  {session, ann, http.StatusOK},
			"Bob's":    {session, bob, http.StatusNotFound},
			"changed":  {session[:len(session)-2] + "AA", ann, http.StatusNotFound},
			"no key":   {"k9" + session[2:], ann, http.StatusNotFound},
			"a handle": {strings.Repeat("a", 32), ann, http.StatusNotFound},
		} {
			if got := status(url, test.session, test.as); got != test.want {
				t.Errorf("%s: status %d", name, got)
			}
		}
	}
	if n := len(session); n > 200 {
		t.Errorf("the ID has %d characters", n)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, urls[1], nil)
	req.Header.Set(sessionHeader, session)
	req.Header.Set("Authorization", "Bearer ann-token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp.Status, err)
	}
	resp.Body.Close()
	if got := status(urls[1], session, ann); got != http.StatusNotFound {
		t.Errorf("a session that has ended: status %d", got)
	}
	other := begin(t, urls[0], ann)
	if got := status(urls[1], other, ann); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	servers[1].Revoke("token:ann")
	if got := status(urls[1], other, ann); got != http.StatusNotFound {
		t.Errorf("a session from before the credentials were revoked: status %d", got)
	}
	if fresh := begin(t, urls[0], ann); status(urls[1], fresh, ann) != http.StatusOK {
		t.Error("a session from after that is not known")
	}
}

// TestStatesOfReplicas has one replica take the state of another one.
func TestStatesOfReplicas(t *testing.T) {
	urls, _ := twoReplicas(t)
	at := func(i int) conversation {
		return func(t *testing.T, msg string) string {
			resp := post(t, urls[i], "", msg, true, map[string]string{"Authorization": "Bearer ann-token"})
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	const args, yes = `,"arguments":{"text":"a"}`, `,"inputResponses":{"confirm":{"action":"accept"}},"requestState":"`
	state := round(t, at(0), "careful", args).Result.RequestState
	// Without a store, a replica does not go by states from before it started: they may have been used.
	if again := round(t, at(1), "careful", args+yes+state+`"`).Result; again.ResultType != "complete" {
		t.Errorf("%+v", again)
	}
	if again := round(t, at(1), "careful", args+yes+state+`"`).Result; again.ResultType != "input_required" {
		t.Errorf("one answer is good twice: %+v", again)
	}
}
