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

// usable reports whether the page can be used without asking the site: its
// first part as long as the site says, further parts as long as a snapshot is
// kept.
func (p *page) usable(now time.Time, further bool) bool {
	age := now.Sub(p.checked)
	if further {
		return age < snapshot
	}
	return p.stored && age < p.lifetime
}

// renewed returns the page after the site has answered that it has not changed.
func (p *page) renewed(answer http.Header) *page {
	renewed := *p
	renewed.checked = time.Now()
	if answer.Get("Cache-Control") != "" || answer.Get("Expires") != "" {
		renewed.lifetime, renewed.stored = freshness(answer)
	}
	return &renewed
}

// setConditions asks for the page only if it has changed.
func (p *page) setConditions(h http.Header) {
	if etag := p.header.Get("ETag"); p.stored && etag != "" {
		h.Set("If-None-Match", etag)
	}
	if modified := p.header.Get("Last-Modified"); p.stored && modified != "" {
		h.Set("If-Modified-Since", modified)
	}
}

// freshness returns how long a response may be used without asking, and whether
// it may be kept at all (RFC 9111). A shared cache is what this is: callers are
// many, and requests carry none of their credentials.
func freshness(h http.Header) (lifetime time.Duration, stored bool) {
	stored = true
	shared := false // s-maxage, which is for caches like this, was given
	explicit := false
	for directive := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "private":
			return 0, false
		case "no-cache":
			return 0, true
		case "s-maxage", "max-age":
			seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
			if err == nil && (!explicit || name == "s-maxage" && !shared) {
				lifetime, explicit, shared = time.Duration(seconds)*time.Second, true, name == "s-maxage"
			}
		}
	}
	if expires, err := http.ParseTime(h.Get("Expires")); err == nil && !explicit {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		lifetime = expires.Sub(now)
	}
	if age, err := strconv.ParseInt(h.Get("Age"), 10, 32); err == nil {
		lifetime -= time.Duration(age) * time.Second
	}
	return min(max(lifetime, 0), snapshot), stored && h.Get("Vary") != "*"
}
