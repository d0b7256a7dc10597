package oauth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// TestIssuerSlash signs in where the authorization server is called with a slash at its end by some, and without by others.
func TestIssuerSlash(t *testing.T) {
	for name, slash := range map[string]struct{ resource, server, iss, configured string }{
		"the upstream":              {resource: "/"},
		"the server":                {server: "/", iss: "/"},
		"the settings":              {configured: "/"},
		"the settings and upstream": {configured: "/", resource: "/"},
		"all but the settings":      {resource: "/", server: "/", iss: "/", configured: "-"},
		"the server, not in iss":    {server: "/"},
		"iss only":                  {iss: "/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Change = func(document string, answer map[string]any) {
				switch document {
				case "resource":
					answer["authorization_servers"] = []string{w.Issuer() + slash.resource}
				case "server":
					answer["issuer"] = w.Issuer() + slash.server
				}
			}
			w.Names = w.Issuer() + slash.iss
			with := func(*Config) {}
			if slash.configured != "" {
				with = settings(func(s *Settings) { s.Issuer = w.Issuer() + strings.Trim(slash.configured, "-") })
			}
			c := w.client(with)
			if slash.iss != slash.server { // which the protocol compares as they are
				_, _, err := w.call(c, "", "tools/list")
				if err := w.signIn(err); !w.says(err, "another authorization server") {
					t.Error(err)
				}
				return
			}
			w.signedIn(c, "")
			w.EndAccess()
			w.works(w.client(with), "") // which refreshes it
			if n := w.grants(grantRefresh); n != 1 {
				t.Errorf("%d refreshes", n)
			}
		})
	}
	for _, pair := range [][2]string{
		{"https://as.example", "https://as.example//"}, {"https://as.example", "https://AS.example"}, {"https://as.example", "https://as.example:443"},
		{"https://as.example/a", "https://as.example/a//"}, {"https://as.example/a", "https://as.example/A"}, {"https://as.example/a", "https://as.example"},
		{"https://as.example", "http://as.example/"}, {"https://as.example", ""},
	} {
		if sameIssuer(pair[0], pair[1]) || sameIssuer(pair[1], pair[0]) {
			t.Errorf("%q and %q are taken for one server", pair[0], pair[1])
		}
	}
}

// TestRedirectedDocuments follows redirects of documents at the same server, and no others.
func TestRedirectedDocuments(t *testing.T) {
	const document = "/.well-known/oauth-authorization-server"
	for name, test := range map[string]struct {
		to   func(w *world, path string) string // the empty string serves it
		want string
	}{
		"once": {func(w *world, path string) string {
			if path == document {
				return "/meta" + document
			}
			return ""
		}, ""},
		"with its host": {func(w *world, path string) string {
			if path == document {
				return w.Issuer() + "/meta" + document
			}
			return ""
		}, ""},
		"for ever":        {func(w *world, path string) string { return path + "/x" }, "has no metadata: HTTP 302"},
		"to another":      {func(*world, string) string { return "https://evil.example/meta" }, "a redirect to evil.example"},
		"to the upstream": {func(w *world, _ string) string { return w.Resource.URL + "/meta" }, "a redirect to 127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, document) || "http://"+r.Host != w.Issuer() {
					return false
				}
				at := test.to(w, r.URL.Path)
				if r.URL.Path = strings.TrimPrefix(r.URL.Path, "/meta"); at == "" {
					return false
				}
				http.Redirect(to, r, at, http.StatusFound)
				return true
			}
			c := w.client()
			_, _, err := w.call(c, "", "tools/list")
			if test.want != "" {
				if f, ok := errors.AsType[*httpcall.Failure](err); !ok || !w.says(err, test.want) || strings.Contains(f.Hint, "later") {
					t.Errorf("%v, %+v; want %q", err, f, test.want)
				}
				return
			}
			if err := w.signIn(err); err != nil {
				t.Error(err)
			}
			w.works(c, "")
		})
	}
}

// TestRedirectedToken has the token endpoint redirect: the code goes nowhere else.
func TestRedirectedToken(t *testing.T) {
	w := newWorld(t)
	w.Before = func(to http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			http.Redirect(to, r, "/token2", http.StatusTemporaryRedirect)
		}
		if r.URL.Path == "/token2" {
			t.Error("it was followed")
		}
		return r.URL.Path == "/token"
	}
	_, _, err := w.call(w.client(), "", "tools/list")
	if err := w.signIn(err); !w.says(err, "HTTP 307") {
		t.Error(err)
	}
}

// TestFinal has servers refuse for good: nobody is told to try again.
func TestFinal(t *testing.T) {
	for name, test := range map[string]struct {
		path   string
		status int
		body   string
		hint   string
	}{
		"the metadata that a challenge names": {"/.well-known/oauth-protected-resource/mcp", 404, "", "Report it"},
		"a registration":                      {"/register", 403, "Forbidden", "set client_id"},
		"a registration, with a reason":       {"/register", 400, `{"error":"invalid_redirect_uri"}`, "redirect URI http://127.0.0.1/callback (with any port"},
		"a registration that is not there":    {"/register", 404, "", "set client_id"},
		"a registration that fails now":       {"/register", 503, "", "Try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != test.path {
					return false
				}
				to.WriteHeader(test.status)
				_, _ = to.Write([]byte(test.body))
				return true
			}
			_, _, err := w.call(w.client(), "", "tools/list")
			if _, ok := errors.AsType[*SignInRequired](err); ok {
				err = w.signIn(err)
			}
			if f, ok := errors.AsType[*httpcall.Failure](err); !ok || !strings.Contains(f.Hint, test.hint) || test.status != 503 && strings.Contains(f.Hint, "later") {
				t.Errorf("%v, %+v; want %q", err, f, test.hint)
			}
		})
	}
}

// TestOldServer has an upstream of protocol version 2025-03-26, which is its own authorization server and says so at its root only.
func TestOldServer(t *testing.T) {
	d := &documents{at: map[string]string{
		"https://m.example/.well-known/oauth-authorization-server": `{"issuer":"https://m.example/","token_endpoint":"https://m.example/token"}`,
	}}
	c := remote(t, "https://m.example/a/mcp", d)
	r, err := c.discovery.resource(t.Context(), "", true)
	if err != nil || r.Resource != "https://m.example/a/mcp" || len(r.Issuers) != 1 || r.Issuers[0] != "https://m.example" {
		t.Errorf("%+v, %v", r, err)
	}
	if as, err := c.discovery.server(t.Context(), r.Issuers[0], false); err != nil || as.Token != "https://m.example/token" || as.Issuer != "https://m.example/" {
		t.Errorf("%+v, %v", as, err)
	}
}

// TestRefreshedOnceMore has the authorization server fail once, or the connection drop before it answers (0).
func TestRefreshedOnceMore(t *testing.T) {
	for _, status := range []int{0, 500, 502, 503} {
		w := newWorld(t)
		c := w.client()
		w.signedIn(c, "")
		w.EndAccess()
		failed := 0
		w.Set(func() {
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/token" || failed > 0 {
					return false
				}
				if failed++; status == 0 {
					panic(http.ErrAbortHandler)
				}
				to.WriteHeader(status)
				return true
			}
		})
		w.works(c, "")
		if n := w.grants(grantRefresh); n != 1 || failed != 1 {
			t.Errorf("%d: %d refreshes", status, n)
		}
		if status == 0 {
			continue
		}
		// It is not waited for who asks for a long pause.
		w.EndAccess()
		w.Set(func() {
			w.Before = func(to http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					failed++
					to.Header().Set("Retry-After", "20")
					to.WriteHeader(status)
				}
				return r.URL.Path == "/token"
			}
		})
		if _, _, err := w.call(c, "", "tools/list"); err == nil || failed != 2 {
			t.Errorf("%d: %d tries, %v", status, failed-1, err)
		}
	}
}
