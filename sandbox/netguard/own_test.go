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
		// Translations of it, and tunnels to it.
		"http://[::ffff:198.41.0.4]/": true, "http://[64:ff9b::198.41.0.4]/": true, "http://[64:ff9b::198.41.0.6]/": false,
		"http://[2606:4700::5efe:198.41.0.4]/": true, "http://[2606:4700::200:5efe:c629:4]/": true, "http://[2606:4700::5efe:198.41.0.6]/": false,
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

// TestPlain finds the IPv4 address in every kind of IPv6 address that leads to one.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"8.8.8.8": "8.8.8.8", "::ffff:8.8.8.8": "8.8.8.8", "::ffff:8.8.8.8%eth0": "8.8.8.8", "::8.8.8.8": "8.8.8.8", "64:ff9b::8.8.8.8": "8.8.8.8",
		"2002:808:808::1": "8.8.8.8", "2001:0:4136:e378:8000:63bf:f7f7:f7f7": "8.8.8.8", "2606:4700::5efe:8.8.8.8": "8.8.8.8",
		"fe80::200:5efe:808:808%eth0": "8.8.8.8", "2606:4700::1111": "2606:4700::1111", "fe80::1%eth0": "fe80::1",
	} {
		if got := plain(netip.MustParseAddr(text)).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestDenied denies addresses by every way to them, whatever opens them.
func TestDenied(t *testing.T) {
	var denied []Host
	for _, text := range []string{"93.184.216.36", "[2606:4700::1111]:8080", "10.1.2.3", "name.example"} {
		h, err := ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		denied = append(denied, h)
	}
	open, err := ParseHost("10.0.0.0/8:*")
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{Open: []Host{open}, Denied: denied, DeniedBy: "tools.x.denied_hosts"})
	for text, want := range map[string]bool{
		"93.184.216.36:80": true, "93.184.216.36:8443": true, "93.184.216.37:80": false, "[::ffff:93.184.216.36]:80": true,
		"[64:ff9b::93.184.216.36]:80": true, "[2606:4700::5efe:93.184.216.36]:80": true, "[2002:5db8:d824::1]:80": true,
		"[2606:4700::1111]:8080": true, "[2606:4700::1111]:80": false, "[2606:4700::1111%eth0]:8080": true, "10.1.2.3:81": true, "10.1.2.4:81": false,
	} {
		refused, ok := errors.AsType[*DeniedError](g.check("public.test", netip.MustParseAddrPort(text)))
		if got := ok && refused.Rule == "tools.x.denied_hosts"; got != want || got && refused.Allow != "" {
			t.Errorf("%s: %v", text, refused)
		}
	}
}

// TestAnyPort opens all ports of a host but those of other protocols, which their number opens.
func TestAnyPort(t *testing.T) {
	var open []Host
	for _, text := range []string{"localhost:*", "*.svc.test:*", "db.test:22"} {
		h, err := ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, h)
	}
	g := New(Options{Open: open})
	for host, cases := range map[string]map[string]Rule{
		"localhost":   {"127.0.0.1:1234": "", "[::1]:80": "", "127.0.0.1:22": Port},
		"a.svc.test":  {"10.1.2.3:8080": "", "10.1.2.3:25": Port, "169.254.169.254:80": Metadata},
		"svc.test":    {"10.1.2.3:8080": Private},
		"db.test":     {"10.1.2.3:22": "", "10.1.2.3:80": Private},
		"a.localhost": {"127.0.0.1:80": Loopback},
	} {
		for addr, want := range cases {
			rule := Rule("")
			if refused, ok := errors.AsType[*DeniedError](g.check(host, netip.MustParseAddrPort(addr))); ok {
				rule = refused.Rule
			}
			if rule != want {
				t.Errorf("%s at %s: %q, want %q", host, addr, rule, want)
			}
		}
	}
}
