package anthropic

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"toolserver/tools/httpcall"
)

// Bounds of a request.
const (
	retries     = 2
	maxPatience = time.Minute // the longest a service is obeyed that asks to wait
)

// get returns how to make a GET request. Header are more headers, in pairs.
func (s *service) get(path string, query url.Values, header ...string) func(context.Context) (*http.Request, error) {
	return s.request(http.MethodGet, httpcall.Endpoint(s.base, path, query), nil, append(header, "Accept", "application/json"))
}

// post returns how to make a POST request with a JSON body, whose answer may be
// a stream.
func (s *service) post(path string, body []byte) func(context.Context) (*http.Request, error) {
	return s.request(http.MethodPost, httpcall.Endpoint(s.base, path, nil), body,
		[]string{"Accept", "text/event-stream, application/json", "Content-Type", "application/json"})
}

func (s *service) request(method, target string, body []byte, header []string) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Api-Key", s.key)
		req.Header.Set("Anthropic-Version", s.version)
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return req, nil
	}
}

// caller returns what sends requests, each attempt within timeout.
func (s *service) caller(timeout time.Duration, maxBody int64) *httpcall.Caller {
	return &httpcall.Caller{Client: s.client, Service: s.name, Timeout: timeout, MaxBody: maxBody, Retries: retries, Retry: worthRetrying}
}

// worthRetrying reports whether a refused request may be sent again: if the API
// says so itself (x-should-retry), or with the statuses after which its own
// libraries do. An answer that asks to wait for longer than a caller would is
// not waited for; how long is in the message.
func worthRetrying(e *httpcall.StatusError) bool {
	if wait, ok := e.RetryAfter(); ok && wait > maxPatience {
		return false
	}
	switch e.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500
}

// apiError returns what err, which a caller of this service returned, means. The
// error of a context that has ended is that of the context.
func (s *service) apiError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if status, ok := errors.AsType[*httpcall.StatusError](err); ok {
		return s.statusError(status)
	}
	return err
}
