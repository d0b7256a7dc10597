package netguard

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"testing"
)

func TestOwnAddresses(t *testing.T) {
	open, err := ParseHost("198.41.0.5:8080")
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{Open: []Host{open}})
	g.interfaces = func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.ParseIP("198.41.0.4"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("198.41.0.5"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2001:503:ba3e::2:30"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	for text, denied := range map[string]bool{
		"http://198.41.0.4/": true, "http://198.41.0.6/": false, "http://198.41.0.5/": true, "http://198.41.0.5:8080/": false,
		"http://[2001:503:ba3e::2:30]/": true, "http://[2001:503:ba3e::2:31]/": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		refused, ok := errors.AsType[*DeniedError](g.CheckURL(u))
		if ok != denied || ok && (refused.Rule != Loopback || refused.Allow == "") {
			t.Errorf("%s: %v", text, refused)
		}
	}
	g.interfaces = func() ([]net.Addr, error) { return nil, errors.New("the system does not tell") }
	if g.isOwn(netip.MustParseAddr("198.41.0.4")) {
		t.Error("an address is ours without any")
	}
}

func TestNamed(t *testing.T) {
	var open []Host
	for _, text := range []string{"searx.lan:8080", "10.1.0.0/16", "[fd00::1]:8443"} {
		h, err := ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, h)
	}
	g := New(Options{Open: open})
	for text, want := range map[string]bool{
		"http://searx.lan:8080/x": true, "http://searx.lan/": false, "http://10.1.2.3/": true, "https://10.2.2.3/": false,
		"https://[fd00::1]:8443/": true, "https://example.com/": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.ExplicitlyAllowed(u); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
