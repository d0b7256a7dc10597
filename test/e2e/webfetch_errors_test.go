package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWebFetchErrors has addresses and answers that are no page.
func TestWebFetchErrors(t *testing.T) {
	t.Parallel()
	routes := map[string]http.HandlerFunc{
		"/png":   body("image/png", "\x89PNG\r\n\x1a\n1234"),
		"/pdf":   body("application/pdf", "%PDF-1.7"),
		"/later": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) },
		"/parts": body("text/html", "<p>one"),
		"/json":  body("application/json", "{}"),
	}
	for _, status := range []int{300, 400, 401, 403, 404, 410, 418, 500, 503, 599} {
		routes[fmt.Sprintf("/%d", status)] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			io.WriteString(w, "secret error page")
		}
	}
	site := serveSite(t, routes)
	c := openFetch(t, "", site)
	for _, tt := range []struct {
		url             string
		args            []any
		errorType, want string
	}{
		{"ftp://example.com/", nil, "invalid_url", "Error: URL must use http or https scheme"},
		{"file:///etc/passwd", nil, "invalid_url", "Error: URL must use http or https scheme"},
		{"example.com", nil, "invalid_url", "Error: URL must use http or https scheme"},
		{"http://", nil, "invalid_url", "Error: "},
		{"http://a b/", nil, "invalid_url", "Error: the URL cannot be read"},
		{site + "/400", nil, "http_status", "Error: HTTP 400 fetching " + site + "/400"},
		{site + "/401", nil, "http_status", "Error: HTTP 401 fetching " + site + "/401"},
		{site + "/403", nil, "http_status", "Error: HTTP 403 fetching " + site + "/403"},
		{site + "/404", nil, "not_found", "Error: HTTP 404 fetching " + site + "/404"},
		{site + "/410", nil, "not_found", "Error: HTTP 410 fetching " + site + "/410"},
		{site + "/418", nil, "http_status", "Error: HTTP 418 fetching " + site + "/418"},
		{site + "/300", nil, "http_status", "Error: HTTP 300 fetching " + site + "/300"},
		{site + "/500", nil, "http_status", "Error: HTTP 500 fetching " + site + "/500"},
		{site + "/503", nil, "", "Error: HTTP 503 fetching " + site + "/503"},
		{site + "/599", nil, "http_status", "Error: HTTP 599 fetching " + site + "/599"},
		{site + "/later", nil, "rate_limited", "Error: HTTP 429 fetching " + site + "/later"},
		{site + "/png", nil, "invalid_image", "is not a whole image/png image"},
		{site + "/pdf", nil, "is_binary", "is not a readable .pdf file"},
		{site + "/parts", []any{"selector", "#none"}, "not_found", `nothing on the page matches the selector "#none"`},
		{site + "/parts", []any{"start_index", 3}, "out_of_range", "start_index 3 is past the end: the content has 3 characters"},
		{site + "/json", []any{"selector", "p"}, "unsupported_content", "only HTML has parts"},
	} {
		a := c.fetch(tt.url, tt.args...)
		if tt.errorType == "" { // overloaded or http_status
			tt.errorType = a.errorType()
		}
		wantFailure(t, tt.url, a, tt.errorType, tt.want)
		if hint := a.Result.StructuredContent["next_action_hint"].(string); strings.Count(a.text(), hint) != 1 {
			t.Errorf("%s: what to do is not in the text, once: %q", tt.url, a.text())
		}
		if strings.Contains(a.text(), "secret") {
			t.Errorf("%s: the page of the error is shown: %q", tt.url, a.text())
		}
	}
	if text := c.fetch(site + "/later").text(); strings.Count(text, "\nThe site asks to wait 7s before the next request.") != 1 {
		t.Errorf("Retry-After is not said once: %s", text)
	}
	for _, args := range []map[string]any{
		{}, with(""), with(site, "format", "pdf"), with(site, "maxChars", 0), with(site, "maxChars", 1_000_001), with(site, "start_index", -1),
		with(site, "links", "all"), with(site+"/parts", "selector", "p["), with(site, "max_lines", 5), with(site, "refresh", "yes"),
	} {
		if a := c.call("web_fetch", args); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("%v: %+v %s", args, a.Error, a.text())
		}
	}
	c.ping()
}
