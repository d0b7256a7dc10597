package sandbox

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"toolserver/sandbox/netguard"
)

func TestHostLists(t *testing.T) {
	n, err := NewNetwork(Policy{Tools: map[string]ToolPolicy{"web_fetch": {
		AllowedHosts: []string{"Example.com", "docs.test:8443", "8.8.8.8", "[2606:4700::1111]:443", "bücher.example", "secure.test:443"},
		DeniedHosts:  []string{"tracker.example.com"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
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
		err = n.CheckURL("web_fetch", u)
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
	if err := n.CheckURL("linkedin_jobs", u); err != nil {
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
	if _, err := NewNetwork(Policy{Tools: map[string]ToolPolicy{"web_fetch": {DeniedHosts: []string{"ok", "not ok"}}}}); err == nil ||
		!strings.HasPrefix(err.Error(), "tools.web_fetch.denied_hosts[1]: ") {
		t.Errorf("%v", err)
	}
	if _, err := NewNetwork(Policy{Settings: Settings{PrivateHosts: []string{"10.0.0.1/8"}}}); err == nil ||
		!strings.HasPrefix(err.Error(), "sandbox.private_hosts[0]: ") || !strings.Contains(err.Error(), "10.0.0.0/8") {
		t.Errorf("%v", err)
	}
}

func TestExplainURL(t *testing.T) {
	n, err := NewNetwork(Policy{Settings: Settings{PrivateHosts: []string{"10.1.2.3:8080"}}})
	if err != nil {
		t.Fatal(err)
	}
	for rawURL, want := range map[string]Explanation{
		"https://example.com/":  {Allowed: true, Reason: "judged when it is dialled"},
		"http://10.1.2.3:8080/": {Allowed: true, Reason: "may be reached"},
		"http://10.1.2.3/":      {Rule: string(netguard.Private), Reason: "private network"},
		"http://2130706433/":    {Rule: string(netguard.Loopback), Reason: "this machine"},
		"gopher://example.com/": {Rule: string(netguard.Scheme), Reason: "http and https"},
	} {
		got, err := n.explain("web_fetch", rawURL)
		if err != nil || got.Allowed != want.Allowed || got.Rule != want.Rule || !strings.Contains(got.Reason, want.Reason) {
			t.Errorf("%s: %+v, %v", rawURL, got, err)
		}
	}
	if _, err := n.explain("web_fetch", "http://"); err == nil {
		t.Error("no host is no mistake")
	}
}

// TestAdopt has a client that tools keep follow the policy of the day, also on
// connections that are open.
func TestAdopt(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	network := func(open ...string) *Network {
		n, err := NewNetwork(Policy{
			Settings: Settings{PrivateHosts: open}, Tools: map[string]ToolPolicy{"web_fetch": {AllowedHosts: open}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := network()
	defer n.Close()
	client := n.Client()
	for i, open := range []bool{false, true, false, true} {
		if open {
			n.Adopt(network(u.Host))
		} else {
			n.Adopt(network())
		}
		res, err := client.Get(srv.URL)
		if err == nil {
			res.Body.Close()
		}
		if _, denied := errors.AsType[*netguard.DeniedError](err); denied == open || open != (err == nil) {
			t.Errorf("%d: %v", i, err)
		}
		if n.Named(u) != open || (n.CheckURL("web_fetch", u) == nil) != open {
			t.Errorf("%d: %v, %v", i, n.Named(u), n.CheckURL("web_fetch", u))
		}
	}
}
