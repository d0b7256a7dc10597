package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// versionedSite has pages of which it notes how they are asked for. What changes
// is told by next.
type versionedSite struct {
	url string

	mu      sync.Mutex
	version int
	asked   []string
}

func newVersionedSite(t *testing.T, header map[string]http.Header) *versionedSite {
	t.Helper()
	s := &versionedSite{version: 1}
	s.url = serveSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		etag := fmt.Sprintf(`"v%d"`, s.version)
		condition := r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since")
		s.asked = append(s.asked, condition)
		for name, values := range header[r.URL.Path] {
			w.Header()[name] = values
		}
		if w.Header().Get("Etag") == "" && !strings.HasPrefix(r.URL.Path, "/plain") {
			w.Header().Set("ETag", etag)
		}
		if condition != "" && (r.Header.Get("If-None-Match") == w.Header().Get("Etag")) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "version %d", s.version)
	}})
	return s
}

// requests returns the conditions of the requests since it was last called.
func (s *versionedSite) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *versionedSite) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// TestWebFetchCache fetches pages again, which asks for them as their site says.
func TestWebFetchCache(t *testing.T) {
	t.Parallel()
	const modified = "Wed, 21 Oct 2015 07:28:00 GMT"
	control := func(values ...string) http.Header { return http.Header{"Cache-Control": values} }
	s := newVersionedSite(t, map[string]http.Header{
		"/fresh": control("max-age=600"), "/mixed": control("Public, MAX-AGE=600, immutable"), "/stale": control("max-age=0"),
		"/no-cache": control("no-cache, max-age=600"),
		"/no-store": control("no-store, max-age=600"), "/private": control("private, max-age=600"),
		"/vary":    {"Cache-Control": {"max-age=600"}, "Vary": {"*"}},
		"/expires": {"Expires": {"Fri, 01 Jan 2100 00:00:00 GMT"}}, "/expired": {"Expires": {"0"}}, "/shared": control("s-maxage=600, max-age=0"),
		"/unshared": control("max-age=600, s-maxage=0"),
		"/old":      {"Cache-Control": {"max-age=600"}, "Age": {"600"}}, "/plain": {}, "/plain-dated": {"Last-Modified": {modified}},
	})
	c := openFetch(t, "", s.url)
	fetch := func(path string, version int, cached bool, more ...any) {
		t.Helper()
		a := c.fetch(s.url+path, more...)
		if a.failed() || !strings.HasSuffix(a.text(), fmt.Sprintf("\n\nversion %d", version)) || a.Result.Meta["cached"] != cached {
			t.Errorf("%s: cached %v, %s; want %t, version %d", path, a.Result.Meta["cached"], a.text(), cached, version)
		}
	}
	asked := func(path string, want ...string) {
		t.Helper()
		if got := s.requests(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: requests with %q, want %q", path, got, want)
		}
	}
	version := 1
	for _, path := range []string{"/fresh", "/mixed", "/expires", "/shared"} {
		fetch(path, version, false)
		fetch(path, version, true)
		asked(path, "")
		s.next()
		fetch(path, version, true) // as long as the site has said
		version++
		fetch(path, version, false, "refresh", true)
		asked(path, "")
		fetch(path, version, true) // what was fetched anew is kept
		asked(path)
	}
	for _, path := range []string{"/", "/stale", "/no-cache", "/old", "/expired", "/unshared"} {
		fetch(path, version, false)
		fetch(path, version, true)
		asked(path, "", fmt.Sprintf(`"v%d"`, version))
		s.next()
		version++
		fetch(path, version, false)
		fetch(path, version, true)
		asked(path, fmt.Sprintf(`"v%d"`, version-1), fmt.Sprintf(`"v%d"`, version))
		fetch(path, version, false, "refresh", true)
		asked(path, "")
	}
	for _, path := range []string{"/no-store", "/private", "/vary", "/plain"} {
		fetch(path, version, false)
		fetch(path, version, false)
		asked(path, "", "")
	}
	fetch("/plain-dated", version, false)
	fetch("/plain-dated", version, true)
	asked("/plain-dated", "", modified)
	c.ping()
}

// TestWebFetchCacheLists has a page in the cache that the tool may no longer
// fetch, once the configuration has changed.
func TestWebFetchCacheLists(t *testing.T) {
	t.Parallel()
	s := newVersionedSite(t, map[string]http.Header{"/fresh": {"Cache-Control": {"max-age=600"}}})
	file, _ := configured(t, privateHosts(s.url))
	c := serveTools(t, file)
	for range 2 {
		if got := c.fetched(s.url + "/fresh"); got != "version 1" {
			t.Errorf("got %q", got)
		}
	}
	reconfigure(t, file, privateHosts(s.url)+"tools: {web_fetch: {denied_hosts: [127.0.0.1]}}\n")
	eventually(t, "the new configuration counts", func() bool { return c.fetch(s.url + "/fresh").failed() })
	wantFailure(t, "what is in the cache", c.fetch(s.url+"/fresh"), "denied", "127.0.0.1")
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
