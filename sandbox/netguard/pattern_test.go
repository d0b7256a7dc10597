package netguard_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// TestPatterns matches what clients ask for with entries of a list.
func TestPatterns(t *testing.T) {
	for pattern, cases := range map[string]map[string]bool{
		"example.org": {
			"example.org:80": true, "example.org:443": true, "EXAMPLE.org.:443": true, "ｅｘａｍｐｌｅ.org:80": true, "example.org:22": false,
			"a.example.org:443": false, "notexample.org:443": false, "example.org.evil.com:443": false, "evil.com:443": false, "93.184.216.34:80": false,
		},
		"example.org:22": {"example.org:22": true, "example.org:443": false},
		"*.example.org:443": {
			"a.example.org:443": true, "a.b.EXAMPLE.org.:443": true, "example.org:443": false, "notexample.org:443": false, "a.example.org:80": false,
			".example.org:443": false, "a..example.org:443": false, "*.example.org:443": false,
		},
		"*.example.org:*": {"a.example.org:1": true, "a.example.org:65535": true, "example.org:443": false},
		"10.0.0.0/8:*":    {"10.2.3.4:81": true, "11.0.0.1:81": false},
		"bücher.example":  {"xn--bcher-kva.example:443": true, "BÜCHER.example:80": true, "bucher.example:80": false},
		"93.184.216.34":   {"93.184.216.34:80": true, "93.184.216.35:80": false, "example.org:80": false, "[::ffff:93.184.216.34]:80": true},
		"10.0.0.0/8:81":   {"10.2.3.4:81": true, "11.0.0.1:81": false, "10.2.3.4:80": false},
		"[2606:4700::1]":  {"[2606:4700::1]:443": true, "[2606:4700:0:0::1]:443": true, "[2606:4700::2]:443": false, "[2606:4700::1%eth0]:443": false},
	} {
		h, err := netguard.ParseHost(pattern)
		if err != nil || h.String() != pattern && pattern != "bücher.example" {
			t.Errorf("%s is read as %s, %v", pattern, h, err)
		}
		for target, want := range cases {
			host, digits, err := net.SplitHostPort(target)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.ParseUint(digits, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Matches(host, uint16(port)); got != want {
				t.Errorf("%s matches %s: %t", pattern, target, got)
			}
		}
	}
	for _, bad := range []string{"", "*", "*.", "*.*", "*.*.org", "a.*.org", "*.1.2.3.4", "*.10.0.0.0/8", "https://example.org", "a b", "a\x00.org", "*.a..b", "a:0", "a:x", "*a.org"} {
		if h, err := netguard.ParseHost(bad); err == nil {
			t.Errorf("%q is read as %s", bad, h)
		}
	}
}

// FuzzMatches looks for a name that a pattern matches and that is not below it.
func FuzzMatches(f *testing.F) {
	for _, host := range []string{"a.example.org", "example.org", "xexample.org", "a.example.org.", "１２７.0.0.1", "a\x00.example.org", "[::1]"} {
		f.Add(host)
	}
	below, err := netguard.ParseHost("*.example.org")
	if err != nil {
		f.Fatal(err)
	}
	exact, err := netguard.ParseHost("example.org")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		name, err := netguard.Canonical(host)
		if exact.Matches(host, 443) && (err != nil || name != "example.org") {
			t.Errorf("example.org matches %q", host)
		}
		const end = ".example.org"
		if below.Matches(host, 443) && (err != nil || len(name) <= len(end) || name[len(name)-len(end):] != end) {
			t.Errorf("*.example.org matches %q", host)
		}
	})
}
