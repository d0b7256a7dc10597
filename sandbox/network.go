package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"

	"toolserver/sandbox/netguard"
)

// Network hands tools the part of the network each may reach. Unlike [Files] it
// can take over another policy: what tools know of services is worth keeping.
type Network struct {
	client *http.Client
	now    atomic.Pointer[reach]
}

// reach is what a policy lets tools reach.
type reach struct {
	guard  *netguard.Guard
	client *http.Client // with the connections that were made under it
	hosts  map[string]hostLists
}

// NewNetwork returns the network that p allows.
func NewNetwork(p Policy) (*Network, error) {
	var open []netguard.Host
	for i, text := range p.Settings.PrivateHosts {
		host, err := netguard.ParseHost(text)
		if err != nil {
			return nil, fmt.Errorf("sandbox.private_hosts[%d]: %w", i, err)
		}
		open = append(open, host)
	}
	guard := netguard.New(netguard.Options{Open: open})
	r := &reach{guard: guard, client: guard.Client(), hosts: map[string]hostLists{}}
	for _, tool := range browsers {
		lists, err := newHostLists(tool, p.Tools[tool])
		if err != nil {
			return nil, err
		}
		r.hosts[tool] = lists
	}
	n := &Network{}
	n.now.Store(r)
	n.client = &http.Client{Transport: current{n}, CheckRedirect: r.client.CheckRedirect}
	return n, nil
}

// current is the transport of whatever policy is in force.
type current struct{ *Network }

func (c current) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.now.Load().client.Transport.RoundTrip(req)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (c current) CloseIdleConnections() { c.now.Load().client.CloseIdleConnections() }

// Adopt takes over the policy of another network. Requests under way end under
// the old one; its connections are not used again.
func (n *Network) Adopt(other *Network) {
	n.now.Swap(other.now.Load()).client.CloseIdleConnections()
}

// Client returns what tools send their requests with; see [netguard.Guard.Client].
func (n *Network) Client() *http.Client { return n.client }

// Named reports whether sandbox.private_hosts names the host of a URL.
func (n *Network) Named(u *url.URL) bool { return n.now.Load().guard.Named(u) }

// CheckURL judges a URL that tool is about to send a request to, as far as it
// can be judged before its host is resolved, and makes its host canonical. The
// error is a [*HostError], a [*netguard.DeniedError], or says why it is no URL.
func (n *Network) CheckURL(tool string, u *url.URL) error {
	r := n.now.Load()
	if err := r.guard.CheckURL(u); err != nil {
		return err
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return r.hosts[tool].check(u.Hostname(), port)
}

// Close gives up connections that are kept for further requests.
func (n *Network) Close() { n.client.CloseIdleConnections() }

// explain says what policy makes of a URL. It asks nobody for an address, so of
// a name it knows only what the lists say.
func (n *Network) explain(tool, text string) (Explanation, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Explanation{}, fmt.Errorf("%s: %q is not a URL", tool, text)
	}
	err = n.CheckURL(tool, u)
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		return Explanation{Rule: string(denied.Rule), Reason: denied.Error()}, nil
	}
	if denied, ok := errors.AsType[*HostError](err); ok {
		return Explanation{Rule: denied.Rule, Reason: denied.Error()}, nil
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("%s: %w", tool, err)
	}
	reason := u.Hostname() + " is an address that may be reached"
	if _, err := netip.ParseAddr(u.Hostname()); err != nil {
		reason = "no list is against " + u.Hostname() + "; the address it leads to is judged when it is dialled, and must be public"
	}
	return Explanation{Allowed: true, Reason: reason}, nil
}
