package netguard_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// networks are the entries of IANA's registries of special-purpose addresses, and
// what else is not the public internet, with the rules for what lies just before
// and just after them.
var networks = []struct {
	network             string
	rule, before, after netguard.Rule
}{
	// https://www.iana.org/assignments/iana-ipv4-special-registry
	{"0.0.0.0/8", netguard.Unspecified, "", ""},
	{"0.0.0.0/32", netguard.Unspecified, "", netguard.Unspecified},
	{"10.0.0.0/8", netguard.Private, "", ""},
	{"100.64.0.0/10", netguard.CGNAT, "", ""},
	{"127.0.0.0/8", netguard.Loopback, "", ""},
	{"169.254.0.0/16", netguard.LinkLocal, "", ""},
	{"172.16.0.0/12", netguard.Private, "", ""},
	{"192.0.0.0/24", netguard.Reserved, "", ""},
	{"192.0.0.0/29", netguard.Reserved, "", netguard.Reserved},
	{"192.0.0.8/32", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"192.0.0.170/31", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"192.0.2.0/24", netguard.Documentation, "", ""},
	{"192.31.196.0/24", "", "", ""}, // AS112: global
	{"192.52.193.0/24", "", "", ""}, // AMT: global
	{"192.88.99.0/24", netguard.SixToFour, "", ""},
	{"192.168.0.0/16", netguard.Private, "", ""},
	{"192.175.48.0/24", "", "", ""}, // AS112: global
	{"198.18.0.0/15", netguard.Benchmarking, "", ""},
	{"198.51.100.0/24", netguard.Documentation, "", ""},
	{"203.0.113.0/24", netguard.Documentation, "", ""},
	{"224.0.0.0/4", netguard.Multicast, "", netguard.Reserved},
	{"240.0.0.0/5", netguard.Reserved, netguard.Multicast, netguard.Reserved},
	{"255.255.255.255/32", netguard.Broadcast, netguard.Reserved, ""},
	// https://www.iana.org/assignments/iana-ipv6-special-registry
	{"::/128", netguard.Unspecified, "", netguard.Loopback},
	{"::1/128", netguard.Loopback, netguard.Unspecified, netguard.Unspecified}, // ::2 is 0.0.0.2
	{"64:ff9b:1::/48", netguard.NAT64, netguard.Reserved, netguard.Reserved},
	{"100::/64", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"100:0:0:1::/64", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001::/32", netguard.Teredo, "", netguard.Reserved},
	{"2001:1::1/128", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:2::/48", netguard.Benchmarking, netguard.Reserved, netguard.Reserved},
	{"2001:3::/32", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:4:112::/48", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:10::/28", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:20::/28", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:30::/28", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"2001:100::/24", netguard.Reserved, netguard.Reserved, ""}, // the end of 2001::/23
	{"2001:db8::/32", netguard.Documentation, "", ""},
	{"2002::/16", netguard.SixToFour, "", ""},
	{"2620:4f:8000::/48", "", "", ""}, // AS112: global
	{"3fff::/20", netguard.Documentation, "", ""},
	{"5f00::/16", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"fc00::/7", netguard.Private, netguard.Reserved, netguard.Reserved},
	{"fe80::/10", netguard.LinkLocal, netguard.Reserved, netguard.Private},
	{"fec0::/10", netguard.Private, netguard.LinkLocal, netguard.Multicast}, // RFC 3879: site-local
	{"ff00::/8", netguard.Multicast, netguard.Private, ""},
	// RFC 4291, section 2.4: what is handed out.
	{"2000::/4", "", netguard.Reserved, ""},
	{"4000::/2", netguard.Reserved, "", netguard.Reserved},
	// What leads to IPv4 addresses.
	{"64:ff9b::808:808/128", "", "", ""}, // 8.8.8.8
	{"64:ff9b::7f00:0/104", netguard.Loopback, "", ""},
	{"64:ff9b::a00:0/104", netguard.Private, "", ""},
	{"64:ff9b::c0a8:0/112", netguard.Private, "", ""},
	{"64:ff9b::a9fe:a9fe/128", netguard.Metadata, netguard.Metadata, netguard.LinkLocal}, // 169.254.169.253 is one, too
	{"64:ff9b::/104", netguard.Unspecified, netguard.Reserved, ""},
	{"64:ff9b::ffff:ffff/128", netguard.Broadcast, netguard.Reserved, netguard.Reserved},
	{"::7f00:0/104", netguard.Loopback, netguard.Reserved, netguard.Reserved}, // IPv4-compatible
	{"::a00:0/104", netguard.Private, netguard.Reserved, netguard.Reserved},
	{"::808:808/128", netguard.Reserved, netguard.Reserved, netguard.Reserved},
	{"::ffff:0:7f00:0/104", netguard.Reserved, netguard.Reserved, netguard.Reserved}, // SIIT
	{"2606:4700::5efe:a00:0/104", netguard.ISATAP, "", ""},
	{"2606:4700::200:5efe:c0a8:0/112", netguard.ISATAP, "", ""},
	{"2606:4700::5efe:808:808/128", "", "", ""},
	{"2606:4700::300:5efe:a00:1/128", "", "", ""}, // no ISATAP address: the group bit is set
	// Metadata services.
	{"169.254.169.254/32", netguard.Metadata, netguard.Metadata, netguard.LinkLocal},
	{"169.254.169.252/31", netguard.Metadata, netguard.LinkLocal, netguard.Metadata},
	{"169.254.170.2/32", netguard.Metadata, netguard.LinkLocal, netguard.LinkLocal},
	{"169.254.170.23/32", netguard.Metadata, netguard.LinkLocal, netguard.LinkLocal},
	{"169.254.0.23/32", netguard.Metadata, netguard.LinkLocal, netguard.LinkLocal},
	{"169.254.42.42/32", netguard.Metadata, netguard.LinkLocal, netguard.LinkLocal},
	{"168.63.129.16/32", netguard.Metadata, "", ""},
	{"100.100.100.200/32", netguard.Metadata, netguard.CGNAT, netguard.CGNAT},
	{"192.0.0.192/32", netguard.Metadata, netguard.Reserved, netguard.Reserved},
	{"fd00:ec2::/32", netguard.Metadata, netguard.Private, netguard.Private},
	{"fd20:ce::254/128", netguard.Metadata, netguard.Private, netguard.Private},
	{"fd00:c1::a9fe:a9fe/128", netguard.Metadata, netguard.Private, netguard.Private},
	{"fd00:42::42/128", netguard.Metadata, netguard.Private, netguard.Private},
	{"fd00:100::100:200/128", netguard.Metadata, netguard.Private, netguard.Private},
	{"fd00:a9fe:a9fe::1/128", netguard.Metadata, netguard.Private, netguard.Private},
	{"fe80::a9fe:a9fe/128", netguard.Metadata, netguard.LinkLocal, netguard.LinkLocal},
	// Public.
	{"1.1.1.1/32", "", "", ""},
	{"8.8.8.8/32", "", "", ""},
	{"93.184.216.34/32", "", "", ""},
	{"2606:4700::1111/128", "", "", ""},
	{"2a00:1450:4001::/48", "", "", ""},
}

// TestNetworks tries the first and the last address of each network and their
// neighbours, as they are in URLs and as what a name leads to.
func TestNetworks(t *testing.T) {
	wants := map[netip.Addr]netguard.Rule{}
	for _, n := range networks {
		first := netip.MustParsePrefix(n.network)
		last := lastOf(first)
		wants[first.Addr()], wants[last] = n.rule, n.rule
		if before := first.Addr().Prev(); before.IsValid() && n.network != "0.0.0.0/8" {
			wants[before] = n.before
		}
		if after := last.Next(); after.IsValid() {
			wants[after] = n.after
		}
	}
	names := map[string]answers{}
	for addr := range wants {
		names[nameFor(addr)] = answers{addr.String()}
	}
	client := guard(t, zone(t, names)).Client()
	for addr, want := range wants {
		literal := addr.String()
		if addr.Is6() {
			literal = "[" + literal + "]"
		}
		if got := ruleFor(t, guard(t, nil), literal); got != want {
			t.Errorf("%s: got %q, want %q", addr, got, want)
		}
		if mapped := "[::ffff:" + literal + "]"; addr.Is4() && want != "" && ruleFor(t, guard(t, nil), mapped) != want {
			t.Errorf("%s: not %s", mapped, want)
		}
		if want == "" || addr.Is6() && !hasIPv6() {
			continue // nothing is sent anywhere
		}
		wantDenied(t, client, "http://"+nameFor(addr)+"/", want)
	}
	if len(wants) < 200 {
		t.Errorf("only %d addresses", len(wants))
	}
}

func nameFor(addr netip.Addr) string { return fmt.Sprintf("x%x.test", addr.AsSlice()) }

// lastOf returns the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
