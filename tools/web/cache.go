package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	cacheBytes = 32 << 20
	// snapshot is how long the parts of a page are of one and the same state of
	// it, and the longest that anything is used without asking.
	snapshot = 15 * time.Minute
)

// entry is a page in the cache: the parts of a long one are then of one state,
// and a page that has not changed is not sent again. Requests carry nothing of
// their caller, so that all callers share it. An entry is not changed.
type entry struct {
	page     *page
	checked  time.Time     // when the site last confirmed the page
	lifetime time.Duration // how long it may be used from then on
	stored   bool          // whether the site lets it be used again; if not, it only serves its further parts
}

// newEntry returns the entry of a page that was just fetched.
func newEntry(p *page) *entry {
	lifetime, stored := freshness(p.got.header)
	return &entry{page: p, checked: p.got.at, lifetime: lifetime, stored: stored}
}

// renewed returns the entry of a page that has not changed according to answer.
func (e *entry) renewed(answer *fetched) *entry {
	renewed := *e
	renewed.checked = answer.at
	if _, says := answer.header["Cache-Control"]; says {
		renewed.lifetime, renewed.stored = freshness(answer.header)
	}
	return &renewed
}

// keep puts an entry into the cache if its page came whole.
func (f *fetcher) keep(key string, e *entry) {
	if e.page.got.missing == 0 {
		f.cache.Put("", key, e, int64(2*len(e.page.text)+8<<10))
	}
}

// usable reports whether the page can be used without asking the site: its
// first part as long as the site says, further parts as long as a snapshot is
// kept.
func (e *entry) usable(now time.Time, further bool) bool {
	age := now.Sub(e.checked)
	if further {
		return age < snapshot
	}
	return e.stored && age < e.lifetime
}

// setConditions asks for the page only if it has changed.
func (e *entry) setConditions(h http.Header) {
	if !e.stored {
		return
	}
	if etag := e.page.got.header.Get("ETag"); etag != "" {
		h.Set("If-None-Match", etag)
	}
	if modified := e.page.got.header.Get("Last-Modified"); modified != "" {
		h.Set("If-Modified-Since", modified)
	}
}

// conditional reports whether a request has the headers of setConditions.
func conditional(h http.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

// freshness returns how long a response may be used without asking, and whether
// it may be kept at all (RFC 9111). A shared cache is what this is: callers are
// many, and requests carry none of their credentials.
func freshness(h http.Header) (lifetime time.Duration, stored bool) {
	stored = true
	for directive := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "private":
			return 0, false
		case "no-cache":
			return 0, true
		case "max-age":
			if seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil && lifetime == 0 {
				lifetime = time.Duration(seconds) * time.Second
			}
		}
	}
	if age, err := strconv.ParseInt(h.Get("Age"), 10, 32); err == nil {
		lifetime -= time.Duration(age) * time.Second
	}
	return min(max(lifetime, 0), snapshot), stored && h.Get("Vary") != "*"
}
