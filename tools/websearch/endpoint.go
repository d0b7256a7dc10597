package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"toolserver/tools/httpcall"
)

// An endpoint is where a service is asked: in turn, within a bound of time and size, and again where that helps.
type endpoint struct {
	service string // as messages name it
	base    *url.URL
	caller  httpcall.Caller
	queue   *queue
	// judge says what an answer means that is not of class 2xx.
	judge func(*httpcall.StatusError) *Error
}

// Bounds of the exchange with a service.
const (
	maxBody = 4 << 20
	// maxLimited is how often a request is repeated that came too early, and maxFailed one that the service failed at.
	maxLimited = 4
	maxFailed  = 1
)

// newEndpoint returns the endpoint of a service that is asked at most once in interval until it says what it allows.
func newEndpoint(client *http.Client, service, base string, interval time.Duration, judge func(*httpcall.StatusError) *Error) *endpoint {
	u, err := httpcall.ParseBase(base)
	if err != nil {
		panic(err) // it was checked
	}
	return &endpoint{
		service: service, base: u, queue: newQueue(service, interval), judge: judge,
		caller: httpcall.Caller{
			Client: client, Service: service, Timeout: providerTime, MaxBody: maxBody,
			// Only what certainly did not arrive is repeated there: anything else needs a turn of its own.
			Retries: 1, Retry: func(*httpcall.StatusError) bool { return false },
		},
	}
}

// do sends a request, which build makes anew for each attempt. The error is an [*Error], or ctx's if that was canceled.
func (e *endpoint) do(ctx context.Context, build func(context.Context) (*http.Request, error)) (*httpcall.Response, error) {
	var last *Error
	limited, failed := 0, 0
	for {
		if err := e.queue.wait(ctx, last != nil); err != nil {
			if trouble, ok := as(err); ok && last != nil && trouble.Type == "rate_limited" {
				return nil, last // what the service itself said
			}
			return nil, err
		}
		res, err := e.send(ctx, build)
		if err == nil {
			return res, nil
		}
		trouble, ok := as(err)
		if !ok {
			return nil, err
		}
		last = trouble
		switch {
		case trouble.Type == "quota_exceeded":
			e.queue.exhaust(trouble.after)
			return nil, trouble
		case trouble.Type == "rate_limited" && limited < maxLimited:
			e.queue.pause(max(trouble.after, httpcall.Backoff(limited)))
			limited++
		case trouble.passing && failed < maxFailed:
			if !httpcall.Wait(ctx, httpcall.Backoff(failed)) {
				return nil, trouble
			}
			failed++
		default:
			return nil, trouble
		}
	}
}

// send sends a request once.
func (e *endpoint) send(ctx context.Context, build func(context.Context) (*http.Request, error)) (*httpcall.Response, error) {
	res, err := e.caller.Do(ctx, build)
	if err == nil {
		e.queue.learn(res.Header)
		return res, nil
	}
	if ctx.Err() == context.Canceled {
		return nil, ctx.Err()
	}
	if status, ok := errors.AsType[*httpcall.StatusError](err); ok {
		e.queue.learn(status.Header)
		return nil, e.judge(status)
	}
	return nil, transportError(e.service, err)
}

// decode reads an answer that is documented to be JSON. A field of another type than documented is left empty: it is no reason to
// lose the rest.
func (e *endpoint) decode(res *httpcall.Response, into any) error {
	if isHTML(res.Header, res.Body) {
		return challenged(e.service)
	}
	err := json.Unmarshal(bytes.TrimPrefix(res.Body, []byte("\ufeff")), into)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !odd {
		return badAnswer(e.service, "it is not the JSON it should be")
	}
	return nil
}
