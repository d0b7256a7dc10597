package netguard

import "net/netip"

// A Rule is why an address, or a URL before it is resolved, is refused: one of
// those below, which start with "network.", or the name of a list.
type Rule string

// The rules for addresses.
const (
	Loopback      Rule = "network.loopback"
	Private       Rule = "network.private"
	LinkLocal     Rule = "network.link_local"
	Metadata      Rule = "network.metadata"
	CGNAT         Rule = "network.cgnat"
	NAT64         Rule = "network.nat64"
	SixToFour     Rule = "network.6to4"
	Teredo        Rule = "network.teredo"
	ISATAP        Rule = "network.isatap"
	Unspecified   Rule = "network.unspecified"
	Multicast     Rule = "network.multicast"
	Broadcast     Rule = "network.broadcast"
	Documentation Rule = "network.documentation"
	Benchmarking  Rule = "network.benchmarking"
	Reserved      Rule = "network.reserved"
	Zone          Rule = "network.zone"
)

// The rules for URLs.
const (
	Scheme   Rule = "network.scheme"
	UserInfo Rule = "network.userinfo"
	Notation Rule = "network.notation"
	Port     Rule = "network.port"
)

// special are the networks that are not the public internet, the more specific
// first: the registries IANA keeps of special-purpose addresses (RFC 6890), and
// where clouds have their metadata services. What a rule means follows "which is".
var special = []struct {
	rule     Rule
	means    string
	networks []netip.Prefix
}{
	{Metadata, "the metadata service of a cloud", prefixes(
		"169.254.169.254/32", "fe80::a9fe:a9fe/128", // most clouds, OpenStack
		"169.254.169.253/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::/32", // AWS
		"169.254.169.252/32", "fd20:ce::254/128", // Google Cloud
		"168.63.129.16/32",                            // Azure, a public address
		"100.100.100.200/32", "fd00:100::100:200/128", // Alibaba Cloud
		"192.0.0.192/32", "fd00:c1::a9fe:a9fe/128", // Oracle Cloud
		"169.254.0.23/32",                     // Tencent Cloud
		"169.254.42.42/32", "fd00:42::42/128", // Scaleway
		"fd00:a9fe:a9fe::1/128", // Akamai
	)},
	{Loopback, "this machine", prefixes("127.0.0.0/8", "::1/128")},
	{Private, "a private network", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")},
	{LinkLocal, "the local link", prefixes("169.254.0.0/16", "fe80::/10")},
	{CGNAT, "a carrier's shared address space", prefixes("100.64.0.0/10")},
	{Unspecified, "no address; systems take it for this machine", prefixes("0.0.0.0/8", "::/128")},
	{Multicast, "a multicast group", prefixes("224.0.0.0/4", "ff00::/8")},
	{Broadcast, "the broadcast address", prefixes("255.255.255.255/32")},
	{Documentation, "an example of documentation",
		prefixes("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")},
	{Benchmarking, "a network for benchmarks", prefixes("198.18.0.0/15", "2001:2::/48")},
	{SixToFour, "a 6to4 tunnel", prefixes("192.88.99.0/24", "2002::/16")},
	{Teredo, "a Teredo tunnel", prefixes("2001::/32")},
	{NAT64, "a local translation of IPv4 addresses", prefixes("64:ff9b:1::/48")},
	{Reserved, "reserved and not on the public internet", prefixes("192.0.0.0/24", "240.0.0.0/4", "100::/64", "2001::/23")},
	{Zone, "an address with a zone, which is on the local link", nil},
	{ISATAP, "an ISATAP tunnel to an address that is not public", nil},
}

// means says what a rule is about.
func (r Rule) means() string {
	for _, s := range special {
		if s.rule == r {
			return s.means
		}
	}
	return ""
}

// These are networks of IPv6.
var (
	global     = netip.MustParsePrefix("2000::/3")     // what is handed out (RFC 4291, section 2.4)
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // by which networks without IPv4 reach all of it (RFC 6052)
	compatible = netip.MustParsePrefix("::/96")        // which some systems tunnel to the IPv4 address at their end
	sixToFour  = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")    // RFC 4380
)

// isISATAP reports whether the last half of an address is that of a tunnel to the IPv4 address at its end (RFC 5214, section 6.1).
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// plain returns the IPv4 address that is in an IPv6 address of the kinds that lead to one, and any other address as it is.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case teredo.Contains(addr): // inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	case nat64.Contains(addr), compatible.Contains(addr), isISATAP(addr):
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// ruleFor returns the rule that keeps clients from an address, or "" for one that
// is public.
func ruleFor(addr netip.Addr) Rule {
	if addr.Zone() != "" {
		return Zone
	}
	addr = addr.Unmap()
	for _, s := range special {
		for _, network := range s.networks {
			if network.Contains(addr) {
				return s.rule
			}
		}
	}
	if addr.Is4() {
		return ""
	}
	rule := Rule("")
	if inner := plain(addr); inner.Is4() {
		rule = ruleFor(inner)
	}
	switch {
	case nat64.Contains(addr), compatible.Contains(addr) && rule != "":
		return rule
	case !global.Contains(addr):
		return Reserved
	case rule != "": // the tunnels left are ISATAP's
		return ISATAP
	}
	return ""
}
