package netguard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"searx.lan": "searx.lan", "searx.lan:8080": "searx.lan:8080", "SearX.LAN.:8080": "searx.lan:8080", "localhost:1": "localhost:1",
		"bücher.lan:81": "xn--bcher-kva.lan:81",
		"10.1.2.3":      "10.1.2.3", "10.1.2.3:65535": "10.1.2.3:65535", "10.1.2.3/32": "10.1.2.3", "10.1.0.0/16": "10.1.0.0/16",
		"10.1.0.0/16:8080": "10.1.0.0/16:8080", "0.0.0.0/0": "0.0.0.0/0",
		"fd00::1": "[fd00::1]", "[fd00::1]": "[fd00::1]", "[FD00:0::1]:8443": "[fd00::1]:8443", "fd00::/8": "fd00::/8",
		"fd00::/8:8080": "fd00::/8:8080", "[fd00::/8]:8080": "fd00::/8:8080",
		"::1": "[::1]", "::/0": "::/0", "::ffff:10.0.0.1": "10.0.0.1", "[::ffff:10.0.0.1]:80": "10.0.0.1:80", "fd00::1/128": "[fd00::1]",
		"a_b": "a_b", "*.lan": "*.lan", "*.SVC.Cluster.local.:8080": "*.svc.cluster.local:8080", "localhost:*": "localhost:*", "*.lan:*": "*.lan:*",
		"10.0.0.0/8:*": "10.0.0.0/8:*", "[::1]:*": "[::1]:*", "::1:*": "[::1]:*", "10.1.2.3/32:*": "10.1.2.3:*",
	} {
		h, err := netguard.ParseHost(text)
		if err != nil || h.String() != want {
			t.Errorf("%q: got %q, %v, want %q", text, h, err, want)
		}
		if again, err := netguard.ParseHost(h.String()); again != h || err != nil {
			t.Errorf("%q: %q is read as %q, %v", text, h, again, err)
		}
	}
	const neither = "it is neither a name nor an address"
	for text, want := range map[string]string{
		"http://searx.lan": "it looks like a URL", "searx.lan/path": "the network cannot be read",
		"searx.lan:80/path": "the network cannot be read", "user@searx.lan": "it looks like a URL",
		"searx.lan?q": "it looks like a URL", "searx.lan#f": "it looks like a URL", " searx.lan": "it looks like a URL",
		"//searx.lan": "the network cannot be read",
		"":            neither, ".": neither, "a..b": neither, "*": neither, "*:*": neither, ":*": neither, "*.": neither, "*.*.lan": neither, "a.*": neither, "*lan": neither,
		"*.10.0.0.1": neither, "*.10.0.0.0/8": "the network cannot be read", "a:*:80": neither, "a:80:*": "it has two ports", "a:8*": `"8*" is not a port`, "a\tb": neither, "a\n": neither,
		strings.Repeat("a", 254): neither, "a%20b": neither, "\xff": neither,
		"searx.lan:": `"" is not a port`, "searx.lan:0": `"0" is not a port`, "searx.lan:65536": `"65536" is not a port`,
		"searx.lan:-1": `"-1" is not a port`, "searx.lan:http": `"http" is not a port`,
		"10.0.0.0/8:": `"" is not a port`, "[::1]:": `"" is not a port`, "[::1]:0": `"0" is not a port`,
		"[::1": "the brackets do not match", "[::1]8080": "the brackets do not match", "[fd00::]/8": "the brackets do not match", "::1]": neither,
		"[10.0.0.1]:80": "only IPv6 addresses stand in brackets", "[searx.lan]:80": "only IPv6 addresses stand in brackets",
		"searx.lan:80:80": neither, "10.0.0.1:80:80": neither, "[a:b]:80": neither,
		"10.1.2.3/16": "it has bits beyond its length; 10.1.0.0/16 is the network",
		"fd00::1/8":   "it has bits beyond its length; fd00::/8 is the network",
		"10.0.0.0/33": "the network cannot be read", "10.0.0.0/": "the network cannot be read", "10/8": "the network cannot be read",
		"fe80::%eth0/10":      "the network cannot be read",
		"::ffff:10.0.0.0/104": "networks of IPv4 are written as such", "fe80::1%eth0": "addresses with a zone are never reached",
		"[::1%lo]:80": "addresses with a zone are never reached",
		"127.1":       "write the address as 127.0.0.1", "0x7f.1:80": "write the address as 127.0.0.1", "010.0.0.1": "write the address as 8.0.0.1",
		"10.0.0.1.": "write the address as 10.0.0.1",
		"①.1":       "write the address as 1.0.0.1", "10.0.0.256": neither, "1.2.3.4.5": neither, "searx.1": neither,
	} {
		h, err := netguard.ParseHost(text)
		if err == nil {
			t.Errorf("%.60q is read as %q", text, h)
			continue
		}
		const advice = "; write a name, *.NAME for those below it, an address or a network, with a port or :* unless it is 80 or 443, such as intranet.example:8080"
		if got := err.Error(); !strings.Contains(got, " is not a host: "+want+advice) {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
}

// TestPrivateHosts reaches what is named, and nothing else.
func TestPrivateHosts(t *testing.T) {
	s, other := listen(t, "127.0.0.1"), listen(t, "127.0.0.1")
	r := zone(t, map[string]answers{
		"intranet.test": {"127.0.0.1"}, "sub.intranet.test": {"127.0.0.1"}, "intranet.test.evil.test": {"127.0.0.1"}, "other.test": {"127.0.0.1"},
		"cloud.test": {"169.254.169.254"}, "alibaba.test": {"100.100.100.200"}, "azure.test": {"168.63.129.16"},
		"mapped.test": {"::ffff:169.254.169.254"},
	})
	for _, tt := range []struct {
		open    string
		reached []string
		denied  map[string]netguard.Rule
	}{
		{"intranet.test:PORT", []string{"intranet.test:PORT", "INTRANET.Test.:PORT", "ｉntranet。test:PORT"}, map[string]netguard.Rule{
			"intranet.test:OTHER": netguard.Loopback, "sub.intranet.test:PORT": netguard.Loopback, "intranet.test.evil.test:PORT": netguard.Loopback,
			"other.test:PORT": netguard.Loopback,
			"127.0.0.1:PORT":  netguard.Loopback, "localhost:PORT": netguard.Loopback, "127.1:PORT": netguard.Loopback,
			"[::ffff:127.0.0.1]:PORT": netguard.Loopback, "intranet.test": netguard.Loopback,
		}},
		{"intranet.test", nil, map[string]netguard.Rule{"intranet.test:PORT": netguard.Loopback, "other.test": netguard.Loopback}},
		{"127.0.0.1:PORT", []string{"127.0.0.1:PORT", "intranet.test:PORT", "other.test:PORT", "localhost:PORT"}, map[string]netguard.Rule{
			"127.0.0.1:OTHER": netguard.Loopback, "intranet.test:OTHER": netguard.Loopback, "localhost:OTHER": netguard.Loopback,
			"127.0.0.2:PORT": netguard.Loopback,
			"0.0.0.0:PORT":   netguard.Unspecified, "127.1:PORT": netguard.Notation, "2130706433:PORT": netguard.Notation,
			"①②⑦.0.0.1:PORT": netguard.Notation, "127.0.0.1.:PORT": netguard.Notation,
			"[::ffff:127.0.0.1]:PORT": netguard.Notation, "[::127.0.0.1]:PORT": netguard.Loopback, "[64:ff9b::127.0.0.1]:PORT": netguard.Loopback,
			"me@127.0.0.1:PORT": netguard.UserInfo,
		}},
		{"127.0.0.1", nil, map[string]netguard.Rule{"127.0.0.1:PORT": netguard.Loopback, "127.0.0.1:8080": netguard.Loopback}},
		{"127.0.0.0/31:PORT", []string{"127.0.0.1:PORT", "other.test:PORT"}, map[string]netguard.Rule{
			"127.0.0.2:PORT": netguard.Loopback, "126.255.255.255:25": netguard.Port, "127.0.0.1:OTHER": netguard.Loopback}},
		{"127.0.0.2/31:PORT", nil, map[string]netguard.Rule{"127.0.0.1:PORT": netguard.Loopback, "127.0.0.4:PORT": netguard.Loopback, "intranet.test:PORT": netguard.Loopback}},
		{"localhost:PORT", []string{"localhost:PORT", "LOCALHOST.:PORT"}, map[string]netguard.Rule{
			"127.0.0.1:PORT": netguard.Loopback, "a.localhost:PORT": netguard.Loopback, "localhost:OTHER": netguard.Loopback,
			"[::1]:PORT": netguard.Loopback}},
		{"10.0.0.0/8:PORT", nil, map[string]netguard.Rule{"127.0.0.1:PORT": netguard.Loopback, "172.16.0.1:PORT": netguard.Private, "10.0.0.1:OTHER": netguard.Private}},
		// Whoever answers for a name has no say in this.
		{"cloud.test:PORT", nil, map[string]netguard.Rule{"cloud.test:PORT": netguard.Metadata}},
		{"cloud.test", nil, map[string]netguard.Rule{"cloud.test": netguard.Metadata}},
		{"alibaba.test", nil, map[string]netguard.Rule{"alibaba.test": netguard.Metadata}},
		{"azure.test", nil, map[string]netguard.Rule{"azure.test": netguard.Metadata}},
		{"mapped.test", nil, map[string]netguard.Rule{"mapped.test": netguard.Metadata}},
		{"metadata.goog", nil, map[string]netguard.Rule{"metadata.goog": netguard.Metadata}},
		// What merely contains it is not named for it.
		{"169.254.0.0/16", nil, map[string]netguard.Rule{"169.254.169.254": netguard.Metadata, "cloud.test": netguard.Metadata}},
		{"0.0.0.0/0", nil, map[string]netguard.Rule{"169.254.169.254": netguard.Metadata, "100.100.100.200": netguard.Metadata}},
		{"::/0", nil, map[string]netguard.Rule{"[fd00:ec2::254]": netguard.Metadata, "[64:ff9b::a9fe:a9fe]": netguard.Metadata, "127.0.0.1:80": netguard.Loopback, "[::1%25lo]": netguard.Zone}},
	} {
		ports := strings.NewReplacer("PORT", strings.TrimPrefix(s.at(""), ":"), "OTHER", strings.TrimPrefix(other.at(""), ":"))
		client := guard(t, r, ports.Replace(tt.open)).Client()
		for _, host := range tt.reached {
			before := s.connections()
			wantReached(t, client, "http://"+ports.Replace(host)+"/")
			if s.connections() == before {
				t.Errorf("%s: %s reached somebody else", tt.open, host)
			}
			client.CloseIdleConnections()
		}
		before := s.connections()
		for host, rule := range tt.denied {
			wantDenied(t, client, "http://"+ports.Replace(host)+"/", rule)
		}
		if s.connections() > before || other.connections() > 0 {
			t.Errorf("%s: connected to what is denied", tt.open)
		}
	}
}

// TestOpened asks what would be reached and is nowhere.
func TestOpened(t *testing.T) {
	for _, tt := range []struct {
		open, url string
		want      netguard.Rule
	}{
		{"10.1.2.3", "http://10.1.2.3/", ""}, {"10.1.2.3", "https://10.1.2.3/", ""}, {"10.1.2.3", "https://10.1.2.3:80/", ""},
		{"10.1.2.3", "http://10.1.2.3:8080/", netguard.Private},
		{"10.1.2.3:443", "https://10.1.2.3/", ""}, {"10.1.2.3:443", "http://10.1.2.3/", netguard.Private},
		{"10.1.2.3:80", "http://10.1.2.3:0080/", ""},
		{"10.1.0.0/16", "http://10.1.0.0/", ""}, {"10.1.0.0/16", "http://10.1.255.255/", ""},
		{"10.1.0.0/16", "http://10.0.255.255/", netguard.Private}, {"10.1.0.0/16", "http://10.2.0.0/", netguard.Private},
		{"10.1.0.0/16", "http://[::ffff:10.1.0.1]/", netguard.Notation}, {"10.1.0.0/16", "http://[64:ff9b::10.1.0.1]/", netguard.Private},
		{"10.1.0.0/16", "http://[2002:a01:1::]/", netguard.SixToFour},
		{"fd00::/8", "http://[fd00::1]/", ""}, {"fd00::/8", "http://[fe00::1]/", netguard.Reserved},
		{"fd00::/8", "http://[fd00::1%25x]/", netguard.Zone}, {"[fd00::1]:8443", "https://[FD00:0::1]:8443/", ""},
		{"169.254.169.254", "http://169.254.169.254/", ""}, {"169.254.169.254:80", "http://169.254.169.254:8080/", netguard.Metadata},
		{"[fd00:ec2::254]", "http://[fd00:ec2::254]/", ""},
		// Ports that browsers refuse.
		{"10.1.2.3:6000", "http://10.1.2.3:6000/", ""}, {"10.1.2.3:6000", "http://8.8.8.8:6000/", netguard.Port},
		{"8.8.8.8:6000", "http://8.8.8.8:6000/", ""}, {"8.8.8.8", "http://8.8.8.8:6000/", netguard.Port},
		{"searx.lan:6000", "http://searx.lan:6000/", ""}, {"searx.lan", "http://searx.lan:6000/", netguard.Port},
		{"10.1.2.3:6000", "http://searx.lan:6000/", ""},
		{"searx.lan:6000", "http://searx.lan:6001/", ""}, {"searx.lan:6000", "http://searx.lan:22/", netguard.Port},
		{"searx.lan:0443", "https://searx.lan/", ""},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := ruleOf(t, guard(t, nil, tt.open).CheckURL(u)); got != tt.want {
			t.Errorf("%s open, %s: got %q, want %q", tt.open, tt.url, got, tt.want)
		}
	}
}

// TestRedirects follows redirects from a host that is open, by hand, as the
// client follows none.
func TestRedirects(t *testing.T) {
	s, closed := listen(t, "127.0.0.1"), listen(t, "127.0.0.1")
	client := guard(t, zone(t, map[string]answers{"closed.test": {"127.0.0.1"}}), s.at("127.0.0.1")).Client()
	for to, want := range map[string]netguard.Rule{
		"http://" + closed.at("127.0.0.1") + "/": netguard.Loopback, "http://" + closed.at("localhost") + "/": netguard.Loopback,
		"//" + closed.at("127.1") + "/":            netguard.Loopback,
		"http://" + closed.at("closed.test") + "/": netguard.Loopback, "http://[::1]/": netguard.Loopback,
		"http://169.254.169.254/latest/meta-data/": netguard.Metadata,
		"file:///etc/passwd":                       netguard.Scheme, "http://me:secret@" + s.at("127.0.0.1") + "/": netguard.UserInfo,
		"http://metadata.google.internal/": netguard.Metadata,
	} {
		res, err := client.Get("http://" + s.at("127.0.0.1") + "/?to=" + url.QueryEscape(to))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		next, err := res.Location()
		if err != nil || res.StatusCode != http.StatusFound {
			t.Fatalf("%s: %s, %v", to, res.Status, err)
		}
		wantDenied(t, client, next.String(), want)
	}
	if n := closed.connections(); n > 0 {
		t.Errorf("%d connections to the closed port", n)
	}
	// A response with a Location that http.Client cannot read is no error that
	// quotes it.
	res, err := client.Get("http://" + s.at("127.0.0.1") + "/?to=http://%25zz/secret")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if _, err := res.Location(); res.StatusCode != http.StatusFound || err != http.ErrNoLocation {
		t.Errorf("got %s, %v", res.Status, err)
	}
}
