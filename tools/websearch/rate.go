package websearch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// A window is one of the limits that a service says it has: so many requests in so much time.
type window struct {
	limit     int // 0 for no limit
	length    time.Duration
	remaining int           // -1 if it is not said
	reset     time.Duration // until the window starts anew; -1 if it is not said
}

// short reports whether the window is a rate. The others are quotas.
func (w window) short() bool { return w.length <= time.Minute }

// usedUp reports whether the window is a quota of which nothing remains.
func (w window) usedUp() bool { return !w.short() && w.limit > 0 && w.remaining == 0 }

// Bounds of what headers are believed.
const (
	maxWindows    = 8
	maxRateNumber = 1_000_000_000
	maxReset      = 32 * 24 * time.Hour // the longest month
)

const (
	// slack is how much slower than allowed requests are sent, in hundredths: they do not all take the same time to get there.
	slack = 5
	// probeAfter is how long a service is not asked at most that refuses to answer for longer, or does not say for how long.
	probeAfter = time.Hour
)

// learn adapts the limiter to what an answer says of the service's limits.
func (p *provider) learn(h http.Header) {
	windows := rateWindows(h)
	interval := time.Duration(0)
	for _, w := range windows {
		if w.short() && w.limit > 0 {
			interval = max(interval, w.length/time.Duration(w.limit)*(100+slack)/100)
			if w.remaining == 0 && w.limit > 1 && w.reset > 0 { // others use the key as well
				p.http.Limiter.Pause(min(w.reset, w.length))
			}
		}
	}
	if left := resetOf(h, window.usedUp); left > 0 {
		p.http.Limiter.Block(quotaFailure(&httpcall.Failure{Type: "quota_exceeded", Hint: hintQuota}, left))
	}
	if windows != nil {
		p.http.Limiter.SetInterval(interval)
	}
}

// resetOf returns when the first window of a kind is reset, or 0.
func resetOf(h http.Header, kind func(window) bool) time.Duration {
	for _, w := range rateWindows(h) {
		if kind(w) && w.reset > 0 {
			return w.reset
		}
	}
	return 0
}

func quotaUsedUp(e *httpcall.StatusError) bool { return resetOf(e.Header, window.usedUp) > 0 }

// policy is a member of X-RateLimit-Policy: how many requests, and in how many seconds.
var policy = lazyregexp.New(`^\s*(\d{1,9})\s*;(?:.*;)?\s*w=(\d{1,9})\s*(?:;|$)`)

// rateWindows reads the limits of a service from the headers X-RateLimit-Policy, -Remaining and -Reset, which have a number for
// each window, as in
//
//	X-RateLimit-Policy: 1;w=1, 15000;w=2592000
//	X-RateLimit-Remaining: 0, 1000
//	X-RateLimit-Reset: 1, 1419704
//
// (https://api-dashboard.search.brave.com/documentation/guides/rate-limiting). Times are seconds. Without a readable policy
// nothing is known.
func rateWindows(h http.Header) (windows []window) {
	remaining, reset := list(h, "X-RateLimit-Remaining"), list(h, "X-RateLimit-Reset")
	for i, text := range list(h, "X-RateLimit-Policy") {
		parts := policy().FindStringSubmatch(text)
		if parts == nil {
			return nil
		}
		w := window{rateNumber(parts, 1), time.Duration(rateNumber(parts, 2)) * time.Second, rateNumber(remaining, i), -1}
		if w.length == 0 {
			return nil
		}
		if n := rateNumber(reset, i); n >= 0 {
			w.reset = min(time.Duration(n)*time.Second, maxReset)
		}
		windows = append(windows, w)
	}
	return windows
}

// list returns the members of a header that is a list, at most [maxWindows].
func list(h http.Header, name string) []string {
	text := strings.Join(h.Values(name), ",")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	all := strings.SplitN(text, ",", maxWindows+1)
	return all[:min(len(all), maxWindows)]
}

// rateNumber reads the i-th of some numbers; it is -1 if there is none.
func rateNumber(texts []string, i int) int {
	if i >= len(texts) {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(texts[i]))
	if err != nil || n < 0 || n > maxRateNumber {
		return -1
	}
	return n
}
