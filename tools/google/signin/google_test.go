package signin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

const (
	mailRead = "https://www.googleapis.com/auth/gmail.readonly"
	mailSend = "https://www.googleapis.com/auth/gmail.send"

	clientID     = "client.apps.example"
	clientSecret = "GOCSPX-very-secret"
)

// google is a small stand-in for Google's OAuth server.
type google struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	codes   map[string]url.Values // the requests they were given for
	refresh map[string]bool       // refresh tokens that are valid
	n       int                   // tokens given
	tokens  []url.Values          // requests to the token endpoint
	revoked []string

	consent func(q url.Values) url.Values                             // what the redirect has; nil for a code
	answer  func(form url.Values, to map[string]any)                  // changes an answer of the token endpoint
	before  func(w http.ResponseWriter, r *http.Request) (ended bool) // is called before the token endpoint answers
	secrets []string
	shown   []string // that must have no secret
}

func newGoogle(t *testing.T) *google {
	g := &google{t: t, codes: map[string]url.Values{}, refresh: map[string]bool{}, secrets: []string{clientSecret}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /o/oauth2/v2/auth", g.auth)
	mux.HandleFunc("POST /token", g.token)
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.before != nil && g.before(w, r) {
			return
		}
		g.revoked = append(g.revoked, r.PostFormValue("token"))
		g.refresh[r.PostFormValue("token")] = false
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		g.Close()
		for _, text := range g.shown {
			for _, secret := range g.secrets {
				if strings.Contains(text, secret) {
					t.Errorf("a secret is shown: %q has %q", text, secret)
				}
			}
		}
	})
	return g
}

// secret makes a text that must not be shown.
func (g *google) secret(kind string) string {
	g.n++
	s := fmt.Sprintf("%s-secret-%d", kind, g.n)
	g.secrets = append(g.secrets, s)
	return s
}

// show notes what people get to see.
func (g *google) show(text string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown = append(g.shown, text)
	return text
}

// says notes an error, and reports whether it has a text.
func (g *google) says(err error, want string) bool {
	return err != nil && strings.Contains(g.show(err.Error()), want)
}

func (g *google) auth(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": clientID, "access_type": "offline", "prompt": "consent", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			g.t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if len(q.Get("state")) < 43 || len(q.Get("code_challenge")) != 43 || q.Has("include_granted_scopes") || q.Has("login_hint") {
		g.t.Errorf("request for consent: %v", q)
	}
	answer := url.Values{"code": {g.secret("4/code")}}
	if g.consent != nil {
		answer = g.consent(q)
	}
	answer.Set("state", q.Get("state"))
	if answer.Has("code") {
		g.codes[answer.Get("code")] = q
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (g *google) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		g.t.Error(err)
	}
	g.tokens = append(g.tokens, r.PostForm)
	if g.before != nil && g.before(w, r) {
		return
	}
	if r.PostForm.Get("client_id") != clientID || r.PostForm.Get("client_secret") != clientSecret {
		refuse(w, http.StatusUnauthorized, "invalid_client", r)
		return
	}
	scope := mailRead + " " + mailSend
	answer := map[string]any{"access_token": g.secret("ya29.access"), "token_type": "Bearer", "expires_in": 3599}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked := g.codes[r.PostForm.Get("code")]
		delete(g.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if asked == nil || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(w, http.StatusBadRequest, "invalid_grant", r)
			return
		}
		g.secrets = append(g.secrets, r.PostForm.Get("code_verifier"))
		refresh := g.secret("1//refresh")
		g.refresh[refresh] = true
		scope = asked.Get("scope")
		claims := base64.RawURLEncoding.EncodeToString([]byte(`{"email":"ann<b>@example.com"}`))
		answer["refresh_token"], answer["id_token"] = refresh, "e30."+claims+".c2ln"
	default:
		if !g.refresh[r.PostForm.Get("refresh_token")] {
			refuse(w, http.StatusBadRequest, "invalid_grant", r)
			return
		}
	}
	answer["scope"] = scope
	if g.answer != nil {
		g.answer(r.PostForm, answer)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// refuse answers with an error that repeats what was sent, as a hostile server could.
func refuse(w http.ResponseWriter, status int, code string, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": r.PostForm.Encode()})
}

// requests returns how many requests the token endpoint has had.
func (g *google) requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tokens)
}

// set changes how the stand-in behaves.
func (g *google) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// accountsOn returns accounts with a store, whose Google is at base.
func accountsOn(t *testing.T, base string, store signin.Store, changes ...func(*Config)) *Accounts {
	t.Helper()
	c := Config{
		ClientID: clientID, ClientSecret: clientSecret, BaseURL: base,
		HTTP:   func(Service) *http.Client { return &http.Client{} },
		Store:  func(Service) signin.Store { return store },
		Scopes: func(Service) []string { return []string{mailRead, mailSend} },
	}
	for _, change := range changes {
		change(&c)
	}
	a := New(c)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// fileStore is a store of files.
func fileStore(state *sandbox.State, passphrase string) signin.Store {
	return signin.NewStore(signin.StoreConfig{
		Keeping: signin.Keeping{Key: passphrase}, State: state, Forget: "toolserver auth google revoke",
	})
}

func (a *Accounts) stored(o owner) (*grant, error) {
	return a.grants[o.service].Read(string(o.principal))
}
func (a *Accounts) save(o owner, g *grant) error {
	return a.grants[o.service].Save(string(o.principal), g)
}

// world is a stand-in with accounts that are kept in files.
func world(t *testing.T, changes ...func(*Config)) (*google, *Accounts, signin.Store) {
	t.Helper()
	g := newGoogle(t)
	store := fileStore(sandbox.NewState(filepath.Join(t.TempDir(), "state"), "google"), "")
	return g, accountsOn(t, g.URL, store, changes...), store
}

// put keeps a grant whose access token has a time to live.
func (g *google) put(a *Accounts, o owner, life time.Duration) *grant {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := &grant{
		ClientID: clientID, Email: "ann@example.com", Grant: signin.Grant{
			Principal: string(o.principal), Scopes: []string{mailRead}, Access: g.secret("ya29.access"), Refresh: g.secret("1//refresh"), Expiry: time.Now().Add(life),
		},
	}
	g.refresh[kept.Grant.Refresh] = true
	if err := a.save(o, kept); err != nil {
		g.t.Fatal(err)
	}
	return kept
}

// browser is a client with cookies.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
}

// stays makes a copy of a browser that follows no redirects.
func stays(c *http.Client) *http.Client {
	return &http.Client{Jar: c.Jar, Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit sends a request and returns the answer with the page. Form is posted; header are pairs.
func (g *google) visit(c *http.Client, method, address string, form url.Values, header ...string) (*http.Response, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		g.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for pair := range slices.Chunk(header, 2) {
		if req.Header.Set(pair[0], pair[1]); pair[0] == "Host" {
			req.Host = pair[1]
		}
	}
	res, err := c.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res, g.show(string(body))
}

// back lets a browser go to Google, and returns the address that it is sent back to without visiting it.
func (g *google) back(c *http.Client, f *signin.Flow) string {
	g.t.Helper()
	c = stays(c)
	start, _ := g.visit(c, "GET", f.URL, nil)
	consent, _ := g.visit(c, "GET", start.Header.Get("Location"), nil)
	return consent.Header.Get("Location")
}

// waiting reports whether a sign-in still waits.
func waiting(f *signin.Flow) bool {
	select {
	case <-f.Done():
		return false
	default:
		return true
	}
}
