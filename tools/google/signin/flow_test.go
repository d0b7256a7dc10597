package signin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

func begin(t *testing.T, a *Accounts, o owner) *signin.Flow {
	t.Helper()
	f, err := a.Begin(o.principal, o.service)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// hostOf returns the host, with the port, of the pages of a sign-in.
func hostOf(f *signin.Flow) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(f.URL, "http://"), "/")
	return host
}

// param returns a parameter of an address.
func param(t *testing.T, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

func TestSignIn(t *testing.T) {
	g, a, store := world(t)
	if _, err := a.Token(t.Context(), ann.principal, Gmail); err != ErrNoGrant {
		t.Fatalf("before: %v", err)
	}
	f := begin(t, a, ann)
	if again := begin(t, a, ann); again != f || !strings.HasPrefix(f.URL, "http://127.0.0.1:") {
		t.Errorf("the second sign-in is another one: %q, %q", f.URL, again.URL)
	}
	if other := begin(t, a, owner{ann.principal, Calendar}); other == f {
		t.Error("the services share a sign-in")
	}
	res, page := g.visit(browser(t), "GET", f.URL, nil)
	for _, want := range []string{"Gmail", "ann&lt;b&gt;@example.com", "<strong>ann</strong>", "close this tab"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q: %s", want, page)
		}
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	<-f.Done()
	if err := f.Err(); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	token, err := a.Token(t.Context(), ann.principal, Gmail)
	if err != nil || token.Email != "ann<b>@example.com" || strings.Join(token.Scopes, " ") != "openid email "+mailRead+" "+mailSend || !strings.HasPrefix(token.Access, "ya29.") {
		t.Errorf("%+v, %v", token, err)
	}
	if n := g.requests(); n != 1 {
		t.Errorf("%d token requests", n)
	}
	if _, err := store.Read(owner{ann.principal, Calendar}.entry()); err != nil { // world has one store
		t.Error(err)
	}
	if next := begin(t, a, ann); next.URL == f.URL {
		t.Error("a sign-in that is done is given out again")
	}
}

// TestRejected sends what a sign-in must survive, and then completes it.
func TestRejected(t *testing.T) {
	g, a, _ := world(t)
	f, b := begin(t, a, ann), browser(t)
	begin(t, a, owner{"user:bob", Gmail}) // keeps the listener
	back := g.back(b, f)
	base := "http://" + hostOf(f)
	state := url.QueryEscape(param(t, back, "state"))
	for _, test := range []struct {
		name, method, address string
		client                *http.Client
		header                []string
		status                int
	}{
		{name: "wrong state", address: base + "/callback?code=x<script>y&state=" + strings.Repeat("a", 43), status: 400},
		{name: "no state", address: base + "/callback?code=x<script>y", status: 400},
		{name: "empty state", address: base + "/callback?code=x&state=", status: 400},
		{name: "two states", address: back + "&state=" + state, status: 400},
		{name: "denial with a wrong state", address: base + "/callback?error=access_denied&state=" + state[:42], status: 400},
		{name: "bad query", address: back + "&%zz", status: 400},
		{name: "no code", address: base + "/callback?state=" + state, status: 400},
		{name: "long code", address: base + "/callback?state=" + state + "&code=" + strings.Repeat("a", signin.MaxCode+1), status: 400},
		{name: "another browser", address: back, client: browser(t), status: 403},
		{name: "denial from another browser", address: base + "/callback?error=access_denied&state=" + state, client: browser(t), status: 403},
		{name: "foreign host", address: back, header: []string{"Host", "rebound.example.com"}, status: 421},
		{name: "foreign host with the port", address: f.URL, header: []string{"Host", "localhost" + hostOf(f)[strings.LastIndex(hostOf(f), ":"):]}, status: 421},
		{name: "HEAD", method: "HEAD", address: back, status: 204},
		{name: "HEAD of the start", method: "HEAD", address: f.URL, status: 204},
		{name: "prefetch", address: back, header: []string{"Sec-Purpose", "prefetch;prerender"}, status: 503},
		{name: "old prefetch", address: back, header: []string{"Purpose", "prefetch"}, status: 503},
		{name: "prefetch of the start", address: f.URL, header: []string{"Sec-Purpose", "prefetch"}, status: 503},
		{name: "POST", method: "POST", address: back, status: 405},
		{name: "POST to the start", method: "POST", address: f.URL, status: 405},
		{name: "DELETE", method: "DELETE", address: f.URL, status: 405},
		{name: "encoded path", address: strings.Replace(back, "/callback", "/%63allback", 1), status: 404},
		{name: "longer path", address: strings.Replace(back, "/callback", "/callback/", 1), status: 404},
		{name: "another start", address: base + "/connect/" + strings.Repeat("A", 22), status: 404},
		{name: "no start", address: base + "/connect/", status: 404},
		{name: "favicon", address: base + "/favicon.ico", status: 404},
		{name: "port scan", address: base + "/", status: 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := b
			if test.client != nil {
				client = test.client
			}
			if test.method == "" {
				test.method = "GET"
			}
			res, page := g.visit(stays(client), test.method, test.address, nil, test.header...)
			if res.StatusCode != test.status || !waiting(f) || g.requests() > 0 {
				t.Errorf("%d, want %d; waiting: %v; %d requests: %s", res.StatusCode, test.status, waiting(f), g.requests(), page)
			}
			if strings.Contains(page, "script") || res.Header.Get("Referrer-Policy") != "no-referrer" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%v %s", res.Header, page)
			}
		})
	}
	if res, page := g.visit(b, "GET", back, nil); res.StatusCode != http.StatusOK || !strings.Contains(page, "Signed in") || f.Err() != nil {
		t.Errorf("afterwards: %d %s, %v", res.StatusCode, page, f.Err())
	}
}

// TestSecondTab completes a sign-in in one tab, while and after another does.
func TestSecondTab(t *testing.T) {
	g, a, _ := world(t)
	f, b := begin(t, a, ann), browser(t)
	begin(t, a, owner{"user:bob", Gmail}) // keeps the listener
	first, second := g.back(b, f), g.back(b, f)
	arrived, goOn := make(chan bool), make(chan bool)
	g.set(func() {
		g.before = func(http.ResponseWriter, *http.Request) bool { close(arrived); <-goOn; g.before = nil; return false }
	})
	var tab sync.WaitGroup
	tab.Go(func() {
		if _, page := g.visit(b, "GET", first, nil); !strings.Contains(page, "Signed in") {
			t.Errorf("first tab: %s", page)
		}
	})
	<-arrived
	req, err := http.NewRequestWithContext(t.Context(), "GET", second, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(req.URL) {
		req.AddCookie(c)
	}
	res, err := http.DefaultClient.Do(req) // the stand-in is locked: no page is noted
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("second tab: %v, %v", res, err)
	}
	res.Body.Close()
	close(goOn)
	tab.Wait()
	for _, address := range []string{first, second} {
		if res, page := g.visit(b, "GET", address, nil); res.StatusCode != http.StatusOK || !strings.Contains(page, "already complete") {
			t.Errorf("afterwards: %d %s", res.StatusCode, page)
		}
	}
	if res, page := g.visit(b, "GET", f.URL, nil); res.StatusCode != http.StatusGone || !strings.Contains(page, "over") {
		t.Errorf("the link afterwards: %d %s", res.StatusCode, page)
	}
	if n := g.requests(); n != 1 || f.Err() != nil {
		t.Errorf("%d token requests, %v", n, f.Err())
	}
}

// TestNotGranted has people, Google and networks that end a sign-in without a grant.
func TestNotGranted(t *testing.T) {
	redirect := func(name, value string) func(*google) {
		return func(g *google) {
			g.consent = func(url.Values) url.Values { return url.Values{name: {value}} }
		}
	}
	answer := func(change func(map[string]any)) func(*google) {
		return func(g *google) { g.answer = func(_ url.Values, to map[string]any) { change(to) } }
	}
	status := func(code int, body string) func(*google) {
		return func(g *google) {
			g.before = func(w http.ResponseWriter, r *http.Request) bool {
				http.Error(w, body+r.PostForm.Encode(), code)
				return true
			}
		}
	}
	for name, test := range map[string]struct {
		prepare    func(*google)
		page, want string
	}{
		"denied":           {redirect("error", "access_denied"), "You did not allow it", "not allowed"},
		"policy":           {redirect("error", "admin_policy_enforced"), "administrator", "administrator"},
		"unknown error":    {redirect("error", "<script>alert(1)</script>"), "error was reported by Google", "reported by Google"},
		"stolen code":      {redirect("code", ""), "", ""},
		"no boxes ticked":  {answer(func(to map[string]any) { to["scope"] = "openid email" }), "tick their boxes", "none of the permissions"},
		"no refresh token": {answer(func(to map[string]any) { delete(to, "refresh_token") }), "no refresh token", "no refresh token"},
		"no access token":  {answer(func(to map[string]any) { delete(to, "access_token") }), "no token that can be read", "no token that can be read"},
		"unavailable":      {status(503, "down "), "HTTP 503 from Google&#39;s token endpoint", "HTTP 503 from Google's token endpoint"},
		"a redirect": {func(g *google) {
			g.before = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
				return true
			}
		}, "HTTP 307", "HTTP 307"},
		"not JSON": {status(200, "{"), "no token that can be read", "no token that can be read"},
		"hang up": {func(g *google) {
			g.before = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		}, "connection failed", "connection failed"},
	} {
		t.Run(name, func(t *testing.T) {
			g, a, store := world(t)
			test.prepare(g)
			f, b := begin(t, a, ann), browser(t)
			if name == "stolen code" { // of an attacker, whose verifier is another
				g.set(func() { g.consent = nil })
				other := begin(t, a, owner{"user:mallory", Gmail})
				code := param(t, g.back(browser(t), other), "code")
				redirect := "http://" + hostOf(f) + "/callback"
				g.set(func() { g.codes[code].Set("redirect_uri", redirect) })
				state := param(t, g.back(b, f), "state")
				_, page := g.visit(b, "GET", redirect+"?state="+state+"&code="+url.QueryEscape(code), nil)
				test.page, test.want = "used up", "used up"
				if !strings.Contains(page, test.page) {
					t.Error(page)
				}
			} else if _, page := g.visit(b, "GET", f.URL, nil); !strings.Contains(page, test.page) || strings.Contains(page, "script") {
				t.Errorf("page: %s", page)
			}
			<-f.Done()
			if !g.says(f.Err(), test.want) {
				t.Errorf("%v; want %q", f.Err(), test.want)
			}
			if _, err := store.Read(ann.entry()); err == nil {
				t.Error("a grant is kept")
			}
			if next := begin(t, a, ann); next == f || !waiting(next) {
				t.Error("there is no new sign-in")
			}
		})
	}
}

// TestFewerScopes gives one of the permissions.
func TestFewerScopes(t *testing.T) {
	g, a, _ := world(t)
	g.answer = func(_ url.Values, to map[string]any) { to["scope"] = "openid " + mailRead }
	f := begin(t, a, ann)
	if _, page := g.visit(browser(t), "GET", f.URL, nil); !strings.Contains(page, "send mail") || strings.Contains(page, "search and read") || f.Err() != nil {
		t.Errorf("%s, %v", page, f.Err())
	}
	status, err := a.Status(ann.principal)
	if err != nil || !status[0].SignedIn || len(status[0].Missing) != 1 || status[0].Missing[0] != mailSend {
		t.Errorf("%+v, %v", status, err)
	}
	// An answer without scopes grants what was asked for.
	g.set(func() { g.answer = func(_ url.Values, to map[string]any) { delete(to, "scope") } })
	g.visit(browser(t), "GET", begin(t, a, ann).URL, nil)
	if status, err = a.Status(ann.principal); err != nil || len(status[0].Missing) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestExpires lets a sign-in wait too long, and then closes the listener.
func TestExpires(t *testing.T) {
	g, a, _ := world(t, func(c *Config) { c.Patience, c.Linger = time.Millisecond, time.Millisecond })
	f := begin(t, a, ann)
	<-f.Done()
	if !g.says(f.Err(), "in time") {
		t.Error(f.Err())
	}
	for {
		conn, err := net.Dial("tcp", hostOf(f))
		if err != nil {
			break // it is closed, after a while
		}
		conn.Close()
		if t.Context().Err() != nil {
			t.Fatal("it listens still")
		}
	}
	if next := begin(t, a, ann); next.URL == f.URL {
		t.Error("a sign-in that has expired is given out again")
	}
}

func TestClose(t *testing.T) {
	g, a, _ := world(t)
	f := begin(t, a, ann)
	kept := g.put(a, owner{"user:bob", Gmail}, time.Hour)
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	<-f.Done()
	if !g.says(f.Err(), "shutting down") {
		t.Error(f.Err())
	}
	if conn, err := net.Dial("tcp", hostOf(f)); err == nil {
		conn.Close()
		t.Error("it listens still")
	}
	if _, err := a.Begin(ann.principal, Gmail); !g.says(err, "shutting down") {
		t.Error(err)
	}
	if token, err := a.Token(t.Context(), "user:bob", Gmail); err != nil || token.Access != kept.Grant.Access {
		t.Errorf("%+v, %v", token, err)
	}
}

// TestCloseExchanging closes while Google does not answer.
func TestCloseExchanging(t *testing.T) {
	g, a, _ := world(t)
	f, b := begin(t, a, ann), browser(t)
	back := g.back(b, f)
	arrived := make(chan bool)
	g.before = func(_ http.ResponseWriter, r *http.Request) bool {
		close(arrived)
		g.mu.Unlock()
		<-r.Context().Done()
		g.mu.Lock()
		return true
	}
	var tab sync.WaitGroup
	tab.Go(func() {
		if res, page := g.visit(b, "GET", back, nil); res.StatusCode != http.StatusBadGateway || !strings.Contains(page, "shutting down") {
			t.Errorf("%d %s", res.StatusCode, page) // the page is delivered, since the exchange is canceled
		}
	})
	<-arrived
	if err := a.Close(); err != nil || f.Err() == nil {
		t.Errorf("%v, %v", err, f.Err())
	}
	tab.Wait()
}

// TestManyWait has more sign-ins than may wait.
func TestManyWait(t *testing.T) {
	_, a, _ := world(t)
	for i := range signin.MaxPending {
		begin(t, a, owner{Owner(strings.Repeat("u", i+1)), Gmail})
	}
	f, ok := errors.AsType[*httpcall.Failure](func() error { _, err := a.Begin("one more", Gmail); return err }())
	if !ok || f.Type != "overloaded" {
		t.Errorf("%v", f)
	}
}

// proved has everybody but the person at this machine prove who they are.
func proved(c *Config) {
	c.Prove = func(principal string) func(string) bool {
		if principal == "user:local" {
			return nil
		}
		return func(credential string) bool { return credential == "token of "+principal }
	}
}

// TestSentLink has Alice send Bob the links of her sign-in, so that his mailbox would become hers.
func TestSentLink(t *testing.T) {
	g, a, store := world(t, proved)
	alice := owner{"token:alice", Gmail}
	f := begin(t, a, alice)
	own, bobs := browser(t), browser(t)
	if res, page := g.visit(bobs, "GET", f.URL, nil); res.StatusCode != http.StatusOK || !strings.Contains(page, `type="password"`) || !strings.Contains(page, "alice") {
		t.Errorf("Bob opens the link: %d %s", res.StatusCode, page)
	}
	for _, wrong := range []string{"token of token:bob", "", "token of token:alice\x00"} {
		if res, page := g.visit(bobs, "POST", f.URL, url.Values{"token": {wrong}}); res.StatusCode != http.StatusForbidden || strings.Contains(page, "token of") || len(res.Cookies()) > 0 {
			t.Errorf("Bob enters %q: %d %s", wrong, res.StatusCode, page)
		}
	}
	right := url.Values{"token": {" token of token:alice\n"}}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://attacker.example"}, {"Origin", "null"}} {
		if res, _ := g.visit(bobs, "POST", f.URL, right, header...); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
			t.Errorf("Alice's page in Bob's browser enters her token, %v: %d", header, res.StatusCode)
		}
	}
	res, page := g.visit(own, "POST", f.URL, right, "Sec-Fetch-Site", "same-origin", "Origin", "null")
	if res.StatusCode != http.StatusOK || !strings.Contains(page, `http-equiv="refresh"`) || strings.Contains(page, "token of") {
		t.Fatalf("Alice enters her token: %d %s", res.StatusCode, page)
	}
	if cookies := res.Cookies(); len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("%v", cookies)
	}
	// Alice sends Google's address, which Bob allows: it ends in his browser, without the cookie.
	back := g.back(own, f)
	if res, page := g.visit(bobs, "GET", back, nil); res.StatusCode != http.StatusForbidden || !strings.Contains(page, "another browser") {
		t.Errorf("Bob allows it: %d %s", res.StatusCode, page)
	}
	if _, err := store.Read(alice.entry()); err == nil || g.requests() > 0 || !waiting(f) {
		t.Error("Bob's account is Alice's")
	}
	if _, page := g.visit(own, "GET", back, nil); !strings.Contains(page, "Signed in") {
		t.Errorf("Alice allows it: %s", page)
	}
	local := begin(t, a, owner{"user:local", Gmail})
	if res, _ := g.visit(stays(own), "GET", local.URL, nil); res.StatusCode != http.StatusFound {
		t.Errorf("the person at this machine: %d", res.StatusCode)
	}
}

// TestGuessing enters wrong tokens, many at a time.
func TestGuessing(t *testing.T) {
	var mu sync.Mutex
	checked := 0
	g, a, _ := world(t, func(c *Config) {
		c.Prove = func(string) func(string) bool {
			return func(string) bool { mu.Lock(); defer mu.Unlock(); checked++; return false }
		}
	})
	f := begin(t, a, ann)
	begin(t, a, owner{"user:bob", Gmail}) // keeps the listener
	var guesses sync.WaitGroup
	for range 15 {
		guesses.Go(func() { g.visit(browser(t), "POST", f.URL, url.Values{"token": {"guess"}}) })
	}
	guesses.Wait()
	if checked != signin.MaxTries || !g.says(f.Err(), "too often") {
		t.Errorf("%d guesses were checked; %v", checked, f.Err())
	}
	if next := begin(t, a, ann); next.URL == f.URL {
		t.Error("a sign-in that is over is given out again")
	}
}

// TestPasted pastes what does not belong to a sign-in, and then what does.
func TestPasted(t *testing.T) {
	g, a, store := world(t)
	p, err := a.BeginPaste(ann.principal, Gmail)
	if err != nil {
		t.Fatal(err)
	}
	b := stays(browser(t))
	res, _ := g.visit(b, "GET", p.URL, nil)
	back := res.Header.Get("Location")
	code := param(t, back, "code")
	redirect := param(t, p.URL, "redirect_uri")
	for _, test := range []struct {
		pasted string
		want   error
	}{
		{"", signin.ErrNoAddress}, {code, signin.ErrNoAddress}, {"http://127.0.0.1/callback", signin.ErrNoAddress}, {p.URL, signin.ErrConsent},
		{strings.Replace(back, "/callback", "/other", 1), signin.ErrNoAddress}, {back + "&code=x", signin.ErrNoAddress}, {back + "&state=x", signin.ErrNoAddress},
		{redirect + "?state=" + param(t, p.URL, "state"), signin.ErrNoAddress}, {redirect + "?state=wrong&code=" + url.QueryEscape(code), signin.ErrOther},
		{redirect + "?state=wrong&error=access_denied", signin.ErrOther}, {back + strings.Repeat("a", 3*signin.MaxCode), signin.ErrNoAddress},
	} {
		if err := p.Finish(t.Context(), test.pasted); !errors.Is(err, test.want) || !signin.PasteAgain(err) || !g.says(err, "") {
			t.Errorf("%q: %v; want %v", test.pasted, err, test.want)
		}
	}
	if err := p.Finish(t.Context(), " \""+back+"\"\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Read(ann.entry()); err != nil {
		t.Error(err)
	}
	if err := p.Finish(t.Context(), back); !errors.Is(err, signin.ErrUsed) || signin.PasteAgain(err) || g.requests() != 1 {
		t.Errorf("twice: %v", err)
	}
	if p, err = a.BeginPaste(ann.principal, Gmail); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context(), param(t, p.URL, "redirect_uri")+"?error=access_denied&state="+param(t, p.URL, "state")); !errors.Is(err, errDenied) || signin.PasteAgain(err) {
		t.Errorf("denied: %v", err)
	}
	if p, err = a.BeginPaste(ann.principal, Gmail); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Finish(ended, param(t, p.URL, "redirect_uri")+"?code=4/x&state="+param(t, p.URL, "state")); !g.says(err, "canceled") {
		t.Errorf("canceled: %v", err)
	}
}
