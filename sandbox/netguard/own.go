package netguard

import (
	"net"
	"net/netip"
	"slices"
)

// isOwn reports whether an address is one of this machine's interfaces. A public
// one is so, too: to connect to it from here goes around the firewall that keeps
// the rest of the world from what listens on it.
func (g *Guard) isOwn(addr netip.Addr) bool {
	addrs, err := g.interfaces()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && own.Unmap() == addr.Unmap()
	})
}
