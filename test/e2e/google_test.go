//go:build linux

package e2e

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// The accounts of the stand-in.
const (
	alice = "alice@example.com"
	bob   = "bob@example.com"
)

// googleSecret is the client secret.
const googleSecret = "test-secret-of-the-client"

// googleGround is where servers work whose Google is a stand-in.
type googleGround struct {
	*ground
	google *fake.Fake
	at     *standIn
	file   string
}

// newGoogleGround has accounts for alice and bob. Settings are more of the configuration; of the section google, members of
// the flow style.
func newGoogleGround(t *testing.T, who account, section, settings string) *googleGround {
	t.Helper()
	f, err := fake.New(fake.Options{ClientSecret: googleSecret})
	must(t, err)
	for _, email := range []string{alice, bob} {
		f.AddUser(fake.User{Email: email, TimeZone: "Europe/London", TestUser: true})
	}
	t.Cleanup(func() {
		if v := f.Violations(); len(v) > 0 {
			t.Errorf("requests or answers that break the discovery documents: %q", v)
		}
	})
	g := &googleGround{ground: newGround(t, who), google: f, at: newStandIn(t, f)}
	g.file = filepath.Join(g.dir, "config.yaml")
	g.set(section, settings)
	return g
}

// set configures servers of the ground.
func (g *googleGround) set(section, settings string) {
	g.t.Helper()
	if section != "" {
		section = ", " + section
	}
	g.configure(g.file, opened(g.at)+fmt.Sprintf("google: {client_id: test-client, client_secret: %s, base_url: '%s'%s}\n", googleSecret, g.at.url, section)+settings)
}

// serve starts a server for a client that cannot be asked.
func (g *googleGround) serve() *box {
	g.t.Helper()
	return g.open(setup{file: g.file})
}

// command runs a command of the program and returns what it prints, and its exit code.
func (g *googleGround) command(args ...string) (text string, code int) {
	g.t.Helper()
	return g.run(setup{file: g.file, command: args})
}

// visitor is a person with a browser.
type visitor struct {
	t      *testing.T
	client *http.Client
}

func newVisitor(t *testing.T) *visitor {
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &visitor{t, &http.Client{Jar: jar, Timeout: patience}}
}

// visited is a page that a browser has shown.
type visited struct {
	text   string
	status int
	at     *url.URL
}

func (v *visitor) read(res *http.Response, err error) visited {
	v.t.Helper()
	must(v.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(v.t, err)
	return visited{string(b), res.StatusCode, res.Request.URL}
}

func (v *visitor) open(address string) visited {
	v.t.Helper()
	return v.read(v.client.Get(address))
}

var (
	consentField = regexp.MustCompile(`name="request" value="([^"]*)"`)
	consentScope = regexp.MustCompile(`name="scope" value="([^"]*)"`)
)

// decides answers the consent page as account, which lets the browser go back. Without scopes everything is allowed that was
// asked for.
func (v *visitor) decides(consent visited, account, decision string, scopes ...string) visited {
	v.t.Helper()
	found := consentField.FindStringSubmatch(consent.text)
	if consent.status != http.StatusOK || found == nil {
		v.t.Fatalf("no consent page: %d: %s", consent.status, consent.text)
	}
	form := url.Values{"request": {html.UnescapeString(found[1])}, "account": {account}, "decision": {decision}, "scope": scopes}
	if scopes == nil {
		for _, s := range consentScope.FindAllStringSubmatch(consent.text, -1) {
			form.Add("scope", html.UnescapeString(s[1]))
		}
	}
	return v.read(v.client.PostForm(consent.at.ResolveReference(&url.URL{Path: fake.AuthPath}).String(), form))
}

// allows signs in as account from the address of a sign-in.
func (v *visitor) allows(address, account string, scopes ...string) visited {
	v.t.Helper()
	return v.decides(v.open(address), account, "allow", scopes...)
}

var signInAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/connect/[\w-]+`)

// address returns that of a sign-in in a text.
func (g *googleGround) address(text string) string {
	g.t.Helper()
	found := signInAddress.FindString(text)
	if found == "" {
		g.t.Fatalf("no address to sign in: %s", text)
	}
	return found
}

// signIn signs in to both services, as somebody does whose client cannot ask.
func (g *googleGround) signIn(b *box, account string) {
	g.t.Helper()
	for _, tool := range []string{"gmail_search", "calendar_list_events"} {
		args := map[string]any{}
		if tool == "gmail_search" {
			args["query"] = "x"
		}
		o := b.call(tool, args)
		if o.errorType != "sign_in_required" {
			g.t.Fatalf("%s: %v", tool, o)
		}
		if p := newVisitor(g.t).allows(g.address(o.text), account); !strings.Contains(p.text, account) {
			g.t.Fatalf("the page does not name the account: %s", p.text)
		}
	}
}
