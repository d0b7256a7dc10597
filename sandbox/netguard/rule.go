package netguard

import (
	_ "embed"
	"net/netip"
	"strings"
	"sync"
)

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

//go:embed networks.txt
var networkLines string

// A networks is a line of networks.txt.
type networks struct {
	rule  Rule
	means string
	list  []netip.Prefix
}

// special are the lines of networks.txt, whose head describes them.
var special = sync.OnceValue(func() (all []networks) {
	for line := range strings.Lines(networkLines) {
		rule, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if !strings.HasPrefix(rule, "network.") {
			continue
		}
		means, list, _ := strings.Cut(rest, ":")
		n := networks{rule: Rule(rule), means: means}
		for network := range strings.FieldsSeq(list) {
			n.list = append(n.list, netip.MustParsePrefix(network))
		}
		all = append(all, n)
	}
	return all
})

// means says what a rule is about.
func (r Rule) means() string {
	for _, s := range special() {
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

// ruleFor returns the rule that keeps clients from an address, or "" for one that
// is public.
func ruleFor(addr netip.Addr) Rule {
	if addr.Zone() != "" {
		return Zone
	}
	addr = addr.Unmap()
	for _, s := range special() {
		for _, network := range s.list {
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
