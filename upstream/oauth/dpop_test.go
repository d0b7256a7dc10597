package oauth

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// TestBound uses tokens that are bound to a key, with servers that want to see a nonce, and with those that do not.
func TestBound(t *testing.T) {
	for _, nonce := range []string{"", "nonce-1"} {
		t.Run("nonce "+nonce, func(t *testing.T) {
			w := newWorld(t)
			w.Binds, w.Nonce = true, nonce
			c := w.client()
			w.signedIn(c, "")
			w.works(w.client(), "") // as another process does
			w.EndAccess()
			w.works(c, "")
			if n := w.grants(grantRefresh); n == 0 {
				t.Error("there is no refresh")
			}
			w.Set(func() { w.Nonce = "nonce-2" })
			w.works(c, "")
			// A token that was stolen is of no use without the key.
			kept, err := c.grants.Load(everyone, true)
			if err != nil {
				t.Fatal(err)
			}
			kept.binding, err = newBinding()
			if err != nil {
				t.Fatal(err)
			}
			w.wrong = true
			before := len(w.Problems())
			req, err := http.NewRequest(http.MethodPost, w.URL(), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if req, err = (&transport{client: c}).with(req, http.NoBody, kept); err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, _ = io.Copy(io.Discard, res.Body); res.StatusCode != http.StatusUnauthorized || len(w.Problems()) != before+1 {
				t.Errorf("%d, %q", res.StatusCode, w.Problems())
			}
		})
	}
}

// TestNotBound has the authorization server give a token that is not bound, although the upstream asks for one that is.
func TestNotBound(t *testing.T) {
	w := newWorld(t)
	w.Binds = true
	w.Change = func(document string, answer map[string]any) {
		if document == "token" {
			answer["token_type"] = "Bearer"
		}
	}
	c := w.client()
	_, _, err := w.call(c, "", "tools/list")
	if err := w.signIn(err); !w.says(err, "of type Bearer instead of DPoP") {
		t.Error(err)
	}
	if s, err := c.Status(""); s.SignedIn || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestBoundMachine gets tokens that are bound without a person.
func TestBoundMachine(t *testing.T) {
	w := newWorld(t)
	w.Binds, w.Nonce = true, "nonce-1"
	w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-1"}
	c := w.client(settings(func(s *Settings) { s.Flow, s.ClientID, s.ClientSecret = FlowClientCredentials, "known", "s3cr3t-1" }))
	for range 2 {
		if status, body, err := w.call(c, "", "tools/list"); status != http.StatusOK || !strings.HasPrefix(body, "known ") || err != nil {
			t.Errorf("%d %s, %v", status, body, err)
		}
		w.EndAccess()
	}
}
