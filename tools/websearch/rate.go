package websearch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A window is one of the limits that a service says it has: so many requests in so much time.
type window struct {
	limit     int // 0 for no limit
	length    time.Duration
	remaining int           // -1 if it is not said
	reset     time.Duration // until the window starts anew; -1 if it is not said
}

// short reports whether waiting for the window to start anew is worth while. The others are quotas.
func (w window) short() bool { return w.length <= time.Minute }

// Bounds of what headers are believed.
const (
	maxWindows    = 8
	maxRateNumber = 1_000_000_000
	maxReset      = 32 * 24 * time.Hour // the longest month
)

// rateWindows reads the limits of a service from the headers X-RateLimit-Policy, -Limit, -Remaining and -Reset, which have a
// number for each window, as in
//
//	X-RateLimit-Policy: 1;w=1, 15000;w=2592000
//	X-RateLimit-Remaining: 0, 1000
//	X-RateLimit-Reset: 1, 1419704
//
// (https://api-dashboard.search.brave.com/documentation/guides/rate-limiting). Times are seconds. Without a readable policy
// nothing is known.
func rateWindows(h http.Header) []window {
	policy := list(h, "X-RateLimit-Policy")
	remaining, reset := list(h, "X-RateLimit-Remaining"), list(h, "X-RateLimit-Reset")
	var windows []window
	for i, text := range policy {
		limit, rest, _ := strings.Cut(text, ";")
		w := window{remaining: -1, reset: -1}
		n, ok := rateNumber(limit)
		if !ok {
			return nil
		}
		w.limit = n
		for parameter := range strings.SplitSeq(rest, ";") {
			if seconds, found := strings.CutPrefix(strings.TrimSpace(parameter), "w="); found {
				if n, ok := rateNumber(seconds); ok {
					w.length = time.Duration(n) * time.Second
				}
			}
		}
		if w.length == 0 {
			return nil
		}
		if i < len(remaining) {
			if n, ok := rateNumber(remaining[i]); ok {
				w.remaining = n
			}
		}
		if i < len(reset) {
			if n, ok := rateNumber(reset[i]); ok {
				w.reset = min(time.Duration(n)*time.Second, maxReset)
			}
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

// rateNumber reads a number that is not negative.
func rateNumber(text string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil && 0 <= n && n <= maxRateNumber
}

// shortReset returns when the shortest window that is used up starts anew.
func shortReset(h http.Header) (time.Duration, bool) {
	for _, w := range rateWindows(h) {
		if w.short() && w.reset >= 0 {
			return w.reset, true
		}
	}
	return 0, false
}

// quotaReset returns when a quota that is used up starts anew.
func quotaReset(h http.Header) (time.Duration, bool) {
	for _, w := range rateWindows(h) {
		if !w.short() && w.limit > 0 && w.remaining == 0 && w.reset > 0 {
			return w.reset, true
		}
	}
	return 0, false
}
