package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// redirectingSite notes what it was asked, and redirects as it is asked to:
// /to?status=STATUS&url=URL, and /left/N/x by N redirects.
type redirectingSite struct {
	url string

	mu    sync.Mutex
	asked []string
}

func newRedirectingSite(t *testing.T) *redirectingSite {
	t.Helper()
	s := &redirectingSite{}
	s.url = serveSite(t, map[string]http.HandlerFunc{"/": s.serve})
	return s
}

func (s *redirectingSite) serve(w http.ResponseWriter, r *http.Request) {
	note := r.Method + " " + r.URL.Path
	for _, name := range []string{"Cookie", "Authorization", "Referer"} {
		if r.Header.Get(name) != "" {
			note += " with " + name
		}
	}
	s.mu.Lock()
	s.asked = append(s.asked, note)
	s.mu.Unlock()
	left, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/left/"), "/")
	switch n, err := strconv.Atoi(left); {
	case err == nil && n > 0: // /left/N/x leads to /left/N-1/x
		http.Redirect(w, r, fmt.Sprintf("/left/%d/%s", n-1, rest), http.StatusFound)
	case r.FormValue("status") != "":
		status, _ := strconv.Atoi(r.FormValue("status"))
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b", Path: "/"})
		if to := r.FormValue("url"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(status)
	default:
		fmt.Fprintf(w, "reached %s", r.URL.RequestURI())
	}
}

// to is the address that redirects.
func (s *redirectingSite) to(status int, location string) string {
	return fmt.Sprintf("%s/dir/to?status=%d&url=%s", s.url, status, url.QueryEscape(location))
}

// requests returns what was asked since it was last called.
func (s *redirectingSite) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// TestWebFetchRedirects follows redirects of every kind, and none to where the
// tool may not go.
func TestWebFetchRedirects(t *testing.T) {
	t.Parallel()
	home, other, foreign := newRedirectingSite(t), newRedirectingSite(t), newRedirectingSite(t)
	c := openFetch(t, "", home.url, other.url)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for location, want := range map[string]string{
			home.url + "/a?b=c": home.url + "/a?b=c", "page": home.url + "/dir/page", "../up": home.url + "/up", "?q": home.url + "/dir/to?q",
			"/a#part": home.url + "/a",
			"//" + strings.TrimPrefix(other.url, "http://") + "/o": other.url + "/o", other.url + "/%e2%82%ac": other.url + "/%e2%82%ac",
			" /a ": home.url + "/a",
		} {
			if location == " /a " && status != 302 {
				continue
			}
			a := c.fetch(home.to(status, location), "refresh", true)
			to, err := url.Parse(want)
			must(t, err)
			if a.failed() || !strings.Contains(a.text(), "\nFinal URL: "+want+"\n") || !strings.HasSuffix(a.text(), "reached "+to.RequestURI()) {
				t.Errorf("%d to %q: %s", status, location, a.text())
			}
			if a.Result.Meta["final_url"] != want || fmt.Sprint(a.Result.Meta["redirects"]) != "["+want+"]" {
				t.Errorf("%d to %q: _meta is %v", status, location, a.Result.Meta)
			}
		}
		wantFailure(t, fmt.Sprint(status, " without Location"), c.fetch(home.to(status, "")), "http_status", "Error: HTTP "+strconv.Itoa(status))
	}
	for _, asked := range append(home.requests(), other.requests()...) {
		asked = strings.TrimSuffix(asked, " with Cookie") // of the same host: ports are one to cookies
		if !strings.HasPrefix(asked, "GET ") || strings.Contains(asked, " with ") {
			t.Errorf("after a redirect a site was asked for %s", asked)
		}
	}
	c.ping()

	c = openFetch(t, "", home.url, other.url) // which has asked for nothing yet
	for location, want := range map[string]struct{ errorType, text string }{
		foreign.url + "/secret":                    {"denied", "network.loopback"},
		"http://localhost:1/":                      {"denied", "network.loopback"},
		"http://169.254.169.254/latest":            {"denied", "network.metadata"},
		"http://10.0.0.1/":                         {"denied", "network.private"},
		"file:///etc/passwd":                       {"denied", "network.scheme"},
		"gopher://127.0.0.1/":                      {"denied", "network.scheme"},
		"javascript:alert(1)":                      {"denied", "network.scheme"},
		"http://u:p@" + other.url[len("http://"):]: {"denied", "network.userinfo"},
		"http://[::1":                              {"http_status", "HTTP 302"},
	} {
		a := c.fetch(home.to(302, location))
		wantFailure(t, location, a, want.errorType, want.text)
		if strings.Contains(a.text(), "u:p") {
			t.Errorf("a password is shown: %s", a.text())
		}
		wantFailure(t, "by another host to "+location, c.fetch(home.to(307, other.to(302, location))), want.errorType, want.text)
	}
	for _, status := range []int{300, 304, 305, 306} {
		wantFailure(t, fmt.Sprint(status), c.fetch(home.to(status, "/a")), "http_status", "Error: HTTP "+strconv.Itoa(status))
	}
	if asked := foreign.requests(); len(asked) > 0 {
		t.Errorf("the host that is not open was asked for %q", asked)
	}
	c.ping()
}

// TestWebFetchRedirectCount follows five redirects and no more.
func TestWebFetchRedirectCount(t *testing.T) {
	t.Parallel()
	home, other := newRedirectingSite(t), newRedirectingSite(t)
	c := openFetch(t, "", home.url, other.url)
	for range 3 { // one call leaves nothing behind for the next
		if a := c.fetch(home.url+"/left/5/x", "refresh", true); a.failed() || !strings.HasSuffix(a.text(), "reached /left/0/x") ||
			len(home.requests()) != 6 {
			t.Errorf("five redirects: %s", a.text())
		}
		wantFailure(t, "six redirects", c.fetch(home.url+"/left/6/x"), "too_many_redirects", "Error: Too many redirects (max 5)")
		if asked := home.requests(); len(asked) != 6 {
			t.Errorf("six redirects: %d requests", len(asked))
		}
	}
	var asked atomic.Int64
	var there string
	here := serveSite(t, map[string]http.HandlerFunc{
		"/itself": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, "/itself", http.StatusFound)
		},
		"/back": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, there, http.StatusFound)
		},
	})
	there = serveSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, here+"/back", http.StatusFound)
	}})
	looping := openFetch(t, "", here, there)
	for _, path := range []string{"/itself", "/back"} {
		wantFailure(t, path, looping.fetch(here+path), "too_many_redirects", "Error: Too many redirects (max 5)")
		if n := asked.Swap(0); n != 6 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
	looping.ping()
	c.ping()
}
