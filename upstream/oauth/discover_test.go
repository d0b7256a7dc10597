package oauth

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox"
)

// documents answers requests with what is at an address, and notes them.
type documents struct {
	at    map[string]string
	asked []string
}

func (d *documents) RoundTrip(req *http.Request) (*http.Response, error) {
	address := req.URL.String()
	d.asked = append(d.asked, address)
	body, ok := d.at[address]
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}
	if !ok {
		res.StatusCode = http.StatusNotFound
	}
	return res, nil
}

// remote returns a client of an upstream that is not on this machine.
func remote(t *testing.T, address string, d *documents, changes ...func(*Config)) *Client {
	t.Helper()
	config := Config{Upstream: "notes", URL: address, HTTP: d, State: sandbox.NewState(filepath.Join(t.TempDir(), "state"), "upstream")}
	for _, change := range changes {
		change(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestResourcePlaces looks for the metadata of upstreams.
func TestResourcePlaces(t *testing.T) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	for _, test := range []struct {
		name, url, metadata string
		at, resource        string // where it is, and of what
		asked               []string
		want                string // a part of the error
	}{
		{"named", "https://m.example/mcp", "https://m.example/prm.json", "https://m.example/prm.json", "https://m.example/mcp", []string{"https://m.example/prm.json"}, ""},
		{"named, and not there", "https://m.example/mcp", "https://m.example/prm.json", "https://m.example" + wellKnown, "https://m.example", []string{"https://m.example/prm.json"}, "HTTP 404"},
		{"at the path", "https://m.example/a/mcp", "", "https://m.example" + wellKnown + "/a/mcp", "https://m.example/a/mcp", []string{"https://m.example" + wellKnown + "/a/mcp"}, ""},
		{"at the path, without the slash", "https://m.example/mcp/", "", "https://m.example" + wellKnown + "/mcp", "https://m.example/mcp", []string{"https://m.example" + wellKnown + "/mcp"}, ""},
		{"at the root", "https://m.example:8443/mcp", "", "https://m.example:8443" + wellKnown, "https://m.example:8443/", []string{"https://m.example:8443" + wellKnown + "/mcp", "https://m.example:8443" + wellKnown}, ""},
		{"of the root", "https://m.example", "", "https://m.example" + wellKnown, "https://m.example", []string{"https://m.example" + wellKnown}, ""},
		{"nowhere", "https://m.example/mcp", "", "https://m.example/prm.json", "", []string{
			"https://m.example" + wellKnown + "/mcp", "https://m.example" + wellKnown, "https://m.example/.well-known/oauth-authorization-server",
			"https://m.example/.well-known/openid-configuration",
		}, "no protected resource metadata"},
		{"named on this machine", "https://m.example/mcp", "http://127.0.0.1:80/prm.json", "http://127.0.0.1:80/prm.json", "https://m.example/mcp", nil, "https only"},
		{"at the root, of another path", "https://m.example/mcp", "", "https://m.example" + wellKnown, "https://m.example/other", []string{"https://m.example" + wellKnown + "/mcp", "https://m.example" + wellKnown}, "another resource"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &documents{at: map[string]string{test.at: `{"resource":"` + test.resource + `","authorization_servers":["https://as.example"]}`}}
			c := remote(t, test.url, d)
			got, err := c.discovery.resource(t.Context(), test.metadata, true)
			if !slices.Equal(d.asked, test.asked) {
				t.Errorf("asked %q, want %q", d.asked, test.asked)
			}
			if test.want == "" && (err != nil || got.Resource != test.resource) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%+v, %v; want %q", got, err, test.want)
			}
		})
	}
}

// TestServerPlaces looks for the metadata of authorization servers.
func TestServerPlaces(t *testing.T) {
	for _, test := range []struct{ name, issuer, at, asked string }{
		{"OAuth", "https://as.example", "/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server"},
		{"OpenID Connect", "https://as.example", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server /.well-known/openid-configuration"},
		{"OAuth, path", "https://as.example/t/1", "/.well-known/oauth-authorization-server/t/1", "/.well-known/oauth-authorization-server/t/1"},
		{"OpenID Connect, path", "https://as.example/t/1", "/.well-known/openid-configuration/t/1", "/.well-known/oauth-authorization-server/t/1 /.well-known/openid-configuration/t/1"},
		{"OpenID Connect, path before", "https://as.example/t/1", "/t/1/.well-known/openid-configuration",
			"/.well-known/oauth-authorization-server/t/1 /.well-known/openid-configuration/t/1 /t/1/.well-known/openid-configuration"},
		{"slash", "https://as.example/", "/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server"},
		{"nowhere", "https://as.example", "", "/.well-known/oauth-authorization-server /.well-known/openid-configuration"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &documents{at: map[string]string{"https://as.example" + test.at: `{"issuer":"` + test.issuer + `","token_endpoint":"https://tokens.example/t"}`}}
			c := remote(t, "https://m.example/mcp", d)
			got, err := c.discovery.server(t.Context(), test.issuer, false)
			if asked := strings.ReplaceAll(strings.Join(d.asked, " "), "https://as.example", ""); asked != test.asked {
				t.Errorf("asked %q, want %q", asked, test.asked)
			}
			if test.at != "" && (err != nil || got.Token != "https://tokens.example/t") || test.at == "" && (err == nil || !strings.Contains(err.Error(), "has no metadata")) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestIssuer chooses among several authorization servers.
func TestIssuer(t *testing.T) {
	r := protectedResource{Issuers: []string{"https://one.example", "https://two.example"}}
	for name, test := range map[string]struct {
		issuer string
		grant  *grant
		want   string
	}{
		"the first":                {"", nil, "https://one.example"},
		"of the grant":             {"", &grant{Issuer: "https://two.example"}, "https://two.example"},
		"of a grant that is over":  {"", &grant{Issuer: "https://three.example"}, "https://one.example"},
		"of the settings":          {"https://two.example", &grant{Issuer: "https://one.example"}, "https://two.example"},
		"of the settings, missing": {"https://three.example", nil, ""},
	} {
		c := remote(t, "https://m.example/mcp", &documents{}, settings(func(s *Settings) { s.Issuer = test.issuer }))
		if got, err := c.discovery.issuer(r, test.grant); got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestDocumentLife uses documents for some minutes, and not after they are known to be old.
func TestDocumentLife(t *testing.T) {
	now := time.Now()
	const place = "https://m.example/.well-known/oauth-protected-resource/mcp"
	d := &documents{at: map[string]string{place: `{"resource":"https://m.example/mcp","authorization_servers":["https://as.example"]}`}}
	c := remote(t, "https://m.example/mcp", d, at(&now))
	for _, step := range []struct {
		after time.Duration
		fresh bool
		asked int
	}{{0, false, 1}, {9 * time.Minute, false, 1}, {2 * time.Minute, false, 2}, {0, true, 3}} {
		now = now.Add(step.after)
		if _, err := c.discovery.resource(t.Context(), "", step.fresh); err != nil || len(d.asked) != step.asked {
			t.Errorf("%+v: %d requests, %v", step, len(d.asked), err)
		}
	}
	// What fails is not kept, nor is what was known before.
	d.at = nil
	if _, err := c.discovery.resource(t.Context(), "", true); err == nil {
		t.Error("there is no document")
	}
	if _, err := c.discovery.resource(t.Context(), "", false); err == nil {
		t.Error("the old document is used")
	}
}

// TestConfiguredIssuer has an upstream without metadata.
func TestConfiguredIssuer(t *testing.T) {
	c := remote(t, "https://M.example/mcp/?x=y#z", &documents{}, settings(func(s *Settings) { s.Issuer = "https://as.example" }))
	r, err := c.discovery.resource(t.Context(), "", true)
	if err != nil || r.Resource != "https://m.example/mcp?x=y" || !slices.Equal(r.Issuers, []string{"https://as.example"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		resource, address string
		want              bool
	}{
		{"https://m.example/mcp", "https://m.example/mcp", true},
		{"https://M.EXAMPLE:443/mcp/", "https://m.example/mcp", true},
		{"https://m.example", "https://m.example/mcp", true},
		{"https://m.example/a", "https://m.example/a/mcp", true},
		{"https://m.example/a", "https://m.example/ab", false},
		{"https://m.example/mcp/x", "https://m.example/mcp", false},
		{"http://m.example/mcp", "https://m.example/mcp", false},
		{"https://m.example:8443/mcp", "https://m.example/mcp", false},
		{"https://evil.example/mcp", "https://m.example/mcp", false},
		{"https://m.example.evil.example/mcp", "https://m.example/mcp", false},
		{"https://m.example/mcp?team=1", "https://m.example/mcp?team=1", true},
		{"https://m.example/mcp?team=2", "https://m.example/mcp?team=1", false},
		{"https://m.example/mcp", "https://m.example/mcp?team=1", true},
	} {
		resource, err := url.Parse(test.resource)
		if err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(test.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(resource, address); got != test.want {
			t.Errorf("%s covers %s: %v", test.resource, test.address, got)
		}
	}
}
