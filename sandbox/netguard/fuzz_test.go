package netguard_test

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/idna"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// FuzzCheckURL holds what CheckURL lets pass to: a host that is an address is a
// public one; no resolver takes the host for an address of this machine; and
// judging the URL again, or what is read of its text, changes nothing.
func FuzzCheckURL(f *testing.F) {
	for _, h := range hosts {
		f.Add("http://" + h.host + "/path?query#fragment")
	}
	f.Add("https://example.com")
	f.Add("//127.0.0.1")
	g := guard(f, nil)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || len(text) > netguard.MaxURL {
			return
		}
		asked := u.Hostname()
		if rule := ruleOf(t, g.CheckURL(u)); rule != "" {
			return
		}
		host := u.Hostname()
		for _, host := range []string{asked, host} {
			if addr, ok := addressOf(host); ok && !public(addr) {
				t.Errorf("%q passes, and leads to %s", text, addr)
			}
		}
		local := host == "localhost" || strings.HasSuffix(host, ".localhost")
		if host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || local {
			t.Errorf("%q passes", text)
		}
		again := *u
		if err := g.CheckURL(&again); err != nil || again.Host != u.Host {
			t.Errorf("%q: %q becomes %q, %v", text, u.Host, again.Host, err)
		}
		read, err := url.Parse(u.String())
		if err != nil || read.Host != u.Host {
			t.Errorf("%q: %q is read as %v, %v", text, u, read, err)
		}
	})
}

// addressOf returns the address that Go, or the C library's inet_aton, takes a
// host for.
func addressOf(host string) (netip.Addr, bool) {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap(), true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		if strings.ContainsAny(part, "bBoO_") && !strings.HasPrefix(strings.ToLower(part), "0x") {
			return netip.Addr{}, false // Go has more notations than C
		}
		n, err := strconv.ParseUint(part, 0, 32)
		last := i == len(parts)-1
		if err != nil || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		if !last {
			n <<= 8 * (3 - i)
		}
		sum += n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// public is what the standard library says of an address, and what it does not
// know of.
func public(addr netip.Addr) bool {
	if addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	b := addr.As16()
	if addr.Is6() && !netip.MustParsePrefix("2000::/3").Contains(addr) {
		return netip.MustParsePrefix("64:ff9b::/96").Contains(addr) && public(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, n := range networks {
		if network := netip.MustParsePrefix(n.network); n.rule != "" && network.Contains(addr) {
			return false
		}
	}
	return true
}

// FuzzParseHost holds what ParseHost reads to: it is read again from its own
// text, and if it is a name, then one that a URL can have.
func FuzzParseHost(f *testing.F) {
	for _, h := range hosts {
		f.Add(h.host)
	}
	for _, n := range networks {
		f.Add(n.network + ":8080")
	}
	f.Add("[fd00::/8]:8080")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := netguard.ParseHost(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x00") || h != (netguard.Host{}) {
				t.Errorf("%q: %q, %v", text, err, h)
			}
			return
		}
		again, err := netguard.ParseHost(h.String())
		if err != nil || again != h {
			t.Errorf("%q is read as %q, and that as %q, %v", text, h, again, err)
		}
		if strings.Contains(h.String(), "/") {
			return
		}
		one := strings.NewReplacer("*.", "below.", ":*", ":8080").Replace(h.String())
		u, err := url.Parse("http://" + one + "/")
		if err != nil {
			t.Fatalf("%q is read as %q: %v", text, h, err)
		}
		if err := netguard.New(netguard.Options{Open: []netguard.Host{h}}).CheckURL(u); err != nil && ruleOf(t, err) != netguard.Metadata {
			t.Errorf("%q is read as %q, which it does not open: %v", text, h, err)
		}
	})
}
