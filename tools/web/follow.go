package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

const (
	maxRedirects = 5
	maxBody      = 2_000_000 // bytes, after decompression
)

// fetched is what came of a request.
type fetched struct {
	url         *url.URL // after redirects
	redirects   []string // the URLs that were redirected to
	downgraded  bool     // a redirect led from https to http
	status      int
	header      http.Header
	body        []byte
	missing     int64 // bytes that were announced and did not come; -1 if unknown
	notModified bool
	at          time.Time
}

// tooLarge is the failure of a body over the limit, whose size may be unknown.
func tooLarge(size string) *httpcall.Failure {
	message := fmt.Sprintf("Response too large (%s bytes, max %s bytes)", size, domain.Thousands(maxBody))
	return &httpcall.Failure{Type: "too_large", Message: message, Hint: "Fetch a smaller page, or a part of it if the site offers one."}
}

// redirectError is a redirect that cannot be followed.
type redirectError struct {
	to  string
	err error
}

func (e *redirectError) Error() string { return e.err.Error() }
func (e *redirectError) Unwrap() error { return e.err }

// badEncoding is the failure of a content encoding that was not asked for.
func badEncoding(name string) *httpcall.Failure {
	message := fmt.Sprintf("Unsupported content encoding %.40q", name)
	return &httpcall.Failure{Type: "unsupported_content", Message: message, Hint: "Use another URL."}
}

// fetch requests u and what it redirects to. Known, which may be nil, is what
// was there before, and is asked for only if it has changed.
func (f *fetcher) fetch(ctx context.Context, u *url.URL, known *entry) (*fetched, error) {
	got := &fetched{url: u}
	for {
		res, err := f.request(ctx, got.url, known)
		if err != nil {
			return nil, got.during(err)
		}
		next, err := redirect(res, got.url)
		if err == nil && next == nil {
			defer res.Body.Close()
			return got, got.read(res)
		}
		res.Body.Close() // unread, for it may never come
		switch {
		case err != nil:
			return nil, err
		case len(got.redirects) == maxRedirects:
			return nil, &httpcall.Failure{
				Type: "too_many_redirects", Message: fmt.Sprintf("Too many redirects (max %d)", maxRedirects),
				Hint: "Check the URL, or give the address that it should end up at.",
			}
		}
		if err := f.check(next); err != nil {
			return nil, &redirectError{next.Redacted(), err}
		}
		got.downgraded = got.downgraded || got.url.Scheme == "https" && next.Scheme == "http"
		got.redirects = append(got.redirects, next.String())
		got.url = next
	}
}

// during says of an error that a redirect led there.
func (g *fetched) during(err error) error {
	if len(g.redirects) == 0 {
		return err
	}
	return &redirectError{g.url.Redacted(), err}
}

// Limits for each host: fair to it, and no hindrance to a person who reads.
const (
	hostRate       = 10 // requests a second
	hostBurst      = 50
	hostConcurrent = 6
	maxHosts       = 1024
)

// hostKey tells apart hosts that policy names, which have no rate.
type hostKey struct {
	name  string
	named bool
}

// limiter returns the limiter of the host of u.
func (f *fetcher) limiter(u *url.URL) *httpcall.Limiter {
	key, interval := hostKey{u.Host, f.network.ExplicitlyAllowed(u)}, time.Second/hostRate
	if key.named {
		interval = 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.hosts.Get("", key)
	if !ok {
		l = httpcall.NewLimiter(interval, hostBurst, hostConcurrent)
		f.hosts.Put("", key, l, 0)
	}
	return l
}

// request sends one request when its host may be asked.
func (f *fetcher) request(ctx context.Context, u *url.URL, known *entry) (*http.Response, error) {
	release, err := f.limiter(u).Acquire(ctx, false)
	if late, ok := errors.AsType[*httpcall.LateError](err); ok {
		return nil, &httpcall.Failure{
			Type: "rate_limited", Message: u.Host + " is not requested yet: " + late.Error(), Hint: "Wait a few seconds, then call it again.",
		}
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		release()
		return nil, err
	}
	for name, value := range httpcall.PageHeader(f.options.UserAgent) {
		req.Header.Set(name, value)
	}
	if known != nil && known.page.got.url.String() == u.String() {
		known.setConditions(req.Header)
	}
	res, err := f.network.Client().Do(req)
	if err != nil {
		release()
		return nil, err
	}
	res.Body = &releasing{res.Body, release}
	return res, nil
}

// releasing calls release when the body is closed.
type releasing struct {
	io.ReadCloser
	release func()
}

func (b *releasing) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// redirect returns where a response sends its client, or nil if it does not.
func redirect(res *http.Response, from *url.URL) (*url.URL, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, &httpcall.StatusError{Status: res.StatusCode, Header: res.Header}
	}
	to, err := from.Parse(location)
	if err != nil {
		return nil, &redirectError{location, invalidURL("the redirect's URL cannot be read")}
	}
	return sendable(to), nil
}

// read reads the body, as far as it may.
func (g *fetched) read(res *http.Response) error {
	g.status, g.header, g.at = res.StatusCode, res.Header, time.Now()
	if res.StatusCode == http.StatusNotModified && conditional(res.Request.Header) {
		g.notModified = true
		return nil
	}
	if res.StatusCode/100 != 2 {
		return &httpcall.StatusError{Status: res.StatusCode, Header: res.Header}
	}
	if res.ContentLength > maxBody {
		return tooLarge(domain.Thousands(res.ContentLength))
	}
	content := io.Reader(res.Body)
	switch encoding := strings.ToLower(res.Header.Get("Content-Encoding")); {
	case encoding == "", encoding == "identity", res.ContentLength == 0:
	case encoding == "x-gzip": // RFC 9110, section 8.4.1.3; gzip was taken off by the transport
		unpacked, err := gzip.NewReader(res.Body)
		if err != nil {
			return badEncoding(encoding)
		}
		content = unpacked
	default:
		return badEncoding(encoding)
	}
	body, err := io.ReadAll(io.LimitReader(content, maxBody+1))
	switch {
	case len(body) > maxBody:
		return tooLarge("more than " + domain.Thousands(maxBody))
	case err != nil && len(body) > 0 && !httpcall.IsTimeout(err) && !errors.Is(err, context.Canceled): // it ended before the body did
		g.missing = -1
		if res.ContentLength > 0 {
			g.missing = res.ContentLength - int64(len(body))
		}
	case err != nil:
		return err
	}
	g.body = body
	return nil
}
