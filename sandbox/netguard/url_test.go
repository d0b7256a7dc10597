package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// invalid is what hosts get that are none.
const invalid = netguard.Rule("invalid")

// judge returns what a guard says of a URL with a host: the same whether it was
// parsed or put together.
func ruleFor(t testing.TB, g *netguard.Guard, host string) netguard.Rule {
	t.Helper()
	u, err := url.Parse("http://" + host + "/")
	if err != nil {
		put := &url.URL{Scheme: "http", Host: host, Path: "/"}
		if err := g.CheckURL(put); err == nil {
			t.Errorf("%q cannot be parsed, but is accepted as %s", host, put.Host)
		}
		return invalid
	}
	return ruleOf(t, g.CheckURL(u))
}

func ruleOf(t testing.TB, err error) netguard.Rule {
	t.Helper()
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*netguard.InvalidURLError](err); ok {
		return invalid
	}
	denied, ok := errors.AsType[*netguard.DeniedError](err)
	if !ok {
		t.Fatalf("neither denied nor invalid: %v", err)
	}
	if !strings.Contains(err.Error(), " is denied by "+string(denied.Rule)+": ") || len(err.Error()) > 500 {
		t.Errorf("%s: message %q", denied.Rule, err)
	}
	return denied.Rule
}

func TestCheckURL(t *testing.T) {
	g := guard(t, nil)
	for _, tt := range hosts {
		if got := ruleFor(t, g, tt.host); got != tt.want {
			t.Errorf("%.60q: got %q, want %q", tt.host, got, tt.want)
		}
	}
	if len(hosts) < 250 {
		t.Errorf("only %d hosts", len(hosts))
	}
	for text, want := range map[string]netguard.Rule{
		"HTTPS://example.com/": "", "https://example.com": "", "https://example.com:80/": "", "http:/127.0.0.1/": invalid,
		"http:127.0.0.1": invalid, "http:///127.0.0.1": invalid,
		"ftp://example.com/": netguard.Scheme, "file:///etc/passwd": netguard.Scheme, "gopher://127.0.0.1:70/": netguard.Scheme,
		"javascript:alert(1)": netguard.Scheme, "//example.com/": netguard.Scheme,
		"example.com/": netguard.Scheme, "": netguard.Scheme, "unix:///run/docker.sock": netguard.Scheme, "http+unix://x/": netguard.Scheme,
		"ws://example.com/": netguard.Scheme, "data:,x": netguard.Scheme,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ruleOf(t, g.CheckURL(u)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestCanonicalURL(t *testing.T) {
	g := guard(t, nil)
	for text, want := range map[string]string{
		"http://EXAMPLE.com./a?b#c":                  "http://example.com/a?b#c",
		"http://BÜCHER.example:080/":                 "http://xn--bcher-kva.example:80/",
		"https://ｅｘａｍｐｌｅ。com":                        "https://example.com",
		"http://[2606:4700:0:0:0:0:0:1111]:0443/":    "http://[2606:4700::1111]:443/",
		"http://[2606:4700::0:ABCD]":                 "http://[2606:4700::abcd]",
		"http://[64:ff9b::8.8.8.8]/":                 "http://[64:ff9b::808:808]/",
		"http://8.8.8.8:8080/%2F/..?q=http://h:80/#": "http://8.8.8.8:8080/%2F/..?q=http://h:80/",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckURL(u); err != nil || u.String() != want {
			t.Errorf("%s: got %s, %v", text, u, err)
		}
	}
}

// TestNothingReached tries every host with a client and a name server that says
// of all names that they lead to this machine, where somebody listens.
func TestNothingReached(t *testing.T) {
	addresses := []string{"127.0.0.1"}
	if hasIPv6() {
		addresses = append(addresses, "::1")
	}
	s := listen(t, addresses...)
	liar := resolver(t, func(string, dnsmessage.Type) answers { return answers{"127.0.0.1", "::1"} })
	guarded := guard(t, liar).Client()
	careless := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: liar}).DialContext, DisableKeepAlives: true}}
	reachable := 0
	for _, tt := range hosts {
		host := tt.host
		if u, err := url.Parse("http://" + host); err == nil && u.Port() == "" && !strings.HasSuffix(host, ":") {
			host = s.at(host)
		}
		if u, err := url.Parse("http://" + host); (tt.want == "" || strings.HasSuffix(host, ":")) && err == nil && net.ParseIP(u.Hostname()) != nil {
			continue // nothing is sent to others
		}
		for _, url := range []string{"http://" + host + "/", "https://" + host + "/"} {
			if body, _, err := get(t.Context(), guarded, url); err == nil {
				t.Errorf("%s: got %q", url, body)
			}
		}
		if n := s.connections(); n > 0 {
			t.Fatalf("%s reached this machine", host)
		}
	}
	for _, tt := range hosts { // that it would have been reached
		literal, err := netip.ParseAddr(strings.Trim(tt.host, "[]"))
		here := err != nil || literal.Unmap().IsLoopback() || literal.Unmap().IsUnspecified()
		if here && (tt.want == netguard.Loopback || tt.want == netguard.Unspecified) {
			if _, _, err := get(t.Context(), careless, "http://"+s.at(tt.host)+"/"); err == nil {
				reachable++
			}
		}
	}
	if reachable < 20 {
		t.Errorf("only %d hosts would have led here", reachable)
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func TestMessages(t *testing.T) {
	r := zone(t, map[string]answers{"intranet.test": {"10.0.0.1"}, "cloud.test": {"169.254.169.254"}})
	client := guard(t, r).Client()
	for url, want := range map[string]struct{ message, allow string }{
		"http://127.0.0.1/":              {"127.0.0.1 is denied by network.loopback: it is this machine", "127.0.0.1"},
		"http://[::1]:8080/":             {"[::1]:8080 is denied by network.loopback: it is this machine", "[::1]:8080"},
		"http://[::ffff:10.0.0.1]:81/":   {"[::ffff:10.0.0.1]:81 is denied by network.private: it is a private network", "[::ffff:10.0.0.1]:81"},
		"http://0x7f.1:8080/":            {"0x7f.1:8080 is denied by network.loopback: it is this machine", "127.0.0.1:8080"},
		"http://LOCALHOST.:8080/":        {"LOCALHOST.:8080 is denied by network.loopback: it is this machine", "localhost:8080"},
		"http://intranet.test/":          {"intranet.test is denied by network.private: it leads to 10.0.0.1, which is a private network", "intranet.test"},
		"http://intranet.test:8080/?key": {"intranet.test:8080 is denied by network.private: it leads to 10.0.0.1, which is a private network", "intranet.test:8080"},
		"http://cloud.test:81/":          {"cloud.test:81 is denied by network.metadata: it leads to 169.254.169.254, which is the metadata service of a cloud", "169.254.169.254:81"},
		"http://metadata.goog/":          {"metadata.goog is denied by network.metadata: it is the metadata service of a cloud", ""},
		"http://[fe80::1%25eth0]/":       {"[fe80::1%eth0] is denied by network.zone: it is an address with a zone, which is on the local link", ""},
		"http://134744072/":              {"134744072 is denied by network.notation: write the address as 8.8.8.8", ""},
		"http://intranet.test:25/":       {"intranet.test:25 is denied by network.port: port 25 belongs to another protocol than HTTP", ""},
		"http://intranet.test:0/":        {"intranet.test:0 is denied by network.port: the port is not a number from 1 to 65535", ""},
		"http://me:secret@example.com/":  {"example.com is denied by network.userinfo: URLs with a user name or password in them are not fetched", ""},
		"ftp://example.com/":             {"ftp: is denied by network.scheme: only http and https URLs are fetched", ""},
		"//example.com/":                 {"a URL without a scheme is denied by network.scheme: only http and https URLs are fetched", ""},
	} {
		_, _, err := get(context.Background(), client, url)
		denied, ok := errors.AsType[*netguard.DeniedError](err)
		if !ok || denied.Error() != want.message || denied.Allow != want.allow {
			t.Errorf("%s: got %v, %+v", url, denied, denied)
		}
		if denied == nil || denied.Allow == "" {
			continue
		}
		if _, err := netguard.ParseHost(denied.Allow); err != nil {
			t.Errorf("%s: what would open it does not: %v", url, err)
		}
	}
}
