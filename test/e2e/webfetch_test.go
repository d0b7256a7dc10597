package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// openTools starts the binary with a configuration, its working directory that
// of the configuration, and further environment.
func openTools(t *testing.T, config string, env ...string) (c *toolClient, dir string) {
	t.Helper()
	file, dir := configured(t, "logging: {level: warn}\n"+config)
	return serveTools(t, file, env...), dir
}

func serveTools(t *testing.T, file string, env ...string) *toolClient {
	t.Helper()
	return connect(t, append(append([]string{"env"}, env...), binary(), "serve", "--stdio", "--config", file)...)
}

// openFetch starts a server that may fetch from hosts on this machine.
func openFetch(t *testing.T, config string, hosts ...string) *toolClient {
	t.Helper()
	c, _ := openTools(t, privateHosts(hosts...)+config)
	return c
}

// privateHosts is the configuration that opens hosts, which may be URLs.
func privateHosts(hosts ...string) string {
	var list []string
	for _, host := range hosts {
		_, address, ok := strings.Cut(host, "://")
		if !ok {
			address = host
		}
		list = append(list, strconv.Quote(address))
	}
	return "sandbox: {private_hosts: [" + strings.Join(list, ", ") + "]}\n"
}

// with are arguments of web_fetch: the URL, and names with their values.
func with(url string, more ...any) map[string]any {
	args := map[string]any{"url": url}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

func (c *toolClient) fetch(url string, more ...any) answer {
	c.t.Helper()
	return c.call("web_fetch", with(url, more...))
}

// fetched returns the content of a page, which must be there.
func (c *toolClient) fetched(url string, more ...any) string {
	c.t.Helper()
	a := c.fetch(url, more...)
	_, content, ok := strings.Cut(a.text(), "\n\n--- Content ---\n\n")
	if a.failed() || !ok {
		c.t.Fatalf("%s %v: %.2000s", url, more, a.text())
	}
	return content
}

// wantFailure reports an answer that is not a tool execution error with the type and text.
func wantFailure(t *testing.T, what string, a answer, errorType, text string) {
	t.Helper()
	if !a.Result.IsError || a.errorType() != errorType || !strings.Contains(a.text(), text) {
		t.Errorf("%s: got failed %t, %s, %.1000q; want %s, %q", what, a.failed(), a.errorType(), a.text(), errorType, text)
	}
	if hint, _ := a.Result.StructuredContent["next_action_hint"].(string); hint == "" {
		t.Errorf("%s: nothing says what to do next", what)
	}
}

// serveSite serves routes.
func serveSite(t *testing.T, routes map[string]http.HandlerFunc) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		mux.HandleFunc(pattern, handler)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// body answers with a body of a type.
func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, text)
	}
}

// TestWebFetchHeader holds whole answers to the form that callers know.
func TestWebFetchHeader(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 16)
	site := serveSite(t, map[string]http.HandlerFunc{
		"/page": func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Header.Get("User-Agent") + "|" + r.Header.Get("Accept") + "|" + r.Header.Get("Accept-Language") + "|" + r.Method
			body("text/html; charset=utf-8", "<!doctype html><title> A &amp; B\n</title><script>x()</script><h1>Hi</h1><p>See <a href=/next>more</a>.")(w, r)
		},
		"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "page#part", http.StatusFound) },
		"/json":  body("application/json; charset=utf-8", `{"b":[1,{}],"a":null}`),
		"/long":  body("text/plain", strings.Repeat("é", 85_000)),
		"/text":  body("Text/PLAIN;charset=UTF-8", " a  <b> \n"),
		"/empty": body("text/html", ""),
		"/short": body("text/plain", "0123456789"),
	})
	c := openFetch(t, "", site)
	const page = "Hi\n\nSee more (SITE/next)."
	length := strconv.Itoa(len(strings.ReplaceAll(page, "SITE", site)))
	for _, tt := range []struct {
		path string
		args []any
		want string
	}{
		{"/page", nil, "Status: 200\nContent-Type: text/html\nTitle: A & B\nLength: " + length + " chars\n\n--- Content ---\n\n" + page},
		{"/moved", nil, "Final URL: SITE/page\nStatus: 200\nContent-Type: text/html\nTitle: A & B\nLength: " + length +
			" chars\n\n--- Content ---\n\n" + page},
		{"/json", nil, "Status: 200\nContent-Type: application/json\nLength: 43 chars\n\n--- Content ---\n\n" +
			"{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": null\n}"},
		{"/text", nil, "Status: 200\nContent-Type: text/plain\nLength: 9 chars\n\n--- Content ---\n\n a  <b> \n"},
		{"/empty", nil, "Status: 200\nContent-Type: text/html\nNote: the site sent no content\nLength: 0 chars\n\n--- Content ---\n\n"},
		{"/long", nil, "Status: 200\nContent-Type: text/plain\nLength: 50,000 chars (truncated from 85,000)\n\n--- Content ---\n\n" +
			strings.Repeat("é", 50_000) +
			"\n\n[Content truncated at 50,000 characters]\n[To read on: web_fetch(url=\"SITE/long\", start_index=50000)]"},
		{"/long", []any{"start_index", 50_000}, "Status: 200\nContent-Type: text/plain\nLength: 35,000 chars (from 50,000 of 85,000)\n\n" +
			"--- Content ---\n\n" + strings.Repeat("é", 35_000)},
		{"/short", []any{"maxChars", 4, "format", "raw", "start_index", 3}, "Status: 200\nContent-Type: text/plain\nLength: 4 chars (from 3 of 10)\n\n" +
			"--- Content ---\n\n3456" +
			"\n\n[Content truncated at 4 characters]\n[To read on: web_fetch(url=\"SITE/short\", start_index=7, maxChars=4, format=\"raw\")]"},
	} {
		a := c.fetch(site+tt.path, tt.args...)
		want := "URL: " + site + tt.path + "\n" + strings.ReplaceAll(tt.want, "SITE", site)
		if a.failed() || a.text() != want {
			t.Errorf("%s %v:\n%.1500s\nwant\n%.1500s", tt.path, tt.args, a.text(), want)
		}
		meta := a.Result.Meta
		if meta["url"] != site+tt.path || meta["status"] != 200.0 || meta["content_type"] == nil || meta["retrieved_at"] == nil {
			t.Errorf("%s: _meta is %v", tt.path, meta)
		}
	}
	const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36" +
		"|text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8|en-US,en;q=0.5|GET"
	if got := <-asked; got != browser {
		t.Errorf("the site was asked with %q", got)
	}
	c.ping()
}
