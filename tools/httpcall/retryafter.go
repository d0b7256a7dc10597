package httpcall

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long a header asks to wait: Retry-After-Ms, or
// Retry-After in seconds or as a date (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < maxRetryAfter {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < maxRetryAfter {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// maxRetryAfter bounds the number of a header, so that it fits a duration.
const maxRetryAfter = 1e9
