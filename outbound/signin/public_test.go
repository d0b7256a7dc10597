package signin

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// TestPastePublic pastes the address that a browser ends at on the public pages of a server.
func TestPastePublic(t *testing.T) {
	redirect := Host{PublicURL: "https://tools.example.com/a/"}.Unused(0)
	if redirect != "https://tools.example.com/a/connect/callback" {
		t.Errorf("the redirect is %s", redirect)
	}
	var got Answer
	p := Paste(redirect, Request{
		Consent:  func(redirect, state string) string { return redirect + "?state=" + state },
		Complete: func(_ context.Context, a Answer) (Done, error) { got = a; return Done{}, nil },
	})
	if err := p.Finish(t.Context(), p.URL+"&code=c"); err != nil || got.Code != "c" || got.Redirect != redirect {
		t.Errorf("%+v, %v", got, err)
	}
}

// visit sends a request to pages and returns the answer.
func visit(p *Pages, method, address string, form url.Values, cookies []*http.Cookie, header ...string) *http.Response {
	r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	if !p.Serve(w, r) {
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result()
}

// TestPublicPages has two desks conduct sign-ins on the pages of one server, which others try to take part in.
func TestPublicPages(t *testing.T) {
	p := NewPages("https://tools.example.com")
	host := Host{Public: func() *Pages { return p }, Prove: func(principal string) func(string) bool {
		return func(token string) bool { return token == "token of "+principal }
	}}
	completed := map[string]int{}
	begin := func(d *Desk, caller string) *Flow {
		f, err := d.Begin(Request{
			Key: caller, Title: "x", Provider: "as.example", Principal: caller, Caller: caller,
			Consent:  func(redirect, state string) string { return "https://as.example/?state=" + state },
			Complete: func(context.Context, Answer) (Done, error) { completed[caller]++; return Done{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two := New(Config{For: "one", Host: host}), New(Config{For: "two", Host: host})
	ann, bob := begin(one, "ann"), begin(two, "bob")
	defer two.Close()
	if !ann.Public || !strings.HasPrefix(ann.URL, "https://tools.example.com/connect/") || ann.redirect != "https://tools.example.com/connect/callback" {
		t.Errorf("%s, back to %s", ann.URL, ann.redirect)
	}
	enter := func(f *Flow, token string, header ...string) *http.Response {
		return visit(p, "POST", f.URL, url.Values{"token": {token}}, nil, header...)
	}
	own := []string{"Origin", "https://tools.example.com"}
	for name, res := range map[string]*http.Response{
		"bob's token":     enter(ann, "token of bob", own...),
		"another page":    enter(ann, "token of ann", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"),
		"without a token": enter(ann, "", own...),
		"no cookie":       visit(p, "GET", ann.redirect+"?code=c&state="+ann.state, nil, nil),
	} {
		if res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
			t.Errorf("%s: %d, %v", name, res.StatusCode, res.Cookies())
		}
	}
	bobs := enter(bob, "token of bob", append(own, "Host", "127.0.0.1:8080")...).Cookies() // which a proxy has changed
	if len(bobs) != 1 || !strings.HasPrefix(bobs[0].Name, "__Host-") || !bobs[0].Secure || !bobs[0].HttpOnly || bobs[0].Path != "/" || bobs[0].Domain != "" {
		t.Fatalf("cookies: %v", bobs)
	}
	// Neither his cookie nor his under the name of hers completes her sign-in.
	forged := *bobs[0]
	forged.Name = ann.cookieName()
	for _, c := range []*http.Cookie{bobs[0], &forged} {
		if res := visit(p, "GET", ann.redirect+"?code=c&state="+ann.state, nil, []*http.Cookie{c}); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", c.Name, res.StatusCode)
		}
	}
	if len(completed) > 0 || ann.over() || bob.over() {
		t.Errorf("completed: %v", completed)
	}
	anns := enter(ann, "token of ann", own...).Cookies()
	if res := visit(p, "GET", ann.redirect+"?code=c&state="+ann.state, nil, anns); res.StatusCode != http.StatusOK || completed["ann"] != 1 || !ann.over() {
		t.Errorf("ann: %d, %v", res.StatusCode, completed)
	}
	// The desk of one ends without the other.
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if res := visit(p, "GET", bob.redirect+"?code=c&state="+bob.state, nil, bobs); res.StatusCode != http.StatusOK || completed["bob"] != 1 {
		t.Errorf("bob: %d, %v", res.StatusCode, completed)
	}
	res := visit(p, "GET", ann.URL, nil, anns)
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusGone || !strings.Contains(string(body), "is over") {
		t.Errorf("afterwards: %d %s", res.StatusCode, body)
	}
	for _, path := range []string{"/", "/mcp", "/callback/", "/start", "/.well-known/x"} {
		if res := visit(p, "GET", "https://tools.example.com"+path, nil, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestPagesAtOnce begins sign-ins while browsers ask for others.
func TestPagesAtOnce(t *testing.T) {
	p := NewPages("https://tools.example")
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 500 {
				f := &Flow{ID: Secret(8), done: make(chan struct{})}
				p.keep(f)
				if close(f.done); p.find(func(other *Flow) bool { return Same(other.ID, "none") }) != nil {
					t.Error("found another")
				}
			}
		})
	}
	running.Wait()
	if len(p.flows) > 2*MaxPending {
		t.Errorf("%d sign-ins are kept", len(p.flows))
	}
}
