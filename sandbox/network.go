package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"toolserver/sandbox/netguard"
)

// Network hands tools the part of the network each may reach. Like [Files] it is
// made for one policy.
type Network struct {
	guard  *netguard.Guard
	client *http.Client
	hosts  map[string]hostLists
	rules  NetworkRules
}

// NetworkRules are what a [Network] is made from, to compare it with another.
type NetworkRules struct {
	Open  []string               // [Settings.PrivateHosts]
	Lists map[string][2][]string // allowed and denied hosts, by tool
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
	n := &Network{guard: netguard.New(netguard.Options{Open: open}), hosts: map[string]hostLists{}}
	n.rules = NetworkRules{p.Settings.PrivateHosts, map[string][2][]string{}}
	n.client = n.guard.Client()
	for _, tool := range browsers {
		lists, err := newHostLists(tool, p.Tools[tool])
		if err != nil {
			return nil, err
		}
		n.hosts[tool], n.rules.Lists[tool] = lists, [2][]string{lists.allow, lists.deny}
	}
	return n, nil
}

// Client returns what tools send their requests with; see [netguard.Guard.Client].
func (n *Network) Client() *http.Client { return n.client }

// Named reports whether sandbox.private_hosts names the host of a URL.
func (n *Network) Named(u *url.URL) bool { return n.guard.Named(u) }

// Rules returns what the network is made from.
func (n *Network) Rules() NetworkRules { return n.rules }

// CheckURL judges a URL that tool is about to send a request to, as far as it
// can be judged before its host is resolved, and makes its host canonical. The
// error is a [*HostError], a [*netguard.DeniedError], or says why it is no URL.
func (n *Network) CheckURL(tool string, u *url.URL) error {
	if err := n.guard.CheckURL(u); err != nil {
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
	return n.hosts[tool].check(u.Hostname(), port)
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
