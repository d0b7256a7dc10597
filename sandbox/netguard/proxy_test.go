package netguard_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// TestAmbientProxies runs itself again with variables that name a proxy, since
// net/http reads them once.
func TestAmbientProxies(t *testing.T) {
	if address := os.Getenv("NETGUARD_PROXY"); address != "" {
		behindProxy(t)
		return
	}
	proxy := listen(t, "127.0.0.1")
	env := []string{"NETGUARD_PROXY=1", "NO_PROXY=", "no_proxy="}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"=http://"+proxy.at("127.0.0.1"))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAmbientProxies$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestAmbientProxies") {
		t.Errorf("%v\n%s", err, out)
	}
	if n := proxy.connections(); n != 0 {
		t.Errorf("%d connections to the proxy", n)
	}
}

func behindProxy(t *testing.T) {
	s := listen(t, "127.0.0.1")
	client := guard(t, zone(t, map[string]answers{"open.test": {"127.0.0.1"}, "closed.test": {"127.0.0.1"}}), s.at("open.test")).Client()
	for _, scheme := range []string{"http", "https"} {
		req, err := http.NewRequest(http.MethodGet, scheme+"://"+s.at("open.test")+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if proxy, err := http.ProxyFromEnvironment(req); proxy == nil {
			t.Fatalf("the variables name no proxy for %s: %v", scheme, err)
		}
		for _, host := range []string{s.at("closed.test"), "169.254.169.254", "10.0.0.1", "metadata.google.internal"} {
			if _, rule, err := get(t.Context(), client, scheme+"://"+host+"/"); rule == "" {
				t.Errorf("%s is not denied: %v", host, err)
			}
		}
	}
	wantReached(t, client, "http://"+s.at("open.test")+"/")
	if _, _, err := get(t.Context(), client, "https://"+s.at("open.test")+"/"); err == nil || s.connections() != 2 {
		t.Errorf("https goes elsewhere: %v", err)
	}
	wantDenied(t, client, "https://"+s.at("closed.test")+"/", netguard.Loopback)
}
