// Package netguard keeps HTTP clients to the public internet. It checks the
// address that is dialled, after names are resolved and for each attempt, so
// that neither redirects nor names whose answers change nor odd notations lead
// to this machine, its network or its cloud's metadata service. What lies there
// is reached only where policy names it ([ParseHost]).
package netguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Options are what a guard works with.
type Options struct {
	Open     []Host        // what clients may reach although it is not public
	Denied   []Host        // addresses that clients may not reach, whatever opens them
	DeniedBy Rule          // the list that Denied is, for refusals
	Resolver *net.Resolver // nil for the system's
	Setting  string        // what opens a host to these clients in the configuration, for refusals
	AnyPort  bool          // also those of other protocols than HTTP
	Proxy    *url.URL      // what clients reach all but the hosts in Open through; nil for none; see [ParseProxy]
	MaxIdle  int           // connections to a host that are kept for the next requests; 0 for few
}

// A Guard decides what HTTP clients may connect to.
type Guard struct {
	options    Options
	dialer     net.Dialer
	interfaces func() ([]net.Addr, error) // the machine's addresses
}

// New returns a guard.
func New(o Options) *Guard {
	o.MaxIdle = cmp.Or(o.MaxIdle, maxIdlePer)
	return &Guard{o, net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: o.Resolver}, net.InterfaceAddrs}
}

// DeniedError says that policy keeps clients from a host.
type DeniedError struct {
	Rule   Rule
	Target string // the host as it was asked for, with its port if it had one
	Addr   string // what the host leads to, if it is a name
	Allow  string // what opens it in the configuration; empty if nothing does
	// Setting is the list that Allow belongs in, besides sandbox.private_hosts.
	Setting string

	why string // instead of what the rule means
}

func (e *DeniedError) Error() string {
	why := e.why
	switch {
	case why == "" && e.Addr != "":
		why = "it leads to " + e.Addr + ", which is " + e.Rule.means()
	case why == "":
		why = "it is " + e.Rule.means()
	}
	return fmt.Sprintf("%.300s is denied by %s: %s", e.Target, e.Rule, why)
}

// check decides on an address that a host was resolved to. The error is a
// *DeniedError.
func (g *Guard) check(host string, addr netip.AddrPort) error {
	if err := g.checkDenied(host, addr); err != nil {
		return err
	}
	rule := ruleFor(addr.Addr())
	if rule == "" && g.isOwn(addr.Addr()) {
		rule = Loopback
	}
	if rule == "" || rule != Zone && g.opened(host, addr, rule) {
		if !g.options.AnyPort && slices.Contains(badPorts, addr.Port()) && !g.opened(host, addr, Port) {
			return badPort(target(host, addr.Port()), addr.Port())
		}
		return nil
	}
	denied := &DeniedError{Rule: rule, Target: target(host, addr.Port()), Allow: target(host, addr.Port()), Setting: g.options.Setting}
	if text := addr.Addr().String(); text != host {
		denied.Addr = text
		if rule == Metadata {
			denied.Allow = target(text, addr.Port())
		}
	}
	if rule == Zone {
		denied.Allow = ""
	}
	return denied
}

// checkDenied decides on an address by the list of those that are denied, whose
// entries stand for all ways to them.
func (g *Guard) checkDenied(host string, addr netip.AddrPort) error {
	for _, way := range []netip.Addr{addr.Addr().WithZone(""), plain(addr.Addr())} {
		if way := netip.AddrPortFrom(way, addr.Port()); slices.ContainsFunc(g.options.Denied, func(h Host) bool { return h.denies(way) }) {
			denied := &DeniedError{Rule: g.options.DeniedBy, Target: target(host, addr.Port()), why: "the address is in that list"}
			if text := way.Addr().String(); text != host {
				denied.why = "it leads to " + text + ", which is in that list"
			}
			return denied
		}
	}
	return nil
}

// opened reports whether policy opens an address for a host.
func (g *Guard) opened(host string, addr netip.AddrPort, rule Rule) bool {
	return slices.ContainsFunc(g.options.Open, func(h Host) bool { return h.opens(host, addr, rule) })
}

// ExplicitlyAllowed reports whether policy lists the host of a URL, which
// [Guard.CheckURL] has accepted, as one that may be reached although it is private.
func (g *Guard) ExplicitlyAllowed(u *url.URL) bool {
	host := u.Hostname()
	addr, _ := netip.ParseAddr(host) // of a name, none
	return g.opened(host, netip.AddrPortFrom(addr, PortOf(u)), Private)
}

// target returns a host with its port, unless that goes without saying.
func target(host string, port uint16) string {
	if port == 80 || port == 443 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Bounds of a connection.
const (
	dialTimeout   = 10 * time.Second
	tlsTimeout    = 10 * time.Second
	idleTimeout   = 60 * time.Second
	maxIdle       = 32
	maxIdlePer    = 4
	maxHeaderSize = 256 << 10
)

// Client returns a client that checks every connection. It uses no
// proxy but that of the options, whatever the environment says, since the guard
// cannot see beyond one; keeps no cookies; and follows no redirects: a response that is one is returned
// like any other. Requests need a deadline of their own.
func (g *Guard) Client() *http.Client {
	transport := &http.Transport{
		DialContext: g.Dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: tlsTimeout,
		IdleConnTimeout: idleTimeout, MaxIdleConns: max(maxIdle, g.options.MaxIdle), MaxIdleConnsPerHost: g.options.MaxIdle,
		MaxResponseHeaderBytes: maxHeaderSize,
	}
	if g.options.Proxy != nil {
		transport.Proxy, transport.DialContext, transport.OnProxyConnectResponse = g.proxyFor, g.dialOrProxy, connected
	}
	return &http.Client{
		Transport:     guarded{g, transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded checks the URL of each request before the transport sees it.
type guarded struct {
	guard *Guard
	next  *http.Transport
}

func (t guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	u := *req.URL
	if err := t.guard.CheckURL(&u); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	clone := *req
	clone.URL = &u
	if req.Host == req.URL.Host {
		clone.Host = u.Host
	}
	res, err := t.next.RoundTrip(&clone)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		res.Body.Close() // it is the connection itself, which no context ends
		res.Body = http.NoBody
	}
	if err == nil && res.StatusCode/100 == 3 {
		if _, err := u.Parse(res.Header.Get("Location")); err != nil {
			res.Header.Del("Location") // http.Client would drop the response and quote the header
		}
	}
	if err == nil {
		decode(res)
	}
	return res, err
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t guarded) CloseIdleConnections() { t.next.CloseIdleConnections() }

// Dial connects to a host that [Guard.CheckURL] has accepted, if what it leads to may be
// reached. Each address is checked when its socket is about to connect, and there is no
// other way to one. The error may be a *DeniedError.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var (
		mu     sync.Mutex // addresses of both families are tried in parallel
		denied *DeniedError
	)
	dialer := g.dialer
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(address)
		if err == nil {
			err = g.check(host, addr)
		}
		if d, ok := errors.AsType[*DeniedError](err); ok {
			mu.Lock()
			denied = d
			mu.Unlock()
		}
		return err
	}
	conn, err := dialer.DialContext(ctx, network, address)
	mu.Lock()
	defer mu.Unlock()
	if err != nil && denied != nil {
		return nil, denied
	}
	return conn, err
}

// isOwn reports whether an address is one of this machine's interfaces. A public
// one is so, too: to connect to it from here goes around the firewall that keeps
// the rest of the world from what listens on it. Nor does a translation of its
// address or a tunnel to it lead anywhere else.
func (g *Guard) isOwn(addr netip.Addr) bool {
	addrs, err := g.interfaces()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && (own.Unmap() == addr.Unmap() || own.Unmap() == plain(addr))
	})
}
