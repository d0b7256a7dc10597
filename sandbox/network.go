package sandbox

import (
	"cmp"
	"maps"
	"strings"

	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/sandbox/netproxy"
	"github.com/toolserver/toolserver/sandbox/programs"
)

// Network says what commands may reach: a word alone, or hosts.
type Network struct {
	Reach string   `yaml:"reach" short:"alone" enum:"none|loopback|all"`
	Allow []string `yaml:"allow" format:"reachable"`
}

var networks = map[string]confine.Network{"": confine.None, "none": confine.None, "loopback": confine.Loopback, "all": confine.All}

// kind is the network in the terms of the kernel.
func (n Network) kind() confine.Network {
	if n.Allow != nil {
		return confine.Proxied
	}
	return networks[n.Reach]
}

// hosts names the setting and the first hosts that it allows.
func (n Network) hosts() string { return "sandbox.network.allow (" + first(n.Allow) + ")" }

// Reach says in a few words what network the policy gives commands, and what they write.
func (c *Commands) Reach() string {
	n := c.policy.Settings.Network
	network := "The network of this machine"
	switch {
	case !c.confinable():
		return "Not confined: what the server's user may do, it may"
	case n.Allow != nil:
		network = "Network: hosts that the operator allows"
	case n.kind() == confine.None:
		network = "No network"
	case n.kind() == confine.Loopback:
		network = "Network: a loopback interface of its own"
	}
	return network + "; writes only where write_file may and in $TMPDIR"
}

// inForce is what reports say of the network.
func (n Network) inForce(have confine.Support) string {
	if n.Allow != nil && have.NetNamespace {
		return "network: " + n.hosts() + ", through a proxy"
	}
	return "network: " + cmp.Or(n.Reach, confine.None.String())
}

// reachable returns what the proxies of a policy let commands reach.
func (p Policy) reachable() (r netproxy.Rules, err error) {
	open, err := parseList("sandbox.private_hosts", p.Settings.PrivateHosts, netguard.ParseHost)
	if err != nil {
		return r, err
	}
	hosts := p.Settings.Network.Allow
	if hosts != nil {
		hosts = union(hosts, programs.Hosts(p.Settings.Presets))
	}
	allow, err := parseList("sandbox.network.allow", hosts, netguard.ParseHost)
	return netproxy.Rules{Allow: allow, Guard: netguard.New(netguard.Options{Open: open, AnyPort: true}), Setting: p.Settings.Network.hosts()}, err
}

// throughProxy returns the proxy of a confined process, and its variables besides those
// that are set. There is none if policy names no hosts or this machine has no network
// of its own for it.
func (c *Commands) throughProxy(set map[string]string, asker netproxy.Asker) (*netproxy.Proxy, map[string]string) {
	if !c.Confined() || c.policy.Settings.Network.kind() != confine.Proxied || !c.kernel.support.NetNamespace {
		return nil, set
	}
	// Programs differ in the case they look for. One for SOCKS in ALL_PROXY would break
	// those that do not speak it.
	const proxy, direct = "http://" + confine.ProxyAddress, "localhost,127.0.0.1,::1"
	variables := map[string]string{"NODE_USE_ENV_PROXY": "1"}
	for name, value := range map[string]string{"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": direct} {
		variables[name], variables[strings.ToLower(name)] = value, value
	}
	maps.Copy(variables, set)
	p := &netproxy.Proxy{Rules: c.reachable, Asker: asker}
	p.Places = c.kernel.proxied
	return p, variables
}
