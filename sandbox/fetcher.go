package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"toolserver/sandbox/netguard"
)

// A Fetcher is what its owner sends HTTP requests with. It follows the policy in
// force, because tools keep what they know of services from policy to policy.
type Fetcher struct {
	client *http.Client
	now    atomic.Pointer[hostPolicy]
}

// hostPolicy is what a policy lets an owner reach.
type hostPolicy struct {
	guard  *netguard.Guard
	client *http.Client // with the connections that were made under it
	lists  hostLists
}

// newHostPolicies returns what p lets each owner reach that fetches.
func newHostPolicies(p Policy) (map[string]*hostPolicy, error) {
	everyone, err := parseHosts("sandbox.private_hosts", p.Settings.PrivateHosts)
	if err != nil {
		return nil, err
	}
	all := map[string]*hostPolicy{}
	for _, o := range p.Owners {
		if o.Fetches == "" {
			continue
		}
		holder := o.Tool
		if p.Tools[holder].PrivateHosts == nil {
			holder = o.Fetches
		}
		own, err := parseHosts("tools."+holder+".private_hosts", p.Tools[holder].PrivateHosts)
		if err != nil {
			return nil, err
		}
		h := newHostPolicy(o.Tool, slices.Concat(own, everyone))
		if h.lists, err = p.hostLists(o); err != nil {
			return nil, err
		}
		all[o.Tool] = h
	}
	return all, nil
}

func parseHosts(key string, texts []string) (hosts []netguard.Host, err error) {
	for i, text := range texts {
		host, err := netguard.ParseHost(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func newHostPolicy(tool string, open []netguard.Host) *hostPolicy {
	guard := netguard.New(netguard.Options{Open: open, Setting: "tools." + tool + ".private_hosts"})
	return &hostPolicy{guard: guard, client: guard.Client()}
}

func newFetcher(h *hostPolicy) *Fetcher {
	f := &Fetcher{}
	f.now.Store(h)
	f.client = &http.Client{Transport: current{f}, CheckRedirect: h.client.CheckRedirect}
	return f
}

// current is the transport of whatever policy is in force.
type current struct{ *Fetcher }

func (c current) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.now.Load().client.Transport.RoundTrip(req)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (c current) CloseIdleConnections() { c.now.Load().client.CloseIdleConnections() }

// Client returns a client that follows no redirects; see [netguard.Guard.Client].
func (f *Fetcher) Client() *http.Client { return f.client }

// Named reports whether the policy names the host of a URL as one that may be
// reached although it is private.
func (f *Fetcher) Named(u *url.URL) bool { return f.now.Load().guard.Named(u) }

// CheckURL judges a URL that a request is about to be sent to, as far as it can be
// judged before its host is resolved, and makes its host canonical. The error is a
// [*HostError], a [*netguard.DeniedError], or says why it is no URL.
func (f *Fetcher) CheckURL(u *url.URL) error {
	h := f.now.Load()
	if err := h.guard.CheckURL(u); err != nil {
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
	return h.lists.check(u.Hostname(), port)
}

// network has the fetchers, by owner. They outlive policies.
type network struct {
	mu       sync.Mutex
	begun    bool
	inForce  map[string]*hostPolicy
	fetchers map[string]*Fetcher
}

func newNetwork() *network { return &network{fetchers: map[string]*Fetcher{}} }

// begin puts the first policy into force.
func (n *network) begin(policies map[string]*hostPolicy) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		n.begun, n.inForce = true, policies
	}
}

// fetcher returns the fetcher of an owner. One that is new has the policy in force,
// or none if that does not know its owner.
func (n *network) fetcher(tool string) *Fetcher {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fetchers[tool] == nil {
		n.fetchers[tool] = newFetcher(policyOf(n.inForce, tool))
	}
	return n.fetchers[tool]
}

// apply puts a policy into force. Requests in flight end under the old one, whose
// connections are not used again.
func (n *network) apply(policies map[string]*hostPolicy) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inForce = policies
	for tool, f := range n.fetchers {
		now := policyOf(policies, tool)
		if old := f.now.Swap(now); old != now {
			old.client.CloseIdleConnections()
		}
	}
}

func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.fetchers {
		f.client.CloseIdleConnections()
	}
}

// policyOf returns what policies let a tool reach, which is nothing if they do not
// know it.
func policyOf(policies map[string]*hostPolicy, tool string) *hostPolicy {
	if h := policies[tool]; h != nil {
		return h
	}
	h := newHostPolicy(tool, nil)
	h.lists = hostLists{tool: tool, allow: []string{}}
	h.client.Transport = refusingTransport{h.lists}
	return h
}

// refusingTransport sends no request.
type refusingTransport struct{ lists hostLists }

func (r refusingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return nil, r.lists.check(req.URL.Hostname(), req.URL.Port())
}
