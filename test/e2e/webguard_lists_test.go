//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWebOwnAddress refuses a public address of the machine itself in every notation that
// leads to it, and what only looks like it not at all.
func TestWebOwnAddress(t *testing.T) {
	const own = "51.15.1.2" // see test/netns
	n := newInternet(t, map[string][][]string{"own.test": {{own}}, "own6.test": {{"64:ff9b::330f:102"}}, "public.test": {{publicAddress}}}, setup{})
	for _, host := range []string{
		own, "own.test", "[::ffff:51.15.1.2]", "[64:ff9b::51.15.1.2]", "[2606:4700::5efe:51.15.1.2]", "[2606:4700::200:5efe:330f:102]",
		"856621314", "0x330f0102", "51.983298",
	} {
		n.refuses("http://"+host+"/", "network.loopback")
		n.refuses("http://public.test/to?url=http://"+host+"/", "network.loopback", publicAddress+":80")
	}
	n.refuses("http://[::51.15.1.2]/", "network.reserved")
	n.refuses("http://[2002:330f:102::1]/", "network.6to4")
	n.refuses("http://[2001:0:4136:e378:8000:63bf:ccf0:fefd]/", "network.teredo")
	n.reaches("http://51.15.1.3/", "51.15.1.3:80")
	if hasIPv6(t) {
		n.refuses("http://own6.test/", "network.loopback")
		n.reaches("http://[64:ff9b::51.15.1.3]/", "[64:ff9b::330f:103]:80")
		n.reaches("http://[2606:4700::5efe:51.15.1.3]/", "[2606:4700::5efe:330f:103]:80")
	}
	n.finish()
}

// TestWebDeniedAddress denies an address whatever name or notation leads to it, at once, by a
// redirect or from the second time on.
func TestWebDeniedAddress(t *testing.T) {
	const denied, list = "93.184.216.36", "tools.web_fetch.denied_hosts"
	names := map[string][][]string{
		"leads.test": {{denied}}, "turns.test": {{publicAddress}, {denied}}, "public.test": {{publicAddress}}, "inside.test": {{"10.7.7.7"}},
		"leads6.test": {{"64:ff9b::5db8:d824"}}, "other.test": {{"93.184.216.37"}}, "both.test": {{denied, publicAddress}},
	}
	n := newInternet(t, names, setup{config: "sandbox: {private_hosts: ['10.0.0.0/8:*']}\n" +
		"tools: {web_fetch: {denied_hosts: [93.184.216.36, 10.7.7.7, '93.184.216.37:8080', named.test], allowed_hosts: ['*']}}\n"})
	const public = publicAddress + ":80"
	for _, host := range []string{denied, "leads.test", "leads.test:8080", "[64:ff9b::93.184.216.36]", "[2606:4700::5efe:93.184.216.36]",
		"[::ffff:93.184.216.36]", "inside.test:81", "10.7.7.7", "other.test:8080", "named.test", "a.named.test"} {
		n.refuses("http://"+host+"/", list)
		n.refuses("http://public.test/to?url=http://"+host+"/", list, public)
	}
	if hasIPv6(t) {
		n.refuses("http://leads6.test/", list)
	}
	n.reaches("http://turns.test/", public)
	n.refuses("http://turns.test/", list)
	n.reaches("http://both.test/", public)
	n.reaches("http://other.test/", "93.184.216.37:80")
	n.reaches("http://10.7.7.8:3128/", "10.7.7.8:3128")
	if o := n.fetch("http://leads.test/"); !strings.Contains(o.text, "leads.test is denied by "+list+": it leads to "+denied+", which is in that list") ||
		strings.Contains(o.text, "private_hosts") {
		t.Errorf("the refusal: %v", o)
	}
	n.finish()
}

// TestWebPrivatePatterns opens names below a name, and all ports of a host except those of
// other protocols.
func TestWebPrivatePatterns(t *testing.T) {
	names := map[string][][]string{
		"api.default.svc.cluster.local": {{"10.7.7.7"}}, "svc.cluster.local": {{"10.7.7.7"}}, "evilsvc.cluster.local": {{"10.7.7.7"}},
		"cloud.svc.cluster.local": {{"169.254.169.254"}}, "svc.cluster.local.test": {{"10.7.7.7"}},
	}
	n := newInternet(t, names, setup{config: "tools: {web_fetch: {private_hosts: ['*.svc.cluster.local', '*.svc.cluster.local:3128', 'localhost:*']}}\n"})
	n.reaches("http://api.default.svc.cluster.local/", "10.7.7.7:80")
	n.reaches("http://API.default.SVC.cluster.local.:3128/", "10.7.7.7:3128")
	local := "127.0.0.1:8080"
	if hasIPv6(t) {
		local = "[::1]:8080"
	}
	n.reaches("http://localhost:8080/", local)
	for url, rule := range map[string]string{
		"http://api.default.svc.cluster.local:8080/": "network.private", "http://svc.cluster.local/": "network.private",
		"http://evilsvc.cluster.local/": "network.private", "http://svc.cluster.local.test/": "network.private", "http://10.7.7.7/": "network.private",
		"http://cloud.svc.cluster.local/": "network.metadata", "http://localhost:22/": "network.port", "http://127.0.0.1:8080/": "network.loopback",
		"http://a.localhost:8080/": "network.loopback",
	} {
		n.refuses(url, rule)
	}
	n.finish()
}

// TestWebDeniedAddressCached has a page in the cache whose address is denied once the configuration has changed.
func TestWebDeniedAddressCached(t *testing.T) {
	n := newInternet(t, map[string][][]string{"leads.test": {{"93.184.216.36"}}}, setup{})
	n.reaches("http://leads.test/", "93.184.216.36:80")
	rest := func() outcome {
		return n.call("web_fetch", map[string]any{"url": "http://leads.test/", "start_index": 3})
	}
	if o := rest(); o.failed {
		t.Errorf("the rest of a page: %v", o)
	}
	n.configure(filepath.Join(n.dir, "config.yaml"), "tools: {web_fetch: {denied_hosts: [93.184.216.36]}}\n")
	eventually(t, "the new configuration counts", func() bool { return rest().failed })
	wantRule(t, "the rest of it", rest(), "tools.web_fetch.denied_hosts")
	n.finish()
}
