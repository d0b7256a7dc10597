package sandbox

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

func TestHostLists(t *testing.T) {
	s := newSandbox(t, Policy{WorkingDirectory: "/w", Tools: map[string]ToolPolicy{"web_fetch": {
		AllowedHosts: []string{"Example.com", "docs.test:8443", "8.8.8.8", "[2606:4700::1111]:443", "bücher.example", "secure.test:443"},
		DeniedHosts:  []string{"tracker.example.com"},
	}}})
	const allowed, denied = "tools.web_fetch.allowed_hosts", "tools.web_fetch.denied_hosts"
	for rawURL, rule := range map[string]string{
		"https://example.com/":               "",
		"http://example.com:8080/":           "",
		"https://EXAMPLE.com./":              "",
		"https://www.example.com/":           "",
		"https://badexample.com/":            allowed,
		"https://example.com.evil.test/":     allowed,
		"https://tracker.example.com/":       denied,
		"https://a.tracker.example.com:444/": denied,
		"https://docs.test:8443/":            "",
		"https://docs.test/":                 allowed,
		"https://secure.test/":               "",
		"http://secure.test/":                allowed,
		"https://8.8.8.8/":                   "",
		"https://8.8.4.4/":                   allowed,
		"https://[2606:4700::1111]/":         "",
		"https://[2606:4700::1112]/":         allowed,
		"https://xn--bcher-kva.example/":     "",
		"https://BÜCHER.example/":            "",
	} {
		u, err := url.Parse(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		err = s.For("web_fetch").Fetcher().CheckURL(t.Context(), u)
		if listed, ok := errors.AsType[*HostError](err); ok {
			got = listed.Rule
		} else if err != nil {
			t.Errorf("%s: %v", rawURL, err)
		}
		if got != rule {
			t.Errorf("%s: rule %q; want %q", rawURL, got, rule)
		}
	}
	u, _ := url.Parse("https://example.org")
	if err := s.For("jobs").Fetcher().CheckURL(t.Context(), u); err != nil {
		t.Errorf("a tool without lists: %v", err)
	}
}

func TestHostEntries(t *testing.T) {
	for entry, want := range map[string]string{
		"*": "", "example.com": "", "127.0.0.1:80": "",
		"*.example.com": "stands for its subdomains", "https://example.com": "write a name", "example.com/path": "write a name",
		"": "not a host", "a b": "not a host", "example.com:http": "not a port", "example.com:0": "not a port", "user@host": "not a host",
	} {
		err := CheckHostEntry(entry)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", entry, err, want)
		}
	}
	for want, p := range map[string]Policy{
		"tools.web_fetch.denied_hosts[1]: ": {Tools: map[string]ToolPolicy{"web_fetch": {DeniedHosts: []string{"ok", "not ok"}}}},
		"tools.jobs.private_hosts[0]: ":     {Tools: map[string]ToolPolicy{"jobs": {PrivateHosts: []string{"10.0.0.1/8"}}}},
		"sandbox.private_hosts[0]: ":        {Settings: Settings{PrivateHosts: []string{"10.0.0.1/8"}}},
	} {
		p.Owners, p.WorkingDirectory = owners, "/w"
		if _, err := New(p, newKernel(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestPrivateHosts opens hosts for one owner, for a family and for everybody.
func TestPrivateHosts(t *testing.T) {
	s := newSandbox(t, Policy{
		WorkingDirectory: "/w", Settings: Settings{PrivateHosts: []string{"10.0.0.1"}},
		Tools: map[string]ToolPolicy{"jobs": {PrivateHosts: []string{"10.0.0.2"}}, "web_fetch": {PrivateHosts: []string{"10.0.0.3"}}},
	})
	for host, want := range map[string]string{
		"10.0.0.1": "job jobs web_fetch", "10.0.0.2": "job jobs", "10.0.0.3": "web_fetch", "10.0.0.4": "",
	} {
		var reach []string
		for _, tool := range []string{"job", "jobs", "web_fetch"} {
			u := &url.URL{Scheme: "http", Host: host}
			err := s.For(tool).Fetcher().CheckURL(t.Context(), u)
			denied, _ := errors.AsType[*netguard.DeniedError](err)
			switch {
			case err == nil && s.For(tool).Fetcher().ExplicitlyAllowed(u):
				reach = append(reach, tool)
			case denied == nil || denied.Setting != "tools."+tool+".private_hosts":
				t.Errorf("%s, %s: %v", tool, host, err)
			}
		}
		if strings.Join(reach, " ") != want {
			t.Errorf("%s is reached by %v; want %s", host, reach, want)
		}
	}
}

// TestTakeEffect has a client that a tool keeps follow the policy in force, also on
// connections that are open.
func TestTakeEffect(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	kernel := newKernel(t)
	with := func(open ...string) *Sandbox {
		s, err := New(Policy{Owners: owners, WorkingDirectory: "/w", Tools: map[string]ToolPolicy{"web_fetch": {PrivateHosts: open, AllowedHosts: open}}}, kernel)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fetcher := with().For("web_fetch").Fetcher()
	for i, open := range []bool{false, true, false, true} {
		next := with()
		if open {
			next = with(u.Host)
		}
		if was := i > 0 && !open; fetcher.ExplicitlyAllowed(u) != was {
			t.Errorf("%d: a policy is in effect before it should be", i)
		}
		next.TakeEffect()
		res, err := fetcher.Client().Get(srv.URL)
		if err == nil {
			res.Body.Close()
		}
		if _, denied := errors.AsType[*netguard.DeniedError](err); denied == open || open != (err == nil) {
			t.Errorf("%d: %v", i, err)
		}
		if fetcher.ExplicitlyAllowed(u) != open || (fetcher.CheckURL(t.Context(), u) == nil) != open || *next.For("web_fetch").Fetcher() != *fetcher {
			t.Errorf("%d: %v, %v", i, fetcher.ExplicitlyAllowed(u), fetcher.CheckURL(t.Context(), u))
		}
	}
}
