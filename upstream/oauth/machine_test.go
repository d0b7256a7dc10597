package oauth

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// TestMachine gets tokens without a person.
func TestMachine(t *testing.T) {
	key, public := newKey(t)
	file := filepath.Join(t.TempDir(), "assertion")
	if err := os.WriteFile(file, []byte(" assertion-of-a-workload\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		client   oauth.Client
		settings Settings
		grant    string
	}{
		"secret":         {oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-1"}, Settings{Flow: FlowClientCredentials, ClientSecret: "s3cr3t-1"}, grantClient},
		"secret in form": {oauth.Client{Method: "client_secret_post", Secret: "s3cr3t-1"}, Settings{Flow: FlowClientCredentials, ClientSecret: "s3cr3t-1", AuthMethod: methodPost}, grantClient},
		"key":            {oauth.Client{Method: "private_key_jwt", Key: public}, Settings{Flow: FlowClientCredentials, PrivateKey: key, Scopes: []string{"read", "more"}}, grantClient},
		"assertion":      {oauth.Client{Method: "none"}, Settings{Flow: FlowJWTBearer, AssertionFile: file}, grantJWT},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			w := newWorld(t)
			w.Clients["known"] = test.client
			test.settings.ClientID = "known"
			with := settings(func(s *Settings) { *s = test.settings })
			c := w.client(with, at(&now))
			works := func(c *Client) {
				t.Helper()
				if status, body, err := w.call(c, "user:ann", "tools/list"); status != http.StatusOK || !strings.HasPrefix(body, "known ") || err != nil {
					t.Errorf("%d %s, %v", status, body, err)
				}
			}
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() { works(c) })
			}
			calls.Wait()
			works(w.client(with)) // as another process does
			if n := w.grants(test.grant); n != 1 {
				t.Errorf("%d requests for tokens", n)
			}
			now = now.Add(2 * time.Hour)
			works(c)
			if n := w.grants(test.grant); n != 2 {
				t.Errorf("%d requests for tokens after it has expired", n)
			}
			w.EndAccess()
			works(c)
			for _, r := range w.Requests("/token") {
				want := "read"
				if test.settings.Scopes != nil {
					want = "read more"
				}
				if r.Form.Get("scope") != want {
					t.Errorf("scope %q", r.Form.Get("scope"))
				}
			}
			if s, err := c.Status("user:ann"); !s.SignedIn || !s.Renews || s.Flow != test.settings.Flow || err != nil {
				t.Errorf("%+v, %v", s, err)
			}
			if _, err := c.SignIn(t.Context(), ""); !w.says(err, "without a person") {
				t.Error(err)
			}
			data, err := os.ReadFile(filepath.Join(w.dir, "upstream", c.name("grant", "")))
			if err != nil || test.client.Secret != "" && strings.Contains(string(data), test.client.Secret) {
				t.Errorf("the secret of the settings is kept: %s, %v", data, err)
			}
		})
	}
}

// TestMachineStepsUp has a request require another scope.
func TestMachineStepsUp(t *testing.T) {
	w := newWorld(t)
	w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-1"}
	w.Set(func() {
		w.Need = func(method string, _ []byte) []string {
			if method == "tools/call" {
				return []string{"write"}
			}
			return []string{"read"}
		}
	})
	c := w.client(settings(func(s *Settings) { s.Flow, s.ClientID, s.ClientSecret = FlowClientCredentials, "known", "s3cr3t-1" }))
	for _, method := range []string{"tools/list", "tools/call", "tools/list"} {
		if status, body, err := w.call(c, "", method); status != http.StatusOK || err != nil {
			t.Errorf("%s: %d %s, %v", method, status, body, err)
		}
	}
	requests := w.Requests("/token")
	if len(requests) != 2 || !sameScopes(requests[1].Form.Get("scope"), "read", "write") {
		t.Errorf("%+v", requests)
	}
}

// TestEnterprise exchanges an ID token at an identity provider.
func TestEnterprise(t *testing.T) {
	w := newWorld(t)
	w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-1"}
	file := filepath.Join(t.TempDir(), "id-token")
	c := w.client(settings(func(s *Settings) {
		*s = Settings{Flow: FlowEnterprise, ClientID: "known", ClientSecret: "s3cr3t-1", AssertionFile: file,
			IdentityProvider: IdentityProvider{TokenEndpoint: w.Authorization.URL + "/idp", ClientID: "known", ClientSecret: "s3cr3t-2"}}
	}))
	issued := typeIDJAG
	w.Set(func() {
		w.Before = func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/idp" {
				return false
			}
			_ = r.ParseForm()
			for name, want := range map[string]string{
				"grant_type": grantExchange, "requested_token_type": typeIDJAG, "subject_token": "the-id-token", "subject_token_type": typeIDToken,
				"audience": w.Issuer(), "resource": w.URL(), "client_id": "known", "client_secret": "s3cr3t-2",
			} {
				if got := r.PostForm.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			_ = json.NewEncoder(to).Encode(map[string]string{"access_token": "the-id-jag", "issued_token_type": issued, "token_type": "N_A"})
			return true
		}
	})
	if _, _, err := w.call(c, "", "tools/list"); !w.says(err, "assertion_file of upstream notes cannot be used: no such file") {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("the-id-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, body, err := w.call(c, "", "tools/list"); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	if r := w.Requests("/token"); len(r) != 1 || r[0].Form.Get("assertion") != "the-id-jag" || r[0].Form.Get("grant_type") != grantJWT {
		t.Errorf("%+v", r)
	}
	w.EndAccess()
	issued = typeIDToken
	if _, _, err := w.call(c, "", "tools/list"); !w.says(err, "no ID-JAG") {
		t.Error(err)
	}
}

// TestMachineRefused has the authorization server not know the client.
func TestMachineRefused(t *testing.T) {
	w := newWorld(t)
	w.wrong = true
	w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-1"}
	c := w.client(settings(func(s *Settings) {
		s.Flow, s.ClientID, s.ClientSecret = FlowClientCredentials, "known", "s3cr3t-of-another"
	}))
	if _, _, err := w.call(c, "", "tools/list"); !w.says(err, "invalid_client") {
		t.Error(err)
	}
	if n := w.grants(grantClient); n != 1 || !slices.Contains(c.Secrets(), "s3cr3t-of-another") {
		t.Errorf("%d requests for tokens", n)
	}
}
