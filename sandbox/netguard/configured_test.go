package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/sandbox/netproxy"
)

// standIn is a proxy that leads to one server, whatever it is asked for.
func standIn(t *testing.T, s *server) (address string, asked chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = make(chan string, 64)
	p := &netproxy.Server{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			asked <- address
			if strings.HasPrefix(address, "nowhere.") {
				return nil, errors.New("no such host")
			}
			return new(net.Dialer).DialContext(ctx, network, s.at("127.0.0.1"))
		},
	}
	go p.Serve(t.Context(), l)
	return l.Addr().String(), asked
}

// TestConfiguredProxy reaches everything public through the proxy of the options, and what policy lists without it. What can be
// denied without resolving a name is denied before the proxy is asked.
func TestConfiguredProxy(t *testing.T) {
	far, near := listen(t, "127.0.0.1"), listen(t, "127.0.0.1")
	address, asked := standIn(t, far)
	open, err := netguard.ParseHost(near.at("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "socks5", "socks5h"} {
		t.Run(scheme, func(t *testing.T) {
			u, err := netguard.ParseProxy(scheme + "://ann:secret@" + address)
			if err != nil {
				t.Fatal(err)
			}
			client := netguard.New(netguard.Options{Open: []netguard.Host{open}, Proxy: u}).Client()
			defer client.CloseIdleConnections()
			wantReached(t, client, "http://public.example/")
			if at := <-asked; at != "public.example:80" {
				t.Errorf("the proxy is asked for %s", at)
			}
			if _, _, err := get(t.Context(), client, "https://public.example/"); err == nil || !strings.Contains(err.Error(), "HTTPS client") {
				t.Errorf("a server without TLS: %v", err)
			}
			if at := <-asked; at != "public.example:443" {
				t.Errorf("the proxy is asked for %s", at)
			}
			wantReached(t, client, "http://"+near.at("127.0.0.1")+"/")
			for _, host := range []string{far.at("127.0.0.1"), address, "localhost", "169.254.169.254", "10.0.0.1", "[::1]", "metadata.google.internal", "0x7f.1"} {
				if _, rule, err := get(t.Context(), client, "http://"+host+"/"); rule == "" {
					t.Errorf("%s is not denied: %v", host, err)
				}
			}
			if len(asked) > 0 {
				t.Errorf("the proxy is asked for %s", <-asked)
			}
			_, _, err = get(t.Context(), client, "https://nowhere.example/")
			if _, ok := errors.AsType[*netguard.ProxyError](err); ok != (scheme == "http") || err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("a host that the proxy does not reach: %v", err)
			}
			<-asked
		})
	}
}

func TestUnreachableProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	client := netguard.New(netguard.Options{Proxy: &url.URL{Scheme: "http", Host: l.Addr().String()}}).Client()
	_, err = client.Get("http://public.example/")
	if _, ok := errors.AsType[*netguard.ProxyError](err); !ok {
		t.Errorf("got %v", err)
	}
	res, err := client.Transport.RoundTrip(&http.Request{URL: &url.URL{Scheme: "http", Host: l.Addr().String()}})
	if denied, ok := errors.AsType[*netguard.DeniedError](err); !ok {
		t.Errorf("the proxy is a host like any other to callers: %v, %v, %v", res, denied, err)
	}
}

func TestParseProxy(t *testing.T) {
	for text, want := range map[string]string{
		"http://Proxy.LAN:3128": "http://proxy.lan:3128", "https://proxy.lan": "https://proxy.lan", "socks5://u:p@[fd00::1]:1080/": "socks5://u:p@[fd00::1]:1080/",
	} {
		if u, err := netguard.ParseProxy(text); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "proxy.lan:3128", "ftp://u:secret@proxy.lan", "http://", "http://u:secret@proxy:0", "http://u:secret@p/path", "http://u:secret@p?x", "http://u:secret@a b", "http://u:secret@a%zz"} {
		if u, err := netguard.ParseProxy(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}
