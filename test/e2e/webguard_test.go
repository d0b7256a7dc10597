//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// closedHosts are hosts that web_fetch may not reach, and the rules that say so;
// "invalid" is no host at all.
var closedHosts = []struct{ host, rule string }{
	{"127.0.0.1", "network.loopback"}, {"127.255.255.254", "network.loopback"}, {"127.1", "network.loopback"}, {"127.0.1", "network.loopback"},
	{"2130706433", "network.loopback"},
	{"0x7f000001", "network.loopback"}, {"0X7F.0.0.1", "network.loopback"}, {"0x7f.1", "network.loopback"}, {"0177.0.0.1", "network.loopback"},
	{"017700000001", "network.loopback"},
	{"127.0.0.1.", "network.loopback"}, {"①②⑦.⓪.⓪.①", "network.loopback"}, {"１２７.０.０.１", "network.loopback"},
	{"127。0。0。1", "network.loopback"}, {"127｡0｡0｡1", "network.loopback"},
	{"%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", "network.loopback"}, {"[::1]", "network.loopback"}, {"[0:0:0:0:0:0:0:1]", "network.loopback"},
	{"[::ffff:127.0.0.1]", "network.loopback"},
	{"[::ffff:7f00:1]", "network.loopback"}, {"[::127.0.0.1]", "network.loopback"}, {"[64:ff9b::127.0.0.1]", "network.loopback"},
	{"localhost", "network.loopback"},
	{"LOCALHOST.", "network.loopback"}, {"a.localhost", "network.loopback"}, {"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "network.loopback"},
	{"0", "network.unspecified"}, {"0.0.0.0", "network.unspecified"}, {"0x0", "network.unspecified"}, {"[::]", "network.unspecified"},
	{"[::ffff:0.0.0.0]", "network.unspecified"}, {"0.1.2.3", "network.unspecified"},
	{"10.0.0.1", "network.private"}, {"10.255.255.255", "network.private"}, {"172.16.0.1", "network.private"},
	{"172.31.255.255", "network.private"}, {"192.168.1.1", "network.private"},
	{"192.168.257", "network.private"}, {"3232235777", "network.private"}, {"[::ffff:10.0.0.1]", "network.private"},
	{"[fd00::1]", "network.private"}, {"[fc00::1]", "network.private"},
	{"[fec0::1]", "network.private"}, {"[64:ff9b::10.0.0.1]", "network.private"}, {"100.64.0.1", "network.cgnat"},
	{"100.127.255.255", "network.cgnat"},
	{"169.254.1.1", "network.link_local"}, {"[fe80::1]", "network.link_local"}, {"[fe80::1%25lo]", "network.zone"},
	{"[::1%25lo]", "network.zone"},
	{"169.254.169.254", "network.metadata"}, {"2852039166", "network.metadata"}, {"0xA9FEA9FE", "network.metadata"},
	{"[::ffff:a9fe:a9fe]", "network.metadata"}, {"168.63.129.16", "network.metadata"},
	{"100.100.100.200", "network.metadata"}, {"[fd00:ec2::254]", "network.metadata"}, {"metadata.google.internal", "network.metadata"},
	{"Metadata.Google.Internal.", "network.metadata"},
	{"192.0.0.1", "network.reserved"}, {"240.0.0.1", "network.reserved"}, {"[4000::1]", "network.reserved"},
	{"255.255.255.255", "network.broadcast"}, {"224.0.0.1", "network.multicast"}, {"[ff02::1]", "network.multicast"},
	{"192.0.2.1", "network.documentation"}, {"[2001:db8::1]", "network.documentation"}, {"198.18.0.1", "network.benchmarking"},
	{"[2002:7f00:1::1]", "network.6to4"}, {"[2001::1]", "network.teredo"},
	{"[2606:4700::5efe:10.0.0.1]", "network.isatap"}, {"[64:ff9b:1::1]", "network.nat64"}, {"134744072", "network.notation"},
	{"8.8.2056", "network.notation"}, {"[::ffff:8.8.8.8]", "network.notation"},
	{"user@127.0.0.1", "network.userinfo"}, {"example.com@127.0.0.1", "network.userinfo"},
	{"127.0.0.256", "invalid"}, {"4294967297", "invalid"}, {"localhost..", "invalid"}, {"%31%32%37.0.0.1", "invalid"}, {"[::1", "invalid"},
	{`example.com\@127.0.0.1`, "invalid"},
}

// fetch calls web_fetch, and never has an answer from its cache.
func (b *box) fetch(url string) outcome {
	b.t.Helper()
	return b.call("web_fetch", map[string]any{"url": url, "refresh": true})
}

// wantRule reports an outcome that is not a refusal by a rule.
func wantRule(t *testing.T, what string, o outcome, rule string) {
	t.Helper()
	if rule == "invalid" {
		if !o.failed || o.errorType != "invalid_url" && o.errorType != "http_status" { // the second of a Location that cannot be read
			t.Errorf("%s: not refused as no URL: %v", what, o)
		}
		return
	}
	if !o.failed || o.errorType != "denied" || !strings.Contains(o.text, rule) {
		t.Errorf("%s: not refused by %s: %v", what, rule, o)
	}
}

// listeners answer HTTP, redirect as they are asked to (/to?url=URL), and count
// connections.
type listeners struct {
	port    string
	reached map[string]*atomic.Int64 // by address
}

// listenAt listens at addresses of this machine, at one port.
func listenAt(t *testing.T, addresses ...string) *listeners {
	t.Helper()
	l := &listeners{port: "0", reached: map[string]*atomic.Int64{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("url"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
		fmt.Fprintln(w, "reached")
	})
	for _, address := range addresses {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, l.port))
		if err != nil {
			t.Logf("nobody listens at %s: %v", address, err)
			continue
		}
		l.port = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		count := new(atomic.Int64)
		l.reached[address] = count
		s := &http.Server{Handler: handler, ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				count.Add(1)
			}
		}}
		go func() { _ = s.Serve(listener) }() // until Close
		t.Cleanup(func() { s.Close() })
	}
	return l
}

func (l *listeners) untouched(t *testing.T) {
	t.Helper()
	for address, count := range l.reached {
		if n := count.Load(); n != 0 {
			t.Errorf("%d connections to %s", n, net.JoinHostPort(address, l.port))
		}
	}
}

// proxies are variables that name a proxy.
func proxies(url string) (env []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+url)
	}
	return append(env, "NO_PROXY=", "no_proxy=")
}

// TestWebGuard has web_fetch asked for what is on this machine, in every
// notation, at once and by a redirect from a host that is open.
func TestWebGuard(t *testing.T) {
	addresses := append([]string{"127.0.0.1", "127.255.255.254", "::1"}, ownAddresses(t)...)
	l, proxy := listenAt(t, addresses...), listenAt(t, "127.0.0.1")
	open := []*listeners{listenAt(t, "127.0.0.1"), listenAt(t, "127.0.0.1"), listenAt(t, "127.0.0.1")} // so that none is asked too often
	for name, env := range map[string][]string{"": nil, "with proxies": proxies("http://127.0.0.1:" + proxy.port)} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, account{"own", os.Geteuid()})
			b := g.open(setup{config: fmt.Sprintf("sandbox: {private_hosts: ['127.0.0.1:%s', '127.0.0.1:%s', '127.0.0.1:%s']}\n", open[0].port, open[1].port, open[2].port), env: env})
			redirect := func(i int, to string) string {
				return "http://127.0.0.1:" + open[i%3].port + "/to?url=" + url.QueryEscape(to)
			}
			hosts := closedHosts
			for _, address := range ownAddresses(t) {
				host := address
				if strings.Contains(host, ":") {
					host = "[" + host + "]"
				}
				hosts = append(hosts, struct{ host, rule string }{host, "network."})
			}
			for i, tt := range hosts {
				for _, scheme := range []string{"http://", "https://"} {
					wantRule(t, scheme+tt.host, b.fetch(scheme+tt.host+":"+l.port+"/"), tt.rule)
				}
				wantRule(t, "redirect to "+tt.host, b.fetch(redirect(i, "http://"+tt.host+":"+l.port+"/")), tt.rule)
			}
			for i, to := range []string{"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/", "//127.0.0.1:" + l.port + "/", "//user@127.0.0.1:" + open[0].port + "/"} {
				wantRule(t, "redirect to "+to, b.fetch(redirect(i, to)), "network.")
			}
			if o := b.fetch("http://127.0.0.1:" + open[0].port + "/"); o.failed || !strings.Contains(o.text, "reached") {
				t.Errorf("what is open is not reached: %v", o)
			}
			b.stop()
		})
	}
	l.untouched(t)
	proxy.untouched(t)
}

// ownAddresses returns those of this machine's interfaces that are not public.
func ownAddresses(t *testing.T) (list []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsPrivate() {
			list = append(list, ip.IP.String())
		}
	}
	return list
}
