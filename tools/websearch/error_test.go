package websearch

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// judge says what a service's answer means.
func judge(name string, e *httpcall.StatusError) *httpcall.Failure {
	o := DefaultOptions()
	o.Brave.APIKey, o.Tavily.APIKey, o.SearXNG.BaseURL = "k3y", "k3y", "http://searxng.test"
	s := o.find(name)
	f, _ := errors.AsType[*httpcall.Failure](s.connect(http.DefaultClient).failure(e))
	return f
}

// TestStatuses holds what services answer, in the words of their documentation or as they were seen to, against what it is
// taken for.
func TestStatuses(t *testing.T) {
	brave := func(code, meta string) string {
		return `{"type":"ErrorResponse","error":{"id":"5d83","status":422,"code":"` + code + `","detail":"<b>k3y</b>","meta":` + meta + `},"time":1}`
	}
	const page = "<!DOCTYPE html><html><body>Just a moment... k3y</body></html>"
	for _, test := range []struct {
		name    string
		service string
		status  int
		header  string // Name: value lines
		body    string
		want    string // error type
		message string // part of it
		after   time.Duration
	}{
		{"bad key", "brave", 422, "", brave("SUBSCRIPTION_TOKEN_INVALID", `{"component":"authentication"}`), "bad_credentials", "HTTP 422 from S: it does not accept the key", 0},
		{"bad key as documented", "brave", 422, "", `{"type":"ErrorResponse","errors":[{"code":"SUBSCRIPTION_TOKEN_INVALID","status":422}]}`, "bad_credentials", "key", 0},
		{"no key", "brave", 422, "", brave("VALIDATION", `{"errors":[{"loc":["header","x-subscription-token"],"msg":"Field required"}]}`), "bad_credentials", "key", 0},
		{"401", "brave", 401, "", "", "bad_credentials", "HTTP 401 from S", 0},
		{"403", "brave", 403, "", `{"message":"forbidden"}`, "bad_credentials", "", 0},
		{"403 of the plan", "brave", 403, "", brave("RESOURCE_NOT_ALLOWED", `{}`), "plan_required", "", 0},
		{"not in plan", "brave", 400, "", brave("OPTION_NOT_IN_PLAN", `{}`), "plan_required", "HTTP 400 from S: the key's plan", 0},
		{"no subscription", "brave", 404, "", brave("SUBSCRIPTION_NOT_FOUND", `{}`), "plan_required", "no subscription", 0},
		{"402", "brave", 402, "", "", "plan_required", "", 0},
		{"quota", "brave", 429, "X-RateLimit-Policy: 1;w=1, 2000;w=2592000\nX-RateLimit-Remaining: 1, 0\nX-RateLimit-Reset: 1, 86400", brave("QUOTA_LIMITED", `{}`), "quota_exceeded", "HTTP 429 from S: the key's quota is used up", 24 * time.Hour},
		{"quota without a word when", "brave", 429, "", brave("QUOTA_LIMITED", `{}`), "quota_exceeded", "", time.Hour},
		{"quota by headers", "brave", 429, "X-RateLimit-Policy: 1;w=1, 2000;w=2592000\nX-RateLimit-Remaining: 1, 0\nX-RateLimit-Reset: 1, 259200", "", "quota_exceeded", "", 72 * time.Hour},
		{"rate", "brave", 429, "X-RateLimit-Policy: 1;w=1, 2000;w=2592000\nX-RateLimit-Remaining: 0, 7\nX-RateLimit-Reset: 1, 259200", brave("RATE_LIMITED", `{"plan":"Free","rate_limit":1}`), "rate_limited", "HTTP 429 from S: it was asked more often than the key's plan allows", time.Second},
		{"rate of an unlimited plan", "brave", 429, "X-RateLimit-Policy: 50;w=1, 0;w=2592000\nX-RateLimit-Remaining: 0, 0\nX-RateLimit-Reset: 1, 259200", "", "rate_limited", "", time.Second},
		{"rate by Retry-After", "brave", 429, "Retry-After: 7", "", "rate_limited", "", 7 * time.Second},
		{"bad query", "brave", 422, "", brave("VALIDATION", `{"errors":[{"loc":["query","q"],"msg":"too long"}]}`), "invalid_query", "it does not accept the query", 0},
		{"bad option", "brave", 422, "", brave("VALIDATION", `{"errors":[{"loc":["query","country"],"msg":"k3y"}]}`), "invalid_query", "it does not accept the query", 0},
		{"odd option", "brave", 422, "", brave("VALIDATION", `{"errors":[{"loc":["query","<b>k3y"]},{"loc":[]},{"loc":[7]}]}`), "invalid_query", "it does not accept the query", 0},
		{"odd meta", "brave", 422, "", brave("VALIDATION", `"k3y"`), "invalid_query", "", 0},
		{"challenge", "brave", 403, "Content-Type: text/html", page, "blocked", "HTTP 403 from S: it sent a page for people", 0},
		{"challenge with 429", "brave", 429, "", page, "blocked", "", 0},
		{"down", "brave", 503, "", page, "overloaded", "", 0},
		{"failed", "brave", 500, "", "{}", "http_status", "HTTP 500 from S: it failed", 0},
		{"elsewhere", "brave", 404, "", page, "http_status", "there is no search API", 0},
		{"moved", "brave", 301, "", page, "http_status", "it redirects", 0},

		{"tavily: bad key", "tavily", 401, "", `{"detail":{"error":"Unauthorized: missing or invalid API key. k3y"}}`, "bad_credentials", "", 0},
		{"tavily: bad query", "tavily", 400, "", `{"detail":{"error":"Query is too long. k3y"}}`, "invalid_query", "", 0},
		{"tavily: rate", "tavily", 429, "retry-after: 60", `{"detail":{"error":"blocked due to excessive requests"}}`, "rate_limited", "", time.Minute},
		{"tavily: plan", "tavily", 403, "", `{"detail":{"error":"Forbidden"}}`, "plan_required", "", 0},
		{"tavily: quota", "tavily", 432, "", `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, "quota_exceeded", "HTTP 432 from S: the key's quota is used up", time.Hour},
		{"tavily: paid quota", "tavily", 433, "", "", "quota_exceeded", "", time.Hour},
		{"tavily: challenge", "tavily", 403, "", page, "blocked", "", 0},

		{"searxng: no JSON", "searxng", 403, "", page, "http_status", "HTTP 403 from S: the instance does not answer in JSON", 0},
		{"searxng: limiter", "searxng", 429, "Retry-After: 3", page, "rate_limited", "limiter", 3 * time.Second},
		{"searxng: login", "searxng", 401, "", page, "bad_credentials", "login", 0},
		{"searxng: bad query", "searxng", 400, "", `{"error":"No query"}`, "invalid_query", "", 0},

		{"duckduckgo: blocked", "duckduckgo", 403, "", page, "blocked", "", 0},
		{"duckduckgo: bang", "duckduckgo", 303, "Location: https://elsewhere.example", "", "http_status", "", 0},
	} {
		header := http.Header{}
		for line := range strings.Lines(test.header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			header.Set(name, value)
		}
		got := judge(test.service, &httpcall.StatusError{Service: "S", Status: test.status, Header: header, Body: []byte(test.body)})
		if got.Type != test.want || !strings.Contains(got.Message, test.message) || max(got.After, got.Cooldown) != test.after {
			t.Errorf("%s: %s, %q, after %v; want %s with %q after %v", test.name, got.Type, got.Message, max(got.After, got.Cooldown), test.want, test.message, test.after)
		}
		if text := got.Message + got.Hint; strings.ContainsAny(text, "<>") || strings.Contains(text, "k3y") || got.Hint == "" {
			t.Errorf("%s: %q repeats what was sent, or has no hint", test.name, text)
		}
	}
}

func TestRateWindows(t *testing.T) {
	header := func(policy, remaining, reset string) http.Header {
		return http.Header{"X-Ratelimit-Policy": {policy}, "X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset}}
	}
	for _, test := range []struct {
		header http.Header
		want   []window
	}{
		{header("1;w=1, 15000;w=2592000", "0, 1000", "1, 1419704"), []window{{1, time.Second, 0, time.Second}, {15000, 30 * 24 * time.Hour, 1000, 1419704 * time.Second}}},
		{header(" 50 ; w=1 ", "", ""), []window{{50, time.Second, -1, -1}}},
		{header("1;w=1,0;w=2592000", "0", "1"), []window{{1, time.Second, 0, time.Second}, {0, 30 * 24 * time.Hour, -1, -1}}},
		{header("20;burst=3;w=60", "x", "-1"), []window{{20, time.Minute, -1, -1}}},
		{header("1;w=1", "1", "1000000000"), []window{{1, time.Second, 1, maxReset}}},
		{http.Header{"X-Ratelimit-Policy": {"1;w=1", "5;w=60"}}, []window{{1, time.Second, -1, -1}, {5, time.Minute, -1, -1}}},
		{http.Header{}, nil}, {header("", "", ""), nil}, {header("1", "1", "1"), nil}, {header("1;w=0", "", ""), nil}, {header("1;w=-1", "", ""), nil},
		{header("x;w=1", "", ""), nil}, {header("-1;w=1", "", ""), nil}, {header("99999999999999999999;w=1", "", ""), nil}, {header("1;w=1,,", "", ""), nil},
	} {
		got := rateWindows(test.header)
		if len(got) != len(test.want) {
			t.Errorf("%v: %v; want %v", test.header, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%v: %v; want %v", test.header, got[i], test.want[i])
			}
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		52500 * time.Microsecond: "53ms", 1050 * time.Millisecond: "1.1s", 90 * time.Second: "1m30s", 10 * time.Minute: "10 minutes",
		5 * time.Hour: "5 hours", 12 * 24 * time.Hour: "12 days",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %q; want %q", d, got, want)
		}
	}
}

func TestWebAddress(t *testing.T) {
	for _, same := range [][]string{
		{"https://example.com", "http://example.com/", "https://www.EXAMPLE.com:443/#top", " https://example.com/ "},
		{"https://example.com/a/b", "https://example.com/a/b/", "http://example.com:80/a/b#c"},
		{"https://example.com/?q=1", "http://www.example.com?q=1#x"},
		{"https://example.com:8443/"},
		{"https://example.com/A"},
		{"https://example.com/a"},
		{"https://example.com/a?b"},
	} {
		_, first, ok := webAddress(same[0])
		for _, text := range same {
			if _, key, good := webAddress(text); !ok || !good || key != first {
				t.Errorf("%q: %q, %v; want %q", text, key, good, first)
			}
		}
	}
	for text, want := range map[string]string{
		"https://example.com/a b":                  "https://example.com/a%20b",
		"https://example.com/\u202eevil":           "https://example.com/%E2%80%AEevil",
		"https://example.com/<script>":             "https://example.com/%3Cscript%3E",
		"https://例え.example/検索":                    "https://例え.example/検索",
		"HTTPS://example.com/":                     "HTTPS://example.com/",
		"https://user@example.com/":                "",
		"https://user:pass@example.com/":           "",
		"http://<":                                 "",
		"https://0\"/":                             "",
		"https://a%20b/":                           "",
		"https:///path":                            "",
		"https://":                                 "",
		"ftp://example.com/":                       "",
		"//example.com/":                           "",
		"data:text/html,x":                         "",
		"https://ex\u202eample.com/":               "",
		"https://example.com/\x00":                 "",
		"https://example.com/%zz":                  "",
		"https://a/" + strings.Repeat("x", maxURL): "",
	} {
		if got, _, ok := webAddress(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
}
