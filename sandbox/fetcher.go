package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// A Fetcher sends the HTTP requests of its owner. It follows the policy in force,
// because tools keep what they know of services from policy to policy.
type Fetcher struct {
	network *network
	tool    string
}

// hostPolicy is what a policy lets an owner reach. Lists are of hosts, in their
// canonical form: names, which stand for their subdomains, too, or addresses;
// either may end in a port, without which it stands for all.
type hostPolicy struct {
	tool        string
	ask         bool     // a person may allow a host that is not in allow
	allow, deny []string // allow is nil if any host is allowed
	open        []netguard.Host
	proxy       *url.URL // nil for none

	connecting sync.Once
	connection atomic.Pointer[connection]
}

// connection is what requests are sent with under a policy. It is made for the first.
type connection struct {
	guard  *netguard.Guard
	client *http.Client // with the connections that were made under the policy
	lists  string       // the same for the same lists
}

// HostError says that a list keeps a tool from a host.
type HostError struct {
	Host    string
	Port    string
	Rule    string   // the list that decides: tools.web_fetch.denied_hosts
	Allowed []string // what would be allowed, if a list says so
	Policy  any      // identifies the policy, if a person may allow the host; see [WithHosts]
}

func (e *HostError) Error() string {
	if e.Allowed == nil {
		return fmt.Sprintf("%s is denied by %s", e.Host, e.Rule)
	}
	return fmt.Sprintf("%s is not in %s, which allows %s", e.Host, e.Rule, cmp.Or(strings.Join(e.Allowed, ", "), "nothing"))
}

// newHostPolicies returns what p lets each owner reach that fetches.
func newHostPolicies(p Policy) (map[string]*hostPolicy, error) {
	everyone, err := parseList("sandbox.private_hosts", p.Settings.PrivateHosts, netguard.ParseHost)
	if err != nil {
		return nil, err
	}
	proxy, err := p.proxy()
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
		own, err := parseList("tools."+holder+".private_hosts", p.Tools[holder].PrivateHosts, netguard.ParseHost)
		if err != nil {
			return nil, err
		}
		h := &hostPolicy{tool: o.Tool, ask: slices.Contains(p.Settings.Ask, "network")}
		if o.hasHosts() {
			if err := h.readLists(p, o); err != nil {
				return nil, err
			}
		}
		h.open, h.proxy = slices.Concat(own, everyone), proxy
		all[o.Tool] = h
	}
	return all, nil
}

// readLists sets the lists of an owner: denies add up, and an allow list of its own replaces the
// family's.
func (h *hostPolicy) readLists(p Policy, o Owner) error {
	for _, tool := range slices.Compact([]string{o.Fetches, o.Tool}) {
		allow, err := parseList("tools."+tool+".allowed_hosts", p.Tools[tool].AllowedHosts, hostEntry)
		if err != nil {
			return err
		}
		deny, err := parseList("tools."+tool+".denied_hosts", p.Tools[tool].DeniedHosts, hostEntry)
		if err != nil {
			return err
		}
		if allow != nil {
			h.allow = allow
		}
		h.deny = union(h.deny, deny)
	}
	return nil
}

// parseList parses the entries of a list of hosts; one that is not set stays nil.
func parseList[T any](key string, texts []string, parse func(string) (T, error)) ([]T, error) {
	if texts == nil {
		return nil, nil
	}
	entries := make([]T, len(texts))
	for i, text := range texts {
		entry, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		entries[i] = entry
	}
	return entries, nil
}

// proxy returns the proxy of tools, nil for none.
func (p *Policy) proxy() (*url.URL, error) {
	if p.Proxy == "" {
		return nil, nil
	}
	u, err := netguard.ParseProxy(p.Proxy)
	if err != nil {
		return nil, fmt.Errorf("web.proxy: %w", err)
	}
	return u, nil
}

// connected returns the client of the owner, which goes by the addresses that hosts lead to:
// those that are open, and those in the list of denied hosts.
func (h *hostPolicy) connected() *connection {
	h.connecting.Do(func() {
		var denied []netguard.Host
		for _, entry := range h.deny {
			if host, err := netguard.ParseHost(entry); err == nil { // not *
				denied = append(denied, host)
			}
		}
		guard := netguard.New(netguard.Options{
			Open: h.open, Denied: denied, DeniedBy: netguard.Rule(h.denies()), Proxy: h.proxy, Setting: "tools." + h.tool + ".private_hosts",
		})
		lists := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", h.open, h.allow, h.deny))
		h.connection.Store(&connection{guard, guard.Client(), hex.EncodeToString(lists[:])})
	})
	return h.connection.Load()
}

// closeIdle closes the connections that no request uses.
func (h *hostPolicy) closeIdle() {
	if c := h.connection.Load(); c != nil {
		c.client.CloseIdleConnections()
	}
}

// denies names the list of denied hosts.
func (h *hostPolicy) denies() string { return "tools." + h.tool + ".denied_hosts" }

// CheckHostEntry reports what is wrong with an entry of a list of hosts.
func CheckHostEntry(text string) error {
	_, err := hostEntry(text)
	return err
}

func hostEntry(text string) (string, error) {
	if text == "*" {
		return text, nil
	}
	if strings.ContainsAny(text, "*/") {
		return "", fmt.Errorf("%q is not a host: write a name such as example.com, which stands for its subdomains, too, an address, or * for any", text)
	}
	host, err := netguard.ParseHost(text)
	if err != nil {
		return "", err
	}
	return host.String(), nil
}

type hostsKey struct{}

// WithHosts returns a context whose requests also reach hosts, each with its port, that
// are in no list, if the policy asks a person about them.
func WithHosts(ctx context.Context, hosts []string) context.Context {
	return context.WithValue(ctx, hostsKey{}, hosts)
}

// check reports whether the lists keep the owner from the host of a URL.
func (h *hostPolicy) check(ctx context.Context, u *url.URL) error {
	host, port := u.Hostname(), cmp.Or(u.Port(), strconv.Itoa(int(netguard.PortOf(u))))
	if matches(h.deny, host, port) {
		return &HostError{Host: host, Rule: h.denies()}
	}
	more, _ := ctx.Value(hostsKey{}).([]string)
	if h.allow == nil || matches(h.allow, host, port) || h.ask && slices.Contains(more, net.JoinHostPort(host, port)) {
		return nil
	}
	refusal := &HostError{Host: host, Port: port, Rule: "tools." + h.tool + ".allowed_hosts", Allowed: h.allow}
	if h.ask {
		refusal.Policy = h
	}
	return refusal
}

func matches(entries []string, host, port string) bool {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return slices.ContainsFunc(entries, func(entry string) bool {
		return entry == "*" || isOrBelow(host, entry) || isOrBelow(host+":"+port, entry)
	})
}

// isOrBelow reports whether a host is that of an entry, or a subdomain of it.
func isOrBelow(host, entry string) bool {
	before, ok := strings.CutSuffix(host, entry)
	return ok && (before == "" || strings.HasSuffix(before, "."))
}

// policy returns what the policy in force lets the owner reach: nothing if it does not
// know the owner.
func (f *Fetcher) policy() *hostPolicy {
	if policies := f.network.Load(); policies != nil && (*policies)[f.tool] != nil {
		return (*policies)[f.tool]
	}
	return &hostPolicy{tool: f.tool, allow: []string{}}
}

// RoundTrip sends a request under the policy in force.
func (f *Fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	h := f.policy()
	if err := h.check(req.Context(), req.URL); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return h.connected().client.Transport.RoundTrip(req)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (f *Fetcher) CloseIdleConnections() { f.policy().closeIdle() }

// Client returns a client that follows no redirects; see [netguard.Guard.Client].
func (f *Fetcher) Client() *http.Client {
	return &http.Client{Transport: f, CheckRedirect: f.policy().connected().client.CheckRedirect}
}

// maxServerIdle is how many connections to a server are kept: as many calls at a time are
// no rarity.
const maxServerIdle = 64

// ServerClient returns a client for a server that configuration names by its URL. It
// reaches that host even if it is private, and otherwise what any tool reaches under this
// policy. It uses the proxy unless the host is private or listed as such. It follows no redirects. The owner must hold servers.
func (c Capabilities) ServerClient(u *url.URL) *http.Client {
	if !c.owner.Holds {
		return (&Fetcher{new(network), c.owner.Tool}).Client()
	}
	open, _ := parseList("sandbox.private_hosts", c.sandbox.policy.Settings.PrivateHosts, netguard.ParseHost) // New has checked them
	if proxy, _ := c.sandbox.policy.proxy(); proxy != nil {                                                   // New has checked it
		guard, asked := netguard.New(netguard.Options{Open: open, Proxy: proxy, MaxIdle: maxServerIdle}), *u
		if guard.CheckURL(&asked) == nil && !guard.ExplicitlyAllowed(&asked) {
			return guard.Client()
		}
	}
	if host, err := netguard.ParseHost(net.JoinHostPort(u.Hostname(), strconv.Itoa(int(netguard.PortOf(u))))); err == nil {
		open = append(open, host)
	}
	return netguard.New(netguard.Options{Open: open, MaxIdle: maxServerIdle}).Client()
}

// ExplicitlyAllowed reports whether the policy lists the host of a URL as one that may
// be reached although it is private.
func (f *Fetcher) ExplicitlyAllowed(u *url.URL) bool {
	return f.policy().connected().guard.ExplicitlyAllowed(u)
}

// Lists identifies the lists of the policy in force: what was fetched under others may lie at an address that they deny.
func (f *Fetcher) Lists() string { return f.policy().connected().lists }

// CheckURL decides on a URL before a request, as far as that is possible before
// its host is resolved, and makes its host canonical. The error is a [*HostError],
// a [*netguard.DeniedError] or a [*netguard.InvalidURLError].
func (f *Fetcher) CheckURL(ctx context.Context, u *url.URL) error {
	h := f.policy()
	if err := h.connected().guard.CheckURL(u); err != nil {
		return err
	}
	return h.check(ctx, u)
}

// network has what the policy in force lets owners reach, by tool; nil before the
// first policy. Fetchers outlive policies.
type network struct {
	atomic.Pointer[map[string]*hostPolicy]
}

// apply puts a policy into force. Requests in flight end under the old one, whose
// connections are not used again.
func (n *network) apply(policies *map[string]*hostPolicy) {
	if old := n.Swap(policies); old != nil && old != policies { // those of the first policy are there already
		for _, h := range *old {
			h.closeIdle()
		}
	}
}
