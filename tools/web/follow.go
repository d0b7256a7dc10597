package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/tools/files/content"
)

const (
	maxRedirects = 5
	maxBody      = 2_000_000 // bytes, after decompression
)

// tooLarge is the failure of a body over the limit, whose size may be unknown.
func tooLarge(size string, most int64) *httpcall.Failure {
	message := fmt.Sprintf("Response too large (%s bytes, max %s bytes)", size, brief.Thousands(most))
	return &httpcall.Failure{Type: "too_large", Message: message, Hint: "Fetch a smaller page, or a part of it if the site offers one."}
}

// redirectError is a redirect that cannot be followed.
type redirectError struct {
	to  string
	err error
}

func (e *redirectError) Error() string { return e.err.Error() }
func (e *redirectError) Unwrap() error { return e.err }

// fetch requests u and what it redirects to. Known, which may be nil, is what
// was there before: it is asked for only if it has changed, and returned if not.
func (f *fetcher) fetch(ctx context.Context, u *url.URL, known *page) (p *page, unchanged bool, err error) {
	p = &page{url: u}
	var jar http.CookieJar // of this call
	for {
		same := known
		if known != nil && known.url.String() != p.url.String() {
			same = nil
		}
		res, err := f.request(ctx, p.url, same, jar)
		if err != nil && len(p.redirects) > 0 {
			return nil, false, &redirectError{p.url.Redacted(), err}
		}
		if err != nil {
			return nil, false, err
		}
		next, err := redirect(res, p.url)
		if err == nil && next == nil {
			defer res.Body.Close()
			if res.StatusCode == http.StatusNotModified && same != nil {
				return same.renewed(res.Header), true, nil
			}
			return p, false, p.read(res, f.contents)
		}
		if jar == nil && len(res.Header["Set-Cookie"]) > 0 {
			jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // the error is always nil
		}
		if jar != nil {
			jar.SetCookies(p.url, res.Cookies())
		}
		res.Body.Close() // unread, for it may never come
		switch {
		case err != nil:
			return nil, false, err
		case len(p.redirects) == maxRedirects:
			return nil, false, &httpcall.Failure{
				Type: "too_many_redirects", Message: fmt.Sprintf("Too many redirects (max %d)", maxRedirects),
				Hint: "Check the URL, or give the address that it should end up at.",
			}
		}
		if err := f.check(ctx, next); err != nil {
			return nil, false, &redirectError{next.Redacted(), err}
		}
		p.downgraded = p.downgraded || p.url.Scheme == "https" && next.Scheme == "http"
		p.redirects = append(p.redirects, next.String())
		p.url = next
	}
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

// request sends one request when its host may be asked. The jar, which may be nil, has the cookies of earlier redirects.
func (f *fetcher) request(ctx context.Context, u *url.URL, known *page, jar http.CookieJar) (*http.Response, error) {
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
	if known != nil {
		known.setConditions(req.Header)
	}
	if jar != nil {
		for _, c := range jar.Cookies(u) {
			req.AddCookie(c)
		}
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
func (p *page) read(res *http.Response, contents *content.Reader) error {
	switch encoding := res.Header.Get("Content-Encoding"); {
	case res.StatusCode/100 != 2:
		return &httpcall.StatusError{Status: res.StatusCode, Header: res.Header, Body: beginning(res)}
	case encoding != "" && res.ContentLength != 0: // those that are known were taken off
		return unsupported(fmt.Sprintf("Unsupported content encoding %.40q", encoding), "Use another URL.")
	}
	most := int64(maxBody)
	body, err := io.ReadAll(io.LimitReader(res.Body, document.HeadSize))
	p.media = mediaType(res.Header.Get("Content-Type"), body)
	if p.document(body).Type.Kind != document.Other {
		most = maxDocument
	}
	if res.ContentLength > most {
		return tooLarge(brief.Thousands(res.ContentLength), most)
	}
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(res.Body, most+1-int64(len(body))))
		body = append(body, rest...)
	}
	coding, isCoding := errors.AsType[*netguard.CodingError](err)
	switch {
	case int64(len(body)) > most:
		return tooLarge("more than "+brief.Thousands(most), most)
	case len(body) == 0 && isCoding:
		return unsupported("The site says that the body is "+coding.Coding+", and it is not", "Use another URL; the site is at fault.")
	case err != nil && len(body) > 0 && !errors.Is(err, context.Canceled): // it ended before the body did, or the time did
		p.missing, p.late = -1, httpcall.IsTimeout(err)
		if res.ContentLength > 0 {
			p.missing = res.ContentLength - int64(len(body))
		}
	case err != nil:
		return err
	}
	p.status, p.header, p.at, p.checked = res.StatusCode, res.Header, time.Now(), time.Now()
	p.lifetime, p.stored = freshness(res.Header)
	return p.decode(res.Request.Context(), contents, body)
}

const (
	errorBody     = 4 << 10         // bytes of an error that are read
	errorBodyTime = 2 * time.Second // how long they are waited for
)

// beginning returns the beginning of an error that says more than its status does: JSON or plain text.
func beginning(res *http.Response) []byte {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // an unreadable type is none
	if !isJSON(media) && media != "text/plain" {
		return nil
	}
	late := time.AfterFunc(errorBodyTime, func() { res.Body.Close() })
	defer late.Stop()
	body, _ := io.ReadAll(io.LimitReader(res.Body, errorBody)) // what there is of it
	text, _, _ := decode(body, res.Header.Get("Content-Type"))
	return []byte(text)
}
