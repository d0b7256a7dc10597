package web

import (
	"container/list"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	cacheBytes = 32 << 20
	// snapshot is how long the parts of a page are of one and the same state of
	// it, and the longest that anything is used without asking.
	snapshot = 15 * time.Minute
)

// cache keeps pages that were fetched: the parts of a long one are then of one
// state, and a page that has not changed is not sent again. Requests carry
// nothing of their caller, so that all callers share it.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element // of *entry
	order   *list.List               // the one used last is first
	bytes   int
}

// entry is a page in the cache. It is not changed.
type entry struct {
	key      string
	page     *page
	size     int
	checked  time.Time     // when the site last said what it is
	lifetime time.Duration // how long the site says that this holds
	stored   bool          // whether the site lets it be used again; if not, it only serves its further parts
}

func newCache() *cache { return &cache{entries: map[string]*list.Element{}, order: list.New()} }

// get returns what is kept of a URL, or nil.
func (c *cache) get(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[key]
	if el == nil {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*entry)
}

// put keeps a page that came whole.
func (c *cache) put(key string, p *page) {
	if p.got.missing != 0 {
		return
	}
	lifetime, stored := freshness(p.got.header)
	c.add(&entry{key: key, page: p, size: 2*len(p.text) + 8<<10, checked: p.got.at, lifetime: lifetime, stored: stored})
}

// renew notes that what is kept of a URL is still so.
func (c *cache) renew(key string, known *entry, answer *fetched) *entry {
	renewed := *known
	renewed.checked = answer.at
	if _, says := answer.header["Cache-Control"]; says {
		renewed.lifetime, renewed.stored = freshness(answer.header)
	}
	c.add(&renewed)
	return &renewed
}

func (c *cache) add(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[e.key]; el != nil {
		c.drop(el)
	}
	c.entries[e.key] = c.order.PushFront(e)
	c.bytes += e.size
	for c.bytes > cacheBytes && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(el *list.Element) {
	e := c.order.Remove(el).(*entry)
	delete(c.entries, e.key)
	c.bytes -= e.size
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
