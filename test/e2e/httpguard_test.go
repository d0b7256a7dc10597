package e2e

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

const page = "https://app.example"

// TestHTTPOrigin keeps foreign web pages out, whatever they ask for.
func TestHTTPOrigin(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {allowed_origins: ["+page+"], allowed_hosts: [tools.example]}")...)
	p := s.newPeer(t, "2025-11-25", "")
	ping := p.message("1", "ping", "", "")
	for _, test := range []struct {
		name, header, value string
		refused             bool
	}{
		{"no origin", "Origin", "", false},
		{"allowed origin", "Origin", page, false},
		{"local origin", "Origin", "http://localhost:5173", false},
		{"foreign origin", "Origin", "https://evil.example", true},
		{"null origin", "Origin", "null", true},
		{"origin with another port", "Origin", page + ":8443", true},
		{"origin with another scheme", "Origin", "http://app.example", true},
		{"origin that begins like an allowed one", "Origin", page + ".evil.example", true},
		{"origin that begins like this machine", "Origin", "http://localhost.evil.example", true},
		{"origin with a user", "Origin", "http://localhost@evil.example", true},
		{"origin that is no URL", "Origin", "%zz", true},
		{"allowed host", "Host", "tools.example", false},
		{"host in capitals", "Host", "LOCALHOST:80", false},
		{"foreign host", "Host", "evil.example", true},
		{"foreign host with port", "Host", "evil.example:80", true},
		{"host that begins like this machine", "Host", "127.0.0.1.evil.example", true},
		{"unspecified address", "Host", "0.0.0.0", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := p.headers(ping, map[string]string{test.header: test.value})
			for _, method := range []string{"POST", "GET", "OPTIONS", "PUT", "DELETE"} {
				if !test.refused && (method == "GET" || method == "DELETE") {
					continue // would go on, or end the session
				}
				body := ""
				if method == "POST" {
					body = ping
				}
				r := s.do(t, method, "/mcp", body, header)
				if (r.status == http.StatusForbidden) != test.refused {
					t.Errorf("%s: %d: %s", method, r.status, r.body)
				}
				if method == "POST" && !test.refused && r.status != http.StatusOK {
					t.Errorf("ping: %d: %s", r.status, r.body)
				}
				allowed := r.header.Get("Access-Control-Allow-Origin")
				if (allowed == page) != (test.value == page) || allowed != page && allowed != "" {
					t.Errorf("%s: Access-Control-Allow-Origin %q", method, allowed)
				}
			}
		})
	}
	if r := p.post(t, ping, nil); r.status != http.StatusOK {
		t.Errorf("a refused DELETE ended the session: %d", r.status)
	}
}

// TestHTTPCORS shows pages of allowed origins everything that MCP needs, in
// preflights, which carry no token, and in refusals, which pages have to read.
func TestHTTPCORS(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {allowed_origins: ["+page+"], tokens: ["+tokenEntry("ann", "secret")+"]}")...)
	r := s.do(t, "OPTIONS", "/mcp", "", map[string]string{
		"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, Mcp-Method, mcp-param-tenant,traceparent",
	})
	if r.status != http.StatusNoContent {
		t.Errorf("preflight: %d", r.status)
	}
	for name, values := range map[string][]string{
		"Access-Control-Allow-Origin":   {page},
		"Access-Control-Allow-Methods":  {"POST", "GET", "DELETE"},
		"Access-Control-Allow-Headers":  {"authorization", "content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id", "mcp-param-tenant", "traceparent", "tracestate"},
		"Vary":                          {"Origin"},
		"Access-Control-Expose-Headers": {"mcp-session-id", "www-authenticate", "ratelimit", "ratelimit-policy", "retry-after"},
	} {
		got := strings.Split(strings.ToLower(strings.ReplaceAll(r.header.Get(name), " ", "")), ",")
		for _, want := range values {
			if !contains(got, strings.ToLower(want)) {
				t.Errorf("%s is %q; want %s in it", name, got, want)
			}
		}
	}
	ann := s.newPeer(t, "2025-11-25", "secret")
	for status, header := range map[int]map[string]string{
		200: {}, 401: {"Authorization": ""}, 404: {"Mcp-Session-Id": "feed"}, 415: {"Content-Type": "text/plain"}, 406: {"Accept": "text/html"},
	} {
		header["Origin"] = page
		r := ann.post(t, ann.message("1", "ping", "", ""), header)
		exposed := r.header.Get("Access-Control-Expose-Headers")
		if r.status != status || r.header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(exposed, "Mcp-Session-Id") || !strings.Contains(exposed, "WWW-Authenticate") {
			t.Errorf("got %d with %v; want %d", r.status, r.header, status)
		}
		if r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Error("cookies are no business of the server's")
		}
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// TestHTTPTokens tells those who present a token in force from all others.
func TestHTTPTokens(t *testing.T) {
	t.Parallel()
	old := strings.TrimSuffix(tokenEntry("old", "olds"), "}") + ", expires: 2020-01-01T00:00:00Z}"
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {tokens: ["+tokenEntry("ann", "anns")+", "+old+"]}")...)
	ann := s.newPeer(t, "2025-11-25", "anns")
	for _, test := range []struct {
		name, authorization string
		accepted            bool
	}{
		{"right", "Bearer anns", true},
		{"scheme in another case", "bearer anns", true},
		{"missing", "", false},
		{"wrong", "Bearer anna", false},
		{"expired", "Bearer olds", false},
		{"without scheme", "anns", false},
		{"another scheme", "Basic YW5uczphbm5z", false},
		{"scheme alone", "Bearer", false},
		{"empty", "Bearer ", false},
		{"hash instead of token", "Bearer " + tokenEntry("ann", "anns"), false},
		{"two tokens", "Bearer anns, Bearer anns", false},
		{"quotes and escapes", `Bearer "\", error="x`, false},
		{"not ASCII", "Bearer \xff\xfeé", false},
		{"very long", "Bearer " + strings.Repeat("anns", 5_000), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, method := range []string{"POST", "GET", "PUT", "DELETE"} {
				if test.accepted && method != "POST" {
					continue
				}
				body := ""
				if method == "POST" {
					body = ann.message("1", "ping", "", "")
				}
				r := s.do(t, method, "/mcp", body, map[string]string{"Authorization": test.authorization, "Mcp-Session-Id": ann.session})
				want := http.StatusUnauthorized
				if test.accepted {
					want = http.StatusOK
				}
				challenge := r.header.Get("WWW-Authenticate")
				if r.status != want || strings.HasPrefix(challenge, "Bearer ") == test.accepted {
					t.Errorf("%s: %d, %q, %s; want %d", method, r.status, challenge, r.body, want)
				}
				if strings.Contains(r.body+challenge, "anns") && test.authorization != "" {
					t.Errorf("%s: the refusal repeats the token: %s, %s", method, r.body, challenge)
				}
			}
		})
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if r := s.do(t, "GET", path, "", nil); r.status != http.StatusOK {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

// TestHTTPBind refuses to serve other machines without tokens.
func TestHTTPBind(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, binary(), "serve", "--http", address, t.TempDir())
		out, err := cmd.CombinedOutput()
		stop()
		if err == nil || ctx.Err() == context.DeadlineExceeded || !strings.Contains(string(out), "not a loopback address") {
			t.Errorf("%s: %v, %s", address, err, out)
		}
	}
}
