//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// publicAddress is where names of the tests lead that are to be reached.
const publicAddress = "93.184.216.34"

// closedAddresses are where names may lead that are not to be reached.
var closedAddresses = map[string]string{
	"127.0.0.1": "network.loopback", "127.9.8.7": "network.loopback", "::1": "network.loopback", "::ffff:127.0.0.1": "network.loopback",
	"::127.0.0.1":     "network.loopback",
	"64:ff9b::7f00:1": "network.loopback", "0.0.0.0": "network.unspecified", "0.1.2.3": "network.unspecified", "::": "network.unspecified",
	"10.0.0.1":   "network.private",
	"172.16.0.1": "network.private", "192.168.0.1": "network.private", "fd00::1": "network.private", "fec0::1": "network.private",
	"64:ff9b::a00:1": "network.private",
	"100.64.0.1":     "network.cgnat", "169.254.1.1": "network.link_local", "fe80::1": "network.link_local", "169.254.169.254": "network.metadata",
	"168.63.129.16":   "network.metadata",
	"100.100.100.200": "network.metadata", "fd00:ec2::254": "network.metadata", "64:ff9b::a9fe:a9fe": "network.metadata",
	"192.0.0.1": "network.reserved", "240.0.0.1": "network.reserved",
	"4000::1": "network.reserved", "255.255.255.255": "network.broadcast", "224.0.0.1": "network.multicast", "ff02::1": "network.multicast",
	"192.0.2.1":   "network.documentation",
	"2001:db8::1": "network.documentation", "198.18.0.1": "network.benchmarking", "2002:7f00:1::1": "network.6to4",
	"2001::1": "network.teredo", "2606:4700::5efe:a00:1": "network.isatap",
	"64:ff9b:1::1": "network.nat64",
}

// internet is a machine that has all addresses, with a server on it.
type internet struct {
	*box
	report string
	wants  map[string]int // connections, by the address connected to
}

// newInternet starts a server on a machine that has all addresses, see
// test/netns. It skips the test where the machine has no namespaces for it.
func newInternet(t *testing.T, names map[string][][]string, s setup) *internet {
	t.Helper()
	g := newGround(t, account{"own", os.Geteuid()})
	file := filepath.Join(g.dir, "names.json")
	b, err := json.Marshal(names)
	must(t, err)
	must(t, os.WriteFile(file, b, 0o644))
	n := &internet{report: filepath.Join(g.dir, "report"), wants: map[string]int{}}
	netns := []string{built(t, "netns"), "-names", file, "-report", n.report}
	out, err := exec.Command(netns[0], append(netns[1:], "true")...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("this machine has no namespaces for it: %s", out)
	}
	if err != nil {
		t.Fatalf("netns: %v: %s", err, out)
	}
	n.box = &box{toolClient: connect(t, append(netns, g.argv(s)...)...), ground: g}
	return n
}

// reaches fetches what is to be reached, and says where that is.
func (n *internet) reaches(url string, at ...string) {
	n.t.Helper()
	for _, address := range at {
		n.wants[address]++
	}
	o := n.fetch(url)
	if last := at[len(at)-1]; o.failed || !strings.Contains(o.text, "reached "+last) {
		n.t.Errorf("%s does not reach %s: %v", url, last, o)
	}
}

// refuses fetches what is to be refused, after having been at some addresses.
func (n *internet) refuses(url, rule string, at ...string) {
	n.t.Helper()
	for _, address := range at {
		n.wants[address]++
	}
	wantRule(n.t, url, n.fetch(url), rule)
}

// finish ends the server and looks at what it has connected to.
func (n *internet) finish() {
	n.t.Helper()
	n.stop()
	for address, count := range n.connections() {
		if count != n.wants[address] {
			n.t.Errorf("%d connections to %s, want %d", count, address, n.wants[address])
		}
		delete(n.wants, address)
	}
	for address, count := range n.wants {
		n.t.Errorf("no connection to %s, want %d", address, count)
	}
}

// connections returns those that are in the report.
func (n *internet) connections() map[string]int {
	n.t.Helper()
	b, err := os.ReadFile(n.report)
	must(n.t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "connection "); ok && !strings.HasPrefix(address, "127.9.9.9:") { // netns itself
			counts[address]++
		}
	}
	return counts
}

// TestWebInternet has web_fetch reach what is public and what is open, and
// nothing else: asked for it, sent there by redirects, led there by names at once
// or from the second time on, and with variables that name a proxy.
func TestWebInternet(t *testing.T) {
	names := map[string][][]string{
		"public.test": {{publicAddress}}, "intranet.test": {{"10.7.7.7"}},
		"sub.intranet.test": {{"10.7.7.7"}},
		"same.test":         {{"10.7.7.7"}}, "inside.test": {{"10.1.2.3"}}, "cloud.test": {{"169.254.169.254"}},
	}
	for i := range closedHosts {
		names[fmt.Sprintf("from%d.test", i)] = [][]string{{publicAddress}}
	}
	at := func(kind, address string) string { // a name for an address
		return kind + "-" + strings.NewReplacer(":", "x", ".", "-").Replace(address) + ".test"
	}
	for address := range closedAddresses {
		names[at("leads", address)] = [][]string{{address}}
		names[at("turns", address)] = [][]string{{publicAddress}, {address}}
		names[at("mixed", address)] = [][]string{{address, publicAddress}}
	}
	const public, open = publicAddress + ":80", "127.0.0.1:8080"
	for name, env := range map[string][]string{"": nil, "with proxies": proxies("http://10.9.8.7:3128")} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t, names, setup{config: "sandbox: {private_hosts: ['127.0.0.1:8080', 'intranet.test:8080', 10.1.0.0/16, 'cloud.test']}\n", env: env})
			n.reaches("http://public.test/", public)
			n.reaches("http://8.8.8.8/", "8.8.8.8:80")
			n.reaches("http://8.8.8.8:8080/", "8.8.8.8:8080")
			n.reaches("http://PUBLIC.test./", public)
			if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
				n.reaches("http://[2606:4700::1111]/", "[2606:4700::1111]:80")
				n.reaches("http://[64:ff9b::8.8.8.8]/", "[64:ff9b::808:808]:80")
			}
			n.reaches("http://public.test/to?url=http://8.8.8.8/", public, "8.8.8.8:80")
			for i, tt := range closedHosts {
				n.refuses("http://"+tt.host+"/", tt.rule)
				from := fmt.Sprintf("http://from%d.test/to?url=", i)
				n.refuses(from+url.QueryEscape("http://"+tt.host+"/"), tt.rule, public)
				n.refuses(from+url.QueryEscape("//"+tt.host+":8081/"), tt.rule, public)
			}
			for address, rule := range closedAddresses {
				if addr := netip.MustParseAddr(address); addr.Is6() && !hasIPv6(t) {
					continue
				}
				n.refuses("http://"+at("leads", address)+"/", rule)
				n.refuses("https://"+at("leads", address)+"/", rule)
				n.refuses("http://public.test/to?url=http://"+at("leads", address)+"/", rule, public)
				n.reaches("http://"+at("turns", address)+"/", public)
				n.refuses("http://"+at("turns", address)+"/", rule)
				n.reaches("http://"+at("mixed", address)+"/", public)
			}
			// What is open is reached, and nothing beside it.
			n.reaches("http://127.0.0.1:8080/", open)
			n.reaches("http://intranet.test:8080/", "10.7.7.7:8080")
			n.reaches("http://INTRANET.test.:8080/", "10.7.7.7:8080")
			n.reaches("http://10.1.0.0/", "10.1.0.0:80")
			n.reaches("http://10.1.255.255/", "10.1.255.255:80")
			n.reaches("http://inside.test/", "10.1.2.3:80")
			n.reaches("http://public.test/to?url=http://intranet.test:8080/", public, "10.7.7.7:8080")
			n.reaches("http://127.0.0.1:8080/to?url=http://intranet.test:8080/", open, "10.7.7.7:8080")
			n.refuses("http://127.0.0.1:8080/to?url=http://intranet.test/", "network.private", open)
			n.refuses("http://intranet.test:8080/to?url=//127.0.0.1/", "network.loopback", "10.7.7.7:8080")
			for url, rule := range map[string]string{
				"http://127.0.0.1/": "network.loopback", "http://127.0.0.1:3128/": "network.loopback", "http://[::1]:8080/": "network.loopback",
				"http://127.1:8080/":   "network.notation",
				"http://0.0.0.0:8080/": "network.unspecified", "http://intranet.test/": "network.private", "https://intranet.test/": "network.private",
				"http://intranet.test:3128/": "network.private",
				"http://10.7.7.7:8080/":      "network.private", "http://same.test:8080/": "network.private",
				"http://sub.intranet.test:8080/": "network.private", "http://10.1.0.0:8080/": "network.private",
				"http://10.0.255.255/": "network.private", "http://10.2.0.0/": "network.private", "http://inside.test:8080/": "network.private",
				"http://cloud.test/":      "network.metadata",
				"http://169.254.169.254/": "network.metadata", "http://8.8.8.8:22/": "network.port", "http://public.test:25/": "network.port",
			} {
				n.refuses(url, rule)
			}
			if o := n.fetch("http://nobody.test/"); !o.failed || o.errorType != "unreachable" {
				t.Errorf("a name that is none: %v", o)
			}
			n.finish()
		})
	}
}

func hasIPv6(t *testing.T) bool {
	t.Helper()
	_, err := os.Stat("/proc/net/if_inet6")
	return err == nil
}

// TestWebInternetOpen opens all of it but the metadata services, so that the
// tests above are known to be refused what they would have reached.
func TestWebInternetOpen(t *testing.T) {
	n := newInternet(t, nil, setup{config: "sandbox: {private_hosts: [0.0.0.0/0, '::/0', localhost]}\n"})
	reached := 0
	for _, tt := range closedHosts {
		o := n.fetch("http://" + tt.host + "/")
		switch tt.rule {
		case "network.metadata", "network.zone", "network.userinfo", "invalid":
			wantRule(t, tt.host, o, tt.rule)
		default:
			if !o.failed && strings.Contains(o.text, "reached ") {
				reached++
			}
		}
	}
	n.stop()
	if reached < 25 {
		t.Errorf("only %d of the closed hosts are reached if they are open", reached)
	}
	for address := range n.connections() {
		if strings.HasPrefix(address, "169.254.169.254:") {
			t.Errorf("connected to %s", address)
		}
	}
}
