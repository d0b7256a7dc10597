package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netproxy"
)

// serveProxy serves a proxy that leads to one site, whatever it is asked for.
func serveProxy(t *testing.T, site string) (address string, asked chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	asked = make(chan string, 64)
	p := &netproxy.Server{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			asked <- address
			if strings.HasPrefix(address, "nowhere.") {
				return nil, fmt.Errorf("no such host")
			}
			return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(site, "http://"))
		},
	}
	go p.Serve(t.Context(), l)
	return l.Addr().String(), asked
}

// TestWebProxy reaches public hosts through the configured proxy, and hosts in private_hosts without it. What can be denied without
// resolving a name is denied.
func TestWebProxy(t *testing.T) {
	t.Parallel()
	site := serveSite(t, map[string]http.HandlerFunc{
		"/page": body("text/plain", "far"),
		"/inside": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		},
		"/search": body("application/json", `{"results":[{"title":"Found","url":"http://found.example/","content":"x"}]}`),
	})
	near := httptest.NewServer(body("text/plain", "near"))
	t.Cleanup(near.Close)
	for _, scheme := range []string{"http", "socks5"} {
		address, asked := serveProxy(t, site)
		file, _ := configured(t, privateHosts(near.URL)+`
web: {proxy: "`+scheme+`://ann:${PROXY_PASSWORD}@`+address+`", search: {providers: [searxng], searxng: {base_url: "http://searx.example"}}}
tools: {web_fetch: {denied_hosts: [denied.example]}}
`)
		c := serveTools(t, file, "PROXY_PASSWORD=sesame-sesame", "HTTP_PROXY=http://127.0.0.1:9")
		if got := c.fetched("http://public.example/page"); got != "far" {
			t.Errorf("%s: %s", scheme, got)
		}
		if at := <-asked; at != "public.example:80" { // one dial, which has been before the answer
			t.Errorf("%s: the proxy is asked for %s", scheme, at)
		}
		if a := c.call("web_search", map[string]any{"query": "x"}); !strings.Contains(a.text(), "Found") {
			t.Errorf("%s: web_search: %s", scheme, a.text())
		}
		for len(asked) > 0 {
			<-asked
		}
		if got := c.fetched(near.URL); got != "near" || len(asked) > 0 {
			t.Errorf("%s: a private host that is listed: %s", scheme, got)
		}
		for _, url := range []string{"http://localhost/", "http://10.0.0.1/", "http://" + address + "/", "http://denied.example/", "http://metadata.google.internal/", site + "/page"} {
			wantFailure(t, url, c.fetch(url), "denied", "denied by ")
		}
		if len(asked) > 0 {
			t.Errorf("%s: the proxy is asked for %s", scheme, <-asked)
		}
		wantFailure(t, "a redirect inside", c.fetch("http://public.example/inside"), "denied", "network.metadata")
		a := c.fetch("https://nowhere.example/")
		wantFailure(t, "a host that the proxy does not know", a, "unreachable", "Error: ")
		if scheme == "http" && !strings.Contains(a.text(), "the proxy: HTTP 502 Bad Gateway") {
			t.Errorf("the proxy is not named: %s", a.text())
		}
		cmd := exec.Command(binary(), "config", "show", "--config", file)
		cmd.Env = append(cmd.Environ(), "PROXY_PASSWORD=sesame-sesame")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "sesame") || !strings.Contains(string(out), "proxy:") {
			t.Errorf("config show: %v\n%s", err, out)
		}
	}
	file, _ := configured(t, `web: {proxy: "ftp://ann:secret@proxy.lan"}`)
	if out, err := exec.Command(binary(), "check", "--config", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "web.proxy: must be the URL of a proxy") ||
		strings.Contains(string(out), "secret@") {
		t.Errorf("check: %v\n%s", err, out)
	}
}
