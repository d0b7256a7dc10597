package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowRegistry is the registry that npm is configured with, which answers nobody before a
// minute has passed since it was first asked.
func slowRegistry(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("npm", "config", "get", "registry").Output()
	if err != nil {
		t.Skip("npm is not installed")
	}
	behind, err := url.Parse(strings.TrimSpace(string(out)))
	must(t, err)
	first := sync.OnceValue(time.Now)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Until(first().Add(time.Minute))):
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestUpstreamsFirstStart starts servers that npx has to download first, from a registry that
// is slow: they come up at their first start, and it is said what they are waited for.
func TestUpstreamsFirstStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes minutes")
	}
	registry, dir := slowRegistry(t), t.TempDir()
	var entries []string
	for _, name := range []string{"everything", "memory", "filesystem"} {
		settings := ", env: {npm_config_registry: " + registry + ", npm_config_cache: " + t.TempDir() + "}"
		argv := []string{"-y", "@modelcontextprotocol/server-" + name}
		if name == "filesystem" {
			argv = append(argv, dir)
		}
		entries = append(entries, entry(name, settings, "npx", argv...))
	}
	s := openGateway(t, gateway(entries...))
	eventually(t, "the status says what is waited for", func() bool {
		return strings.Count(s.upstreams(), "npx has been starting for") == 3 && strings.Contains(s.upstreams(), "downloading the package")
	})
	var servers []struct {
		Name, Status, Reason string
		Starts               int
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		ready := 0
		must(t, json.Unmarshal([]byte(s.upstreams()), &servers))
		for _, u := range servers {
			if u.Starts != 1 {
				t.Fatalf("%s was started %d times: %s", u.Name, u.Starts, u.Reason)
			}
			if u.Status == "ready" {
				ready++
			}
		}
		if ready == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not ready: %s", s.upstreams())
		}
	}
	s.says("everything__echo", map[string]any{"message": "x"}, "Echo: x")
}
