package websearch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"toolserver/tools/httpcall"
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

// Bounds of what headers are believed.
const (
	maxWindows    = 8
	maxRateNumber = 1_000_000_000
	maxReset      = 32 * 24 * time.Hour // the longest month
)

const (
	// slack is how much slower than allowed requests are sent, in hundredths: they do not all take the same time to get there.
	slack = 5
	// unknownQuota is how long a used-up quota is remembered if the service does not say when it is renewed.
	unknownQuota = 10 * time.Minute
)

// learn adapts the limiter to what an answer says of the service's limits.
func (p *provider) learn(h http.Header) {
	windows := rateWindows(h)
	interval := time.Duration(0)
	for _, w := range windows {
		switch {
		case w.limit == 0:
		case w.short():
			interval = max(interval, w.length/time.Duration(w.limit)*(100+slack)/100)
			if w.remaining == 0 && w.limit > 1 && w.reset > 0 { // others use the key as well
				p.http.Limiter.Pause(min(w.reset, w.length))
			}
		case w.remaining == 0 && w.reset > 0:
			p.http.Limiter.Block(&httpcall.Failure{Type: "quota_exceeded", Message: p.title + ": " + quotaMeaning, Hint: hintQuota, Cooldown: w.reset})
		}
	}
	if windows != nil {
		p.http.Limiter.SetInterval(interval)
	}
}

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
		limit, parameters, _ := strings.Cut(text, ";")
		w := window{limit: rateNumber(limit), remaining: -1, reset: -1}
		for parameter := range strings.SplitSeq(parameters, ";") {
			if seconds, found := strings.CutPrefix(strings.TrimSpace(parameter), "w="); found {
				w.length = time.Duration(max(rateNumber(seconds), 0)) * time.Second
			}
		}
		if w.limit < 0 || w.length == 0 {
			return nil
		}
		if i < len(remaining) {
			w.remaining = rateNumber(remaining[i])
		}
		if i < len(reset) {
			if n := rateNumber(reset[i]); n >= 0 {
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

// rateNumber reads a number; it is -1 if there is none.
func rateNumber(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > maxRateNumber {
		return -1
	}
	return n
}

// shortReset returns when the shortest window starts anew, or 0.
func shortReset(h http.Header) time.Duration {
	for _, w := range rateWindows(h) {
		if w.short() && w.reset >= 0 {
			return w.reset
		}
	}
	return 0
}

// quotaReset returns when a quota that is used up starts anew, or 0.
func quotaReset(h http.Header) time.Duration {
	for _, w := range rateWindows(h) {
		if !w.short() && w.limit > 0 && w.remaining == 0 && w.reset > 0 {
			return w.reset
		}
	}
	return 0
}

func quotaUsedUp(e *httpcall.StatusError) bool { return quotaReset(e.Header) > 0 }
