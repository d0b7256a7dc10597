package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/sse"
)

// HTTPError is an HTTP response that is no answer to a message.
type HTTPError struct {
	Status int
	Header http.Header // has WWW-Authenticate, Retry-After ...
	Body   []byte      // the first 4 KiB
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("the server answered with HTTP status %d %s: %.200q", e.Status, http.StatusText(e.Status), e.Body)
}

// ErrSessionEnded is the error of requests whose session the server does not know
// any more. A new connection begins a new one.
var ErrSessionEnded = errors.New("the server has ended the session")

// Waits before a stream is resumed. The first holds unless the server gives one.
const (
	firstRetry  = 500 * time.Millisecond
	minRetry    = 50 * time.Millisecond
	maxRetry    = 30 * time.Second
	maxFailures = 5 // to open it, in a row
)

// httpTransport has a POST request for each message, and with a session a stream
// of what the server sends on its own. Each runs on its own goroutine.
type httpTransport struct {
	client  *Client
	url     string
	http    *http.Client
	header  http.Header
	session atomic.Pointer[string]
}

// ConnectHTTP connects to the server at url. Header is added to every request. A
// redirect is an [*HTTPError], so that header does not reach another host.
func ConnectHTTP(ctx context.Context, client *http.Client, url string, header http.Header, opts Options) (*Client, error) {
	c := newClient(opts)
	copied := *client
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c.connect(ctx, &httpTransport{client: c, url: url, http: &copied, header: header})
}

func (t *httpTransport) send(ctx context.Context, out *outgoing, c *call) error {
	if c == nil {
		return t.post(ctx, out, nil)
	}
	return t.client.start(func() {
		ctx, cancel := t.client.bound(c.ctx)
		defer cancel()
		if err := t.post(ctx, out, c); err != nil {
			c.end(outcome{err: err})
		}
	})
}

// bound returns a context that also ends with the connection.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// post sends a message and takes in what the server answers, until the response
// to the call has come.
func (t *httpTransport) post(ctx context.Context, out *outgoing, c *call) error {
	resp, err := t.request(ctx, http.MethodPost, out, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get(mcp.HeaderSessionID); id != "" && out.method == string(mcp.MethodInitialize) {
		t.session.Store(&id)
	}
	if resp.StatusCode == http.StatusNotFound && t.session.Load() != nil {
		return ErrSessionEnded // whatever the body says
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case c == nil:
		if resp.StatusCode >= 300 {
			return t.failure(resp, nil)
		}
		return nil
	case kind == "text/event-stream" && resp.StatusCode < 300:
		return t.follow(ctx, resp.Body, c)
	case kind == "application/json":
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.client.opts.MaxMessageBytes)+1))
		if len(body) > t.client.opts.MaxMessageBytes {
			return ErrTooLong
		}
		if err != nil {
			return fmt.Errorf("reading the response: %w", err)
		}
		t.client.receive(c, body) // also of errors, which have a status of their own
		return t.failure(resp, body)
	}
	return t.failure(resp, nil)
}

// failure returns the error that a response stands for. It only counts for calls
// without an outcome.
func (t *httpTransport) failure(resp *http.Response, body []byte) error {
	if body == nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	}
	if resp.StatusCode == http.StatusNotFound && t.session.Load() != nil {
		return ErrSessionEnded
	}
	return &HTTPError{resp.StatusCode, resp.Header, body[:min(len(body), 4<<10)]}
}

// request makes an HTTP request: with a message, or for a stream that goes on
// after the event lastID.
func (t *httpTransport) request(ctx context.Context, method string, out *outgoing, lastID string) (*http.Response, error) {
	body := io.Reader(http.NoBody)
	if out != nil {
		body = bytes.NewReader(out.msg)
	}
	req, err := http.NewRequestWithContext(ctx, method, t.url, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, t.header)
	req.Header.Set("Accept", "text/event-stream")
	version := t.client.Server().Protocol
	if version != "" {
		req.Header.Set(mcp.HeaderProtocolVersion, version)
	}
	if out != nil {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		for name, value := range mcp.StandardHeaders(version, mcp.MCPMethod(out.method), out.params) {
			req.Header.Set(name, value)
		}
		if t.client.modern() && out.schema != nil {
			for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: out.schema}, out.params) {
				req.Header.Set(name, value)
			}
		}
	}
	if id := t.session.Load(); id != nil {
		req.Header.Set(mcp.HeaderSessionID, *id)
	}
	if lastID != "" {
		req.Header.Set(mcp.HeaderLastEventID, lastID)
	}
	return t.http.Do(req)
}

// follow takes in the messages of a stream until the response to c has come or,
// without c, until ctx ends. If body is nil it opens the stream first. A stream
// that ends too early is resumed; that of a response only if its events have IDs.
func (t *httpTransport) follow(ctx context.Context, body io.ReadCloser, c *call) (err error) {
	lastID, retry, failures := "", time.Duration(0), 0
	for {
		if body == nil {
			body, err = t.stream(ctx, lastID)
			_, refused := errors.AsType[*HTTPError](err)
			switch failures++; {
			case refused || errors.Is(err, ErrSessionEnded) || failures > maxFailures:
				return err
			case err == nil:
				failures = 0
			}
		}
		if body != nil {
			events := sse.NewReader(body, t.client.opts.MaxMessageBytes, 0)
			err = t.takeEvents(events, c)
			body.Close()
			body, lastID, retry = nil, cmp.Or(events.LastID, lastID), cmp.Or(events.Retry, retry)
			switch {
			case err == nil, c != nil && errors.Is(err, ErrTooLong):
				return err
			case c != nil && (lastID == "" || t.client.modern()):
				return fmt.Errorf("the stream ended before the response: %w", err)
			}
		}
		select {
		case <-time.After(min(max(cmp.Or(retry, firstRetry<<failures), minRetry), maxRetry)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeEvents takes in messages until the response to c has come.
func (t *httpTransport) takeEvents(events *sse.Reader, c *call) error {
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return ErrTooLong
		case err != nil:
			return err
		}
		t.client.receive(c, event.Data)
		if c != nil && c.done.Load() {
			return nil
		}
	}
}

// stream opens the stream of the session, or one that goes on after an event.
func (t *httpTransport) stream(ctx context.Context, lastID string) (io.ReadCloser, error) {
	resp, err := t.request(ctx, http.MethodGet, nil, lastID)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, t.failure(resp, nil)
	}
	return resp.Body, nil
}

// connected follows the stream of a session, which servers need not have.
func (t *httpTransport) connected() {
	if !t.client.modern() {
		_ = t.client.start(func() { _ = t.follow(t.client.ctx, nil, nil) })
	}
}

// close ends the session.
func (t *httpTransport) close() {
	if t.session.Load() == nil || t.client.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.client.ctx, stopTime)
	defer cancel()
	if resp, err := t.request(ctx, http.MethodDelete, nil, ""); err == nil {
		resp.Body.Close()
	}
}
