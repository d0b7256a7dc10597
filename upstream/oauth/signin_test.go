package oauth

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// TestSignIn signs in with clients of each kind, and goes on as another process does with the same state.
func TestSignIn(t *testing.T) {
	key, public := newKey(t)
	loopback := []string{"http://127.0.0.1/callback"}
	for name, test := range map[string]struct {
		client   oauth.Client // that is registered beforehand
		settings Settings
		only     []string // methods of authentication that the server supports
		register int
	}{
		"registers itself":                   {register: 1},
		"registers itself with a secret":     {only: []string{"client_secret_basic"}, register: 1},
		"registers itself, secret in form":   {only: []string{"client_secret_post"}, register: 1},
		"registers itself, nothing is known": {only: []string{}, register: 1},
		"preregistered, public":              {client: oauth.Client{Method: "none", Redirects: loopback}, settings: Settings{ClientID: "known"}},
		"preregistered, secret":              {client: oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t &+=/:", Redirects: loopback}, settings: Settings{ClientID: "known", ClientSecret: "s3cr3t &+=/:"}},
		"preregistered, secret in form":      {client: oauth.Client{Method: "client_secret_post", Secret: "s3cr3t-2", Redirects: loopback}, settings: Settings{ClientID: "known", ClientSecret: "s3cr3t-2", AuthMethod: "client_secret_post"}},
		"preregistered, key":                 {client: oauth.Client{Method: "private_key_jwt", Key: public, Redirects: loopback}, settings: Settings{ClientID: "known", PrivateKey: key}},
		"a metadata document":                {settings: Settings{ClientMetadataURL: "https://client.example/client.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.AnyPort, w.Documents = true, test.settings.ClientMetadataURL != ""
			if test.settings.ClientID != "" {
				w.Clients["known"] = test.client
			}
			if test.only != nil {
				w.Change = func(document string, answer map[string]any) {
					if document == "server" {
						answer["token_endpoint_auth_methods_supported"] = test.only
					}
				}
			}
			with := settings(func(s *Settings) { *s = test.settings })
			c := w.client(with)
			_, _, err := w.call(c, "user:ann", "tools/list")
			e := required(t, err)
			if !slices.Equal(e.target.scopes, []string{"read"}) || e.client.command("login") != "toolserver upstream login notes" || !w.says(err, "requires a sign-in") {
				t.Errorf("%+v", e)
			}
			if err := w.signIn(err); err != nil {
				t.Fatal(err)
			}
			w.works(c, "user:ann")
			w.works(c, "user:bob") // they share it
			w.EndAccess()
			other := w.client(with)
			w.works(other, "user:ann")
			if n := w.grants(grantRefresh); n != 1 {
				t.Errorf("%d refreshes", n)
			}
			if n := len(w.Requests("/register")); n != test.register {
				t.Errorf("%d registrations", n)
			}
			if err := other.Logout(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPrincipals has two principals sign in for themselves.
func TestPrincipals(t *testing.T) {
	w := newWorld(t)
	each := settings(func(s *Settings) { s.PerPrincipal = true })
	c := w.client(each)
	if _, _, err := w.call(c, "", "tools/list"); !w.says(err, "sign-in of each caller") {
		t.Errorf("nobody: %v", err)
	}
	w.signedIn(c, "token:ann")
	w.Set(func() { w.User = "bob" })
	_, _, err := w.call(c, "token:bob", "tools/list")
	if err := w.signIn(err); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also after a reload
		for principal, user := range map[string]string{"token:ann": "ann", "token:bob": "bob"} {
			if _, body, err := w.call(c, principal, "tools/list"); !strings.HasPrefix(body, user+" ") {
				t.Errorf("%s uses the grant of %q, %v", principal, body, err)
			}
		}
		c = w.client(each)
	}
	if err := c.Logout(t.Context(), "token:ann"); err != nil {
		t.Error(err)
	}
	if _, body, err := w.call(c, "token:bob", "tools/list"); !strings.HasPrefix(body, "bob ") {
		t.Errorf("the other is signed out, too: %q, %v", body, err)
	}
	_, _, err = w.call(c, "token:ann", "tools/list")
	required(t, err)
	// The grants of each are of no use for all, and the other way round.
	_, _, err = w.call(w.client(), "token:bob", "tools/list")
	required(t, err)
}

// TestCallerToken sends a request that has a token of the caller.
func TestCallerToken(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "user:ann")
	for _, address := range []string{w.URL(), w.Authorization.URL + "/elsewhere"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer of-the-caller")
		var seen []string
		w.Set(func() {
			w.Before = func(_ http.ResponseWriter, r *http.Request) bool {
				seen = append(seen, r.Header.Get("Authorization"))
				return false
			}
		})
		_, _, _ = w.send(c.Transport(""), req)
		w.Set(func() { w.Before = nil })
		if len(seen) != 1 || strings.Contains(seen[0], "of-the-caller") || (address == w.URL()) != strings.HasPrefix(seen[0], "Bearer access-") {
			t.Errorf("%s gets %q", address, seen)
		}
	}
}

// TestRedirect has the upstream send a request elsewhere.
func TestRedirect(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "user:ann")
	var seen []string
	w.Set(func() {
		w.Before = func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" {
				http.Redirect(to, r, w.Authorization.URL+"/steal", http.StatusTemporaryRedirect)
				return true
			}
			seen = append(seen, r.Header.Get("Authorization"))
			return false
		}
	})
	if _, _, err := w.call(c, "", "tools/list"); err != nil || !slices.Equal(seen, []string{""}) {
		t.Errorf("%q, %v", seen, err)
	}
}

// TestStepUp has a request require more scopes than were granted.
func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.Set(func() {
		w.Need = func(method string, _ []byte) []string {
			if method == "tools/call" {
				return []string{"write"}
			}
			return []string{"read"}
		}
	})
	c := w.client()
	w.signedIn(c, "user:ann")
	status, _, err := w.call(c, "user:ann", "tools/call")
	e := required(t, err)
	if !slices.Equal(e.target.scopes, []string{"read", "write"}) || !w.says(err, "lacks the permission write") {
		t.Errorf("%d %+v", status, e)
	}
	// The person does not agree, and is asked again.
	w.Set(func() { w.Grant = func([]string) []string { return []string{"read"} } })
	if err := w.signIn(err); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(""); err != nil || !slices.Equal(s.Missing, []string{"write"}) {
		t.Errorf("%+v, %v", s, err)
	}
	_, _, err = w.call(c, "user:ann", "tools/call")
	w.Set(func() { w.Grant = nil })
	if err := w.signIn(err); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"tools/call", "tools/list"} {
		if status, _, err := w.call(c, "user:ann", method); status != http.StatusOK {
			t.Errorf("%s: %d, %v", method, status, err)
		}
	}
	asked := w.Requests("/authorize")
	if len(asked) != 3 || asked[0].Form.Get("scope") != "read" || asked[2].Form.Get("scope") != "read write" {
		t.Errorf("%+v", asked)
	}
}

// TestNeverEnough has the upstream refuse whatever it is sent.
func TestNeverEnough(t *testing.T) {
	challenge := func(status int, said string) func(http.ResponseWriter, *http.Request) bool {
		return func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/mcp" {
				return false
			}
			to.Header().Set("WWW-Authenticate", said)
			to.WriteHeader(status)
			return true
		}
	}
	for name, test := range map[string]struct {
		status    int
		said      string
		machine   bool
		required  bool // a sign-in
		sent, got int  // requests to the upstream, and its status
	}{
		"scopes that it has":      {403, `Bearer error="insufficient_scope", scope="read"`, false, false, 1, 403},
		"no scopes":               {403, `Bearer error="insufficient_scope"`, false, false, 1, 403},
		"another error":           {403, `Bearer error="forbidden", scope="other"`, false, false, 1, 403},
		"no challenge":            {403, "", false, false, 1, 403},
		"token":                   {401, `Bearer error="invalid_token"`, false, false, 3, 401},
		"token, empty header":     {401, "", false, false, 3, 401},
		"machine, token":          {401, `Bearer error="invalid_token"`, true, false, 3, 401},
		"machine, further scopes": {403, `Bearer error="insufficient_scope", scope="more"`, true, false, 2, 403},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t"}
			c := w.client(settings(func(s *Settings) {
				if test.machine {
					s.ClientID, s.ClientSecret, s.Flow = "known", "s3cr3t", FlowClientCredentials
				}
			}))
			if test.machine {
				if status, body, err := w.call(c, "", "tools/list"); status != 200 || err != nil {
					t.Fatalf("%d %s, %v", status, body, err)
				}
			} else {
				w.signedIn(c, "")
			}
			before := len(w.Requests("/token"))
			sent := 0
			w.Set(func() {
				w.Before = func(to http.ResponseWriter, r *http.Request) bool {
					ended := challenge(test.status, test.said)(to, r)
					if ended {
						sent++
					}
					return ended
				}
			})
			status, _, err := w.call(c, "", "tools/list")
			if status != test.got || err != nil || sent != test.sent || len(w.Requests("/token"))-before > 2 {
				t.Errorf("%d, %v; %d requests, %d for tokens", status, err, sent, len(w.Requests("/token"))-before)
			}
		})
	}
}

// TestAttacks has servers do what a client must not go along with: nothing is sent to the token endpoint.
func TestAttacks(t *testing.T) {
	change := func(document, name string, value any) func(*world) {
		return func(w *world) {
			w.Change = func(d string, answer map[string]any) {
				if d == document {
					if answer[name] = value; value == nil {
						delete(answer, name)
					}
				}
			}
		}
	}
	answer := func(pairs ...string) func(*world) {
		return func(w *world) {
			w.Consent = func(url.Values) url.Values {
				q := url.Values{}
				for pair := range slices.Chunk(pairs, 2) {
					q.Set(pair[0], pair[1])
				}
				return q
			}
		}
	}
	metadata := func(address string) func(*world) {
		return func(w *world) {
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/mcp" {
					return false
				}
				to.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+address+`"`)
				to.WriteHeader(http.StatusUnauthorized)
				return true
			}
		}
	}
	page := func(path, body string) func(*world) {
		return func(w *world) {
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, path) {
					_, _ = to.Write([]byte(body))
				}
				return strings.HasPrefix(r.URL.Path, path)
			}
		}
	}
	const known, server, resource = "/.well-known/", "server", "resource"
	for name, test := range map[string]struct {
		prepare func(*world)
		want    string
	}{
		"another resource":              {change(resource, "resource", "https://evil.example/mcp"), "another resource"},
		"a resource beside":             {change(resource, "resource", "http://127.0.0.1:1/mcp"), "another resource"},
		"no resource":                   {change(resource, "resource", nil), "no resource"},
		"no authorization server":       {change(resource, "authorization_servers", []string{}), "no authorization server"},
		"an issuer over http":           {change(resource, "authorization_servers", []string{"http://as.example"}), "https only"},
		"an issuer with a query":        {change(resource, "authorization_servers", []string{"https://as.example/?x=y"}), "https only"},
		"an issuer that is a file":      {change(resource, "authorization_servers", []string{"file:///etc/passwd"}), "https only"},
		"another issuer":                {change(server, "issuer", "https://honest.example"), "another issuer"},
		"almost the issuer":             {func(w *world) { change(server, "issuer", w.Issuer()+"//")(w) }, "another issuer"},
		"no issuer":                     {change(server, "issuer", nil), "another issuer"},
		"a token endpoint over http":    {change(server, "token_endpoint", "http://as.example/token"), "https only"},
		"a script":                      {change(server, "authorization_endpoint", "javascript:alert(1)"), "https only"},
		"a program":                     {change(server, "authorization_endpoint", "file:///bin/sh"), "https only"},
		"no token endpoint":             {change(server, "token_endpoint", nil), "no token endpoint"},
		"no authorization endpoint":     {change(server, "authorization_endpoint", nil), "no authorization endpoint"},
		"no PKCE":                       {change(server, "code_challenge_methods_supported", nil), "PKCE"},
		"plain PKCE":                    {change(server, "code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"no codes":                      {change(server, "response_types_supported", []string{"token"}), "response type"},
		"no registration":               {change(server, "registration_endpoint", nil), "registers no clients"},
		"registration without an ID":    {change("registration", "client_id", nil), "no client_id"},
		"metadata over http":            {metadata("http://elsewhere.example/prm"), "https only"},
		"metadata that is a file":       {metadata("file:///etc/passwd"), "https only"},
		"metadata too large":            {page(known, `{"x":"`+strings.Repeat("a", maxAnswer)+`"}`), "more than 1048576 bytes"},
		"metadata that is a page":       {page(known, "<html>"), "no JSON"},
		"metadata of another form":      {page(known, `{"resource":["x"]}`), "no JSON"},
		"no iss":                        {answer("code", "x", "iss", ""), "does not say that it is of"},
		"another iss":                   {answer("code", "x", "iss", "https://evil.example"), "another authorization server"},
		"almost the iss":                {func(w *world) { answer("code", "x", "iss", w.Issuer()+"/")(w) }, "another authorization server"},
		"an error with another iss":     {answer("error", "PHISH", "error_description", "PHISH", "iss", "https://evil.example"), "another authorization server"},
		"an error":                      {answer("error", "invalid_scope", "error_description", "no\x1b[31m\n such <b>scope</b>"), `invalid_scope: it says "no[31m such <b>scope</b>"`},
		"denied":                        {answer("error", "access_denied"), "not allowed on"},
		"a type that is not configured": {change("token", "token_type", "DPoP"), "of type DPoP"},
		"no token":                      {change("token", "access_token", nil), "no access token"},
		"a token error, status 200": {func(w *world) {
			w.Change = func(document string, answer map[string]any) {
				if document == "token" {
					clear(answer)
					answer["error"], answer["error_description"] = "bad_verification_code", "The code is incorrect."
				}
			}
		}, `bad_verification_code: it says "The code is incorrect"`},
		"a token that is two headers": {change("token", "access_token", "a\r\nHost: evil.example"), "no access token"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.wrong = true // a code that is made up
			test.prepare(w)
			c := w.client()
			c.answer = time.Minute
			_, _, err := w.call(c, "user:ann", "tools/list")
			if _, ok := errors.AsType[*SignInRequired](err); ok {
				err = w.signIn(err)
			}
			if !w.says(err, test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
			if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Hint == "" {
				t.Error("there is no hint")
			}
			if n := len(w.Requests("/token")); n > 0 && !strings.Contains(name, "token") && !strings.Contains(name, "type") {
				t.Errorf("%d requests for tokens", n)
			}
			for _, text := range w.shown {
				if strings.Contains(text, "PHISH") {
					t.Errorf("shown: %s", text)
				}
			}
			if s, err := c.Status(""); s.SignedIn || err != nil {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// TestMixUp has two upstreams, of which one sends people on to the authorization server of the other, to get its code.
func TestMixUp(t *testing.T) {
	honest, evil := newWorld(t), newWorld(t)
	evil.wrong = true
	c := evil.client()
	evil.Set(func() {
		evil.Clients["x"] = oauth.Client{}
		evil.Consent = func(url.Values) url.Values {
			return url.Values{"code": {"code-of-the-honest-server"}, "iss": {honest.Issuer()}}
		}
	})
	_, _, err := evil.call(c, "", "tools/list")
	if err := evil.signIn(err); !evil.says(err, "another authorization server") || len(evil.Requests("/token")) > 0 {
		t.Errorf("%v", err)
	}
}

// TestShown has servers repeat what they are sent.
func TestShown(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "")
	w.EndAccess()
	w.Set(func() {
		w.Before = func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/token" {
				return false
			}
			_ = r.ParseForm()
			to.WriteHeader(http.StatusBadRequest)
			_, _ = to.Write([]byte(`{"error":"invalid_request","error_description":"` + r.PostForm.Get("refresh_token") + ` is odd; ` + strings.Repeat("x", 1000) + `"}`))
			return true
		}
	})
	_, _, err := w.call(c, "", "tools/list")
	f, ok := errors.AsType[*httpcall.Failure](err)
	if !ok || !w.says(f, `invalid_request: it says "[hidden] is odd; xxx`) || len(f.Message) > 400 {
		t.Errorf("%v", err)
	}
	var kept []string
	for _, s := range w.Secrets() {
		if strings.HasPrefix(s, "refresh-") || strings.HasPrefix(s, "access-") {
			kept = append(kept, s)
		}
	}
	for _, s := range kept {
		if !slices.Contains(c.Secrets(), s) {
			t.Errorf("%s is not redacted", s)
		}
	}
}

// TestWaits lets sign-ins end in other ways than with a grant, and begins again.
func TestWaits(t *testing.T) {
	w := newWorld(t)
	c := w.client(func(c *Config) { c.Patience = time.Millisecond })
	_, _, err := w.call(c, "", "tools/list")
	e := required(t, err)
	flow, err := e.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if <-flow.Done(); !w.says(flow.Err(), "in time") {
		t.Error(flow.Err())
	}
	c = w.client()
	_, _, err = w.call(c, "", "tools/list")
	e = required(t, err)
	first, err := e.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Begin(canceled(t)); again != first || err != nil {
		t.Errorf("another sign-in: %v", err)
	}
	if err := w.finish(first); err != nil {
		t.Error(err)
	}
	w.works(c, "")
	third, err := c.SignIn(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if <-third.Done(); !w.says(third.Err(), "shutting down") {
		t.Error(third.Err())
	}
	w.works(c, "") // grants can still be used
	if _, err := c.SignIn(t.Context(), ""); !w.says(err, "shutting down") {
		t.Error(err)
	}
}

// TestPaste signs in on a machine without a browser.
func TestPaste(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	p, err := c.Paste(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	browser := newBrowser(t)
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := browser.Get(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	back := res.Header.Get("Location")
	if err := p.Finish(t.Context(), "http://127.0.0.1/callback?code=x&state=y"); !signin.PasteAgain(err) {
		t.Error(err)
	}
	if err := p.Finish(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	w.works(c, "")
	if err := p.Finish(t.Context(), back); err != signin.ErrUsed {
		t.Error(err)
	}
}

// TestPort leads sign-ins back to the port that a client was registered with, and registers another where that is taken.
func TestPort(t *testing.T) {
	w := newWorld(t)
	redirect := func() string {
		c := w.client()
		_ = c.Logout(t.Context(), "")
		_, _, err := w.call(c, "", "tools/list")
		if err := errors.Join(w.signIn(err), c.Close()); err != nil {
			t.Fatal(err)
		}
		asked := w.Requests("/authorize")
		return asked[len(asked)-1].Form.Get("redirect_uri")
	}
	first := redirect()
	second := redirect() // the same, unless somebody has taken the port meanwhile
	if n := len(w.Requests("/register")); (first == second) != (n == 1) {
		t.Errorf("%s, then %s: %d registrations", first, second, n)
	}
	u, err := url.Parse(second)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", u.Host)
	if err != nil {
		t.Skip("somebody has taken the port")
	}
	defer l.Close()
	before := len(w.Requests("/register"))
	if third := redirect(); third == second || len(w.Requests("/register")) != before+1 {
		t.Errorf("%s, although that is taken", third)
	}
}

// TestForgotten has the authorization server forget the client that had registered itself.
func TestForgotten(t *testing.T) {
	w := newWorld(t)
	w.wrong = true // it uses the client that was forgotten
	c := w.client(func(c *Config) { c.Patience = 100 * time.Millisecond })
	w.signedIn(w.client(), "")
	w.EndGrants()
	w.Set(func() { clear(w.Clients) })
	_, _, err := w.call(c, "", "tools/list")
	flow, err := required(t, err).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-flow.Done() // the person gets no further than an error page
	again := w.client()
	for { // what is done after a sign-in is done in the background
		if _, err := again.clients.kept.Read(again.name("client", w.Issuer())); err != nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the registration is kept")
		}
	}
	w.signedIn(again, "")
	w.Set(func() { clear(w.Clients) })
	flow, err = again.SignIn(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.finish(flow); err != nil {
		t.Error(err)
	}
}
