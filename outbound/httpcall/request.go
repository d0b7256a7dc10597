package httpcall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// UserAgent is a browser's, for sites that show nothing to others.
const UserAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"

// Product is the user agent of requests that set none. It does not pretend to be a browser.
const Product = "Mozilla/5.0 (compatible; toolserver)"

// ParseBase reads the base URL of a service: http or https, a host, perhaps a path, and nothing else.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("user, query and fragment do not belong in a base URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q must start with https:// or http://", text)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host", text)
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	return u, nil
}

// PageHeader returns the header of requests for pages that are written for people.
func PageHeader(userAgent string) map[string]string {
	return map[string]string{
		"User-Agent":      userAgent,
		"Accept":          "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"Accept-Language": "en-US,en;q=0.5",
		"Accept-Encoding": netguard.Codings,
	}
}

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

// Repeatable returns what gives the body of a request again and again, the first time too.
func Repeatable(req *http.Request) (again func() (io.ReadCloser, error), err error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return func() (io.ReadCloser, error) { return req.Body, nil }, nil
	case req.GetBody != nil:
		req.Body.Close()
		return req.GetBody, nil
	}
	data, err := io.ReadAll(req.Body)
	req.Body.Close()
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, err
}
