// Package httpcall sends the requests of tools to services: at the rate they allow, with a deadline and a bound on the
// answer, retried where that helps, and with failures that say what is wrong and never show a key.
package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// A Service is an API or a site that requests are sent to.
type Service struct {
	Name    string // as messages name it: "Brave Search API"
	Client  *http.Client
	Base    *url.URL
	Header  map[string]string // of every request
	Timeout time.Duration     // of each attempt, body included
	MaxBody int64             // bytes, after decompression; more is a *TooLargeError
	Limiter *Limiter          // may be nil
	// Retries is the number of further attempts after a failure that may pass:
	// one with Retry, or a request that did not arrive.
	Retries int
	// Repeatable says that what is given to Try may be carried out twice, as a GET may: it is done once more if the connection is lost.
	Repeatable bool
	// Fail says what an answer means that is not of class 2xx; nil for a Failure without further meaning.
	Fail func(*StatusError) error
	// Observe is called with the header of every answer; may be nil.
	Observe func(http.Header)
}

// A Request is what to send: a POST if it has a body, otherwise a GET.
type Request struct {
	URL    string
	Body   []byte
	Header map[string]string // beside that of the service
}

// A Response is an answer that was read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// TooLargeError is an answer over the bound.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer has more than %d bytes", e.Max)
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// URL returns the address of a path below the base of the service, with a query.
func (s *Service) URL(path string, query url.Values) string {
	u := s.Base.JoinPath(path)
	u.RawQuery = query.Encode()
	return u.String()
}

// Do sends a request and gives the answer to read, before others are admitted. The error is that of Fail or read, a
// [*TooLargeError], that of the limiter, or what kept the request from being answered; [Explain] makes a Failure of all but
// ctx's.
func (s *Service) Do(ctx context.Context, r Request, read func(*Response) error) error {
	return s.try(ctx, r.Body == nil, func() error {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		res, err := s.send(ctx, r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(io.LimitReader(res.Body, s.MaxBody+1))
		if err != nil {
			return err
		}
		if int64(len(body)) > s.MaxBody {
			return &TooLargeError{s.MaxBody}
		}
		return read(&Response{res.StatusCode, res.Header, body})
	})
}

// Stream sends a request like [Service.Do] and returns an answer of class 2xx
// with its body unread, which the caller closes. Only ctx bounds the wait.
func (s *Service) Stream(ctx context.Context, r Request) (res *http.Response, err error) {
	err = s.try(ctx, r.Body == nil, func() (err error) {
		res, err = s.send(ctx, r)
		return err
	})
	return res, err
}

// send sends a request once and returns an answer of class 2xx.
func (s *Service) send(ctx context.Context, r Request) (*http.Response, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", Product)
	for _, header := range []map[string]string{s.Header, r.Header} {
		for name, value := range header {
			req.Header.Set(name, value)
		}
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if s.Observe != nil {
		s.Observe(res.Header)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	start, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what there is of it explains the status
	status := &StatusError{s.Name, req.URL, res.StatusCode, res.Header, start}
	if s.Fail == nil {
		return nil, Rules(nil).Failure(status, "")
	}
	return nil, s.Fail(status)
}

// Try calls send until it succeeds, or another attempt is of no use or would come too late.
func (s *Service) Try(ctx context.Context, send func() error) error {
	return s.try(ctx, s.Repeatable, send)
}

func (s *Service) try(ctx context.Context, repeatable bool, send func() error) error {
	var last error
	lost := false // the connection, once
	for n := 0; ; n++ {
		err := s.attempt(ctx, n > 0, send)
		if _, late := errors.AsType[*LateError](err); late && last != nil {
			return last
		}
		last = err
		f, failed := errors.AsType[*Failure](err)
		passes := failed && f.Retry || !failed && NeverArrived(err)
		again := passes && n < s.Retries || repeatable && !lost && !failed && Dropped(err)
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		lost = lost || !passes
		wait := backoff(n)
		if failed {
			wait = cmp.Or(f.After, wait)
		}
		if s.Limiter != nil && failed && f.Type == "rate_limited" {
			s.Limiter.Pause(wait)
		} else if !sleep(ctx, wait) {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// attempt calls send when the limiter admits it, and begins the cooldown its failure requires.
func (s *Service) attempt(ctx context.Context, repeated bool, send func() error) error {
	if s.Limiter == nil {
		return send()
	}
	release, err := s.Limiter.Acquire(ctx, repeated)
	if err != nil {
		return err
	}
	defer release()
	err = send()
	switch f, ok := errors.AsType[*Failure](err); {
	case ok && f.Cooldown > 0:
		s.Limiter.Block(f)
	case err == nil || ok && f.Status != 0:
		s.Limiter.Unblock()
	}
	return err
}

// backoff returns how long to wait after an attempt, counted from 0, if the service does not say: half a second, doubled each
// time up to eight, less up to a quarter so that callers do not come back together.
func backoff(attempt int) time.Duration {
	wait := min(500*time.Millisecond<<min(attempt, 4), 8*time.Second)
	return wait - time.Duration(rand.Int64N(int64(wait)/4))
}

// sleep waits, unless ctx would end first: then it returns false at once.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

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
