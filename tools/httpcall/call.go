// Package httpcall sends the requests of tools to services: with a deadline and
// a bound on the answer, retried where that helps, and with failures that say
// what the matter is and never show a key.
package httpcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// A Caller sends requests to one service.
type Caller struct {
	Client  *http.Client
	Service string        // as messages name it: "Brave Search API"
	Timeout time.Duration // of each attempt, body included
	MaxBody int64         // bytes, after decompression; more is a *TooLargeError
	Retries int           // further attempts after a failure that may pass
	// Retry reports whether the same request may work later; nil for 429, 500,
	// 502, 503, 504 and 529. It is not asked about requests that got no answer,
	// which are repeated once they are known not to have arrived.
	Retry func(*StatusError) bool
}

// A Response is an answer that was read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// StatusError is an answer that is not of class 2xx. Redirects are among them:
// a service that sends one is not the service that was configured, and following
// would take the key elsewhere.
type StatusError struct {
	Service string
	Status  int
	Header  http.Header
	Body    []byte // the first 64 KiB
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d from %s", e.Status, e.Service) }

// RetryAfter returns how long the service asks to wait, if it does.
func (e *StatusError) RetryAfter() (time.Duration, bool) { return RetryAfter(e.Header, time.Now()) }

// TooLargeError is an answer over the bound.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer has more than %d bytes", e.Max)
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// Do sends a request, which build makes anew for each attempt, and reads the
// answer. The error is a [*StatusError], a [*TooLargeError], or what kept the
// request from being answered; [Explain] tells them apart.
func (c *Caller) Do(ctx context.Context, build func(ctx context.Context) (*http.Request, error)) (*Response, error) {
	return retried(ctx, c, func() (*Response, error) { return c.once(ctx, build) })
}

// retried calls send until it succeeds, or there is no use or no time in another
// attempt.
func retried[T any](ctx context.Context, c *Caller, send func() (T, error)) (T, error) {
	for attempt := 0; ; attempt++ {
		res, err := send()
		if err == nil || attempt >= c.Retries || ctx.Err() != nil {
			return res, err
		}
		wait, again := c.again(err, attempt)
		if again && Wait(ctx, wait) {
			continue
		}
		if ctx.Err() != nil { // while it waited
			err = ctx.Err()
		}
		return res, err
	}
}

func (c *Caller) once(ctx context.Context, build func(ctx context.Context) (*http.Request, error)) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := c.request(ctx, build)
	if err != nil {
		return nil, err
	}
	res, err := c.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, c.statusError(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, c.MaxBody+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > c.MaxBody {
		return nil, &TooLargeError{c.MaxBody}
	}
	return &Response{res.StatusCode, res.Header, body}, nil
}

// Stream sends a request like [Caller.Do] and returns an answer of class 2xx
// with its body unread: the caller reads it to its end or closes it. Timeout
// bounds the wait for the header only, ctx all of it.
func (c *Caller) Stream(ctx context.Context, build func(ctx context.Context) (*http.Request, error)) (*http.Response, error) {
	return retried(ctx, c, func() (*http.Response, error) { return c.open(ctx, build) })
}

func (c *Caller) open(ctx context.Context, build func(ctx context.Context) (*http.Request, error)) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	fail := func(err error) (*http.Response, error) {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	req, err := c.request(ctx, build)
	if err != nil {
		return fail(err)
	}
	res, err := c.Client.Do(req)
	if err != nil {
		return fail(err)
	}
	if res.StatusCode/100 != 2 {
		defer cancel(nil)
		defer res.Body.Close()
		return nil, c.statusError(res)
	}
	if !timer.Stop() { // just now, and with it goes the body
		res.Body.Close()
		return fail(context.DeadlineExceeded)
	}
	res.Body = &streamBody{res.Body, cancel}
	return res, nil
}

// streamBody releases the request's context when the body is closed.
type streamBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *streamBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// request builds a request, which says who sends it if build has not.
func (c *Caller) request(ctx context.Context, build func(ctx context.Context) (*http.Request, error)) (*http.Request, error) {
	req, err := build(ctx)
	if err == nil && req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", Product)
	}
	return req, err
}

func (c *Caller) statusError(res *http.Response) *StatusError {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what there is of it explains the status
	return &StatusError{c.Service, res.StatusCode, res.Header, body}
}

// again says whether to try once more, and after how long.
func (c *Caller) again(err error, attempt int) (time.Duration, bool) {
	backoff := Backoff(attempt)
	status, ok := errors.AsType[*StatusError](err)
	if !ok {
		return backoff, neverArrived(err)
	}
	retry := c.Retry
	if retry == nil {
		retry = mayPass
	}
	if asked, ok := status.RetryAfter(); ok {
		backoff = asked
	}
	return backoff, retry(status)
}

func mayPass(e *StatusError) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return true
	}
	return false
}

// Backoff returns how long to wait after an attempt, counted from 0, that was
// told nothing about it: half a second, doubled each time up to eight, less up
// to a quarter so that callers do not come back together.
func Backoff(attempt int) time.Duration {
	wait := min(500*time.Millisecond<<min(attempt, 4), 8*time.Second)
	return wait - time.Duration(rand.Int64N(int64(wait)/4))
}

// Wait waits, unless ctx would end first: then it returns false at once.
func Wait(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
