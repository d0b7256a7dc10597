package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var oneTime = regexp.MustCompile(`console, once[^:]*: (http://[^/]+(/[0-9a-f]+/)in/\S+)`)

// console returns a browser for the console of a program, a one-time address that signs it in, and the address of the first page.
func console(t *testing.T, p *program) (browser *http.Client, address, base string) {
	t.Helper()
	eventually(t, "the console prints an address", func() bool { return oneTime.MatchString(p.log()) })
	found := oneTime.FindStringSubmatch(p.log())
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &http.Client{Jar: jar, Timeout: patience}, found[1], found[1][:strings.Index(found[1], found[2])] + found[2]
}

// TestConsole opens the console of a server over HTTP, and the one of a program of its own, which shows that server, too.
func TestConsole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := httpConfig(t, dir, "state_directory: "+filepath.Join(t.TempDir(), "state")+"\nserver: {tokens: ["+tokenEntry("ann", "secret")+
		"]}\ntools: {write_file: {groups: [staff]}}\n")
	s := startHTTP(t, binary(), append(args, "--console", "127.0.0.1:0")...)
	beside := spawn(t, nil, nil, append([]string{binary(), "console"}, args...)...)
	s.newPeer(t, "2025-11-25", "secret").call(t, "read_file", map[string]any{"path": "/etc/shadow"})
	for _, p := range []*program{s.program, beside} {
		browser, address, base := console(t, p)
		get := func(at string) (int, string) {
			resp, err := browser.Get(at)
			must(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			return resp.StatusCode, string(body)
		}
		if status, _ := get(base); status != http.StatusUnauthorized {
			t.Errorf("before signing in: %d", status)
		}
		if status, page := get(address); status != http.StatusOK {
			t.Fatalf("%d %s", status, page)
		}
		if status, _ := get(address); status != http.StatusForbidden {
			t.Errorf("the address, a second time: %d", status)
		}
		eventually(t, "the refused call is shown", func() bool { _, page := get(base); return strings.Contains(page, "outside the allowed paths") })
		eventually(t, "the server is shown", func() bool { _, page := get(base); return strings.Contains(page, "1 servers") })
		for path, want := range map[string]string{
			"approvals": "Nothing waits", "policy": "working_directory", "upstreams": "No server", "people": "New token", "usage": "<svg", "clients": "Cursor",
			"policy?tool=read_file&arguments=" + url.QueryEscape(`{"path":"/etc/shadow"}`): "denied",
			"policy?tool=read_file&arguments=" + url.QueryEscape(`{"path":"-"}`):           "- is allowed",
		} {
			if status, page := get(base + path); status != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%s: %d %s", path, status, page)
			}
		}
	}
}
