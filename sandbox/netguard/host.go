package netguard

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Host is something that policy opens although it is not public: a name, an
// address or a network, at one port, at all, or at those of the web.
type Host struct {
	name    string       // as [Canonical] has it; empty if network is set
	below   bool         // the names below name, and not itself
	network netip.Prefix // an address is one of full length
	port    uint16       // 0 for 80 and 443, unless anyPort
	anyPort bool
}

// ParseHost reads NAME, *.NAME for the names below it, ADDRESS or NETWORK, each with
// :PORT, with :* for any port, or for the ports 80 and 443: searx.lan:8080,
// *.svc.cluster.local:*, 10.1.2.3, [fd00::1]:8443, 10.1.0.0/16.
func ParseHost(text string) (Host, error) {
	bad := func(why string) (Host, error) {
		return Host{}, fmt.Errorf("%q is not a host: %s; write a name, *.NAME for those below it, an address or a network, "+
			"with a port or :* unless it is 80 or 443, such as intranet.example:8080", text, why)
	}
	if strings.ContainsAny(text, "@?# ") || strings.Contains(text, "://") {
		return bad("it looks like a URL")
	}
	rest, anyPort := strings.CutSuffix(text, ":*")
	rest, below := strings.CutPrefix(rest, "*.")
	host, port, err := splitPort(rest)
	if err != nil {
		return bad(err.Error())
	}
	if port != 0 && anyPort {
		return bad("it has two ports")
	}
	h := Host{port: port, below: below, anyPort: anyPort}
	if strings.Contains(host, "/") {
		network, err := netip.ParsePrefix(host)
		if err != nil || below {
			return bad("the network cannot be read")
		}
		if network.Masked() != network {
			return bad("it has bits beyond its length; " + network.Masked().String() + " is the network")
		}
		if network.Addr().Is4In6() {
			return bad("networks of IPv4 are written as such")
		}
		h.network = network
		return h, nil
	}
	addr, isLiteral, err := literalOf(host)
	if err != nil || isLiteral && below {
		return bad("it is neither a name nor an address")
	}
	if !isLiteral {
		h.name, err = Canonical(host)
		return h, err
	}
	addr = addr.Unmap()
	if addr.Zone() != "" {
		return bad("addresses with a zone are never reached")
	}
	if addr.Is4() && addr.String() != host && !strings.Contains(host, ":") {
		return bad("write the address as " + addr.String())
	}
	h.network = netip.PrefixFrom(addr, addr.BitLen())
	return h, nil
}

// Matches reports whether h is what is asked for, in any notation, or holds it: names
// match names only, and addresses and networks match addresses only.
func (h Host) Matches(host string, port uint16) bool {
	addr, isLiteral, err := literalOf(host)
	if err != nil || !h.hasPort(port) || isLiteral {
		return isLiteral && h.hasPort(port) && h.network.Contains(addr.Unmap())
	}
	name, err := Canonical(host)
	return err == nil && h.hasName(name)
}

// hasName reports whether a canonical name is h's, or one of those below it.
func (h Host) hasName(name string) bool {
	before, ends := strings.CutSuffix(name, h.name)
	return h.name != "" && ends && (before != "") == h.below && (!h.below || len(before) > 1 && strings.HasSuffix(before, "."))
}

func (h Host) hasPort(port uint16) bool {
	return h.anyPort || h.port == port || h.port == 0 && (port == 80 || port == 443)
}

// String returns the host as [ParseHost] reads it.
func (h Host) String() string {
	text := h.name
	switch {
	case text != "":
	case h.network.IsSingleIP() && h.network.Addr().Is4():
		text = h.network.Addr().String()
	case h.network.IsSingleIP():
		text = "[" + h.network.Addr().String() + "]"
	default:
		text = h.network.String()
	}
	if h.below {
		text = "*." + text
	}
	switch {
	case h.anyPort:
		text += ":*"
	case h.port != 0:
		text += ":" + strconv.Itoa(int(h.port))
	}
	return text
}

// splitPort splits what ends in a port. An IPv6 address with a port stands in
// brackets.
func splitPort(text string) (host string, port uint16, err error) {
	host = text
	if inner, ok := strings.CutPrefix(text, "["); ok {
		address, rest, closed := strings.Cut(inner, "]")
		if !closed || rest != "" && rest[0] != ':' {
			return "", 0, fmt.Errorf("the brackets do not match")
		}
		if !strings.Contains(address, ":") {
			return "", 0, fmt.Errorf("only IPv6 addresses stand in brackets")
		}
		host, text = address, "x"+rest
	} else if strings.Count(text, ":") > 1 && !strings.Contains(text, "/") {
		return text, 0, nil // an IPv6 address alone
	}
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.LastIndexByte(text, '/') > i {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is not a port", text[i+1:])
	}
	if host == text {
		host = text[:i]
	}
	return host, uint16(n), nil
}

// opens reports whether h opens an address that a host was resolved to. A name
// does not open what cannot be meant by it: the metadata services, whose
// addresses are the same everywhere, so that the DNS server of the name could
// point it there. Nor does a network that only happens to contain them, as
// fd00::/8 does those of several clouds: their own address opens them. The port
// of another protocol is opened by its number.
func (h Host) opens(host string, addr netip.AddrPort, rule Rule) bool {
	if !h.hasPort(addr.Port()) || rule == Port && h.anyPort {
		return false
	}
	if h.name != "" {
		return h.hasName(host) && rule != Metadata
	}
	return h.network.Contains(addr.Addr().Unmap()) && (rule != Metadata || h.network.IsSingleIP())
}

// denies reports whether h stands for an address in a list of what is denied, where
// it stands for every port unless it has one.
func (h Host) denies(addr netip.AddrPort) bool {
	return h.name == "" && h.network.Contains(addr.Addr()) && (h.port == 0 || h.port == addr.Port())
}
