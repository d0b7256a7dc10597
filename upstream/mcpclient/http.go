package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/sse"
)

// HTTPError is an HTTP response that is no answer to a message.
type HTTPError struct {
	Status int
	Header http.Header // has WWW-Authenticate, Retry-After ...
	Body   []byte      // the first 4 KiB
}

// Error says what the status means. It has the begin of a body that is text, but no page:
// those are for people, and name what stands before the server.
func (e *HTTPError) Error() string {
	said := strings.TrimSpace(fmt.Sprintf("the server answered with HTTP status %d %s", e.Status, http.StatusText(e.Status)))
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		said += " (a credential is missing, or was refused)"
	}
	if at, err := url.Parse(e.Header.Get("Location")); err == nil && e.Status/100 == 3 && at.Path != "" {
		at.User, at.RawQuery, at.Fragment = nil, "", ""
		return said + fmt.Sprintf(": it redirects to %.200q, which is not followed; if that is the server, configure its address", at)
	}
	if body := bytes.TrimSpace(e.Body); len(body) > 0 && !isPage().Match(body) && utf8.Valid(body) {
		said += fmt.Sprintf(": %.200q", body)
	}
	return said
}

var isPage = lazyregexp.New(`<[A-Za-z!?/]`)

// ErrSessionEnded is the error of requests whose session the server does not know
// any more: it has not looked at them. A new connection begins a new one.
var ErrSessionEnded = errors.New("the server has ended the session")

// Waits before a stream is resumed. The first holds unless the server gives one.
const (
	firstRetry  = 500 * time.Millisecond
	minRetry    = 50 * time.Millisecond
	maxRetry    = time.Hour
	maxFailures = 5 // to open it, in a row
)

// poster has a POST request for each message, on its own goroutine.
type poster struct {
	client *Client
	ctx    context.Context // of the connection
	http   *http.Client
	header http.Header
	post   func(ctx context.Context, out *outgoing, x *call) error
}

// newPoster returns what sends the messages of a client, with requests that have the values of ctx. It follows no redirects.
func newPoster(ctx context.Context, c *Client, client *http.Client, header http.Header) *poster {
	copied := *client
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(c.ctx, cancel)
	return &poster{client: c, ctx: ctx, http: &copied, header: header}
}

// httpTransport has a POST request for each message, and with a session a stream
// of what the server sends on its own.
type httpTransport struct {
	*poster
	address string
	session atomic.Pointer[string]
	opened  func() // the stream of the session has been asked for
}

// ConnectHTTP connects to the server at address. Header is added to every request.
// Redirects are followed, as the message that they are about, within the origin of the
// address; any other is an [*HTTPError], so that header does not reach another host.
//
// The context of the HTTP request of a call, and of what is sent because of it, has
// the values of the context of that call, and ends with it. The requests that
// belong to the session have the values of ctx. So a RoundTripper can authenticate
// each call on its own.
func ConnectHTTP(ctx context.Context, client *http.Client, address string, header http.Header, opts Options) (*Client, error) {
	c := newClient(opts)
	t := &httpTransport{poster: newPoster(ctx, c, client, header), address: address}
	t.poster.post = t.post
	return c.connect(ctx, t)
}

// send makes the HTTP request of a message: that of a call on a goroutine of its own if the caller has
// to be told of progress meanwhile.
func (p *poster) send(ctx context.Context, out *outgoing, x *call) error {
	if x == nil {
		return p.post(ctx, out, nil)
	}
	c := p.client
	made := func() {
		defer context.AfterFunc(c.ctx, x.abandon)()
		err := p.post(x.http, out, x)
		if !x.unread {
			x.abandon()
		}
		switch ended := c.Err(); {
		case err == nil:
		case ended != nil:
			x.end(outcome{err: ended})
		case x.ctx.Err() == nil: // or the caller gives up, and the server may still serve the call
			x.end(outcome{err: err})
		}
	}
	if x.progress != nil {
		return c.start(made)
	}
	defer context.AfterFunc(x.ctx, x.abandon)()
	made()
	return nil
}

// post sends a message and takes in what the server answers, until the response
// to the call has come.
func (t *httpTransport) post(ctx context.Context, out *outgoing, x *call) error {
	resp, err := t.request(ctx, http.MethodPost, out, "")
	if err != nil {
		return err
	}
	kind := contentType(resp)
	if id := resp.Header.Get(mcp.HeaderSessionID); id != "" && out.method == string(mcp.MethodInitialize) {
		t.session.Store(&id)
	}
	if x != nil && kind == "text/event-stream" && resp.StatusCode < 300 {
		return t.follow(ctx, resp.Body, x)
	}
	defer resp.Body.Close()
	if x == nil && resp.StatusCode < 300 {
		drain(resp.Body)
		return nil
	}
	if x == nil || kind != "application/json" && resp.StatusCode >= 300 || resp.StatusCode == http.StatusUnauthorized {
		return t.failure(resp, nil)
	}
	body, err := readBody(resp, t.client.opts.MaxMessageBytes) // whatever its type is said to be
	if err != nil {
		return err
	}
	if t.begun() && (resp.StatusCode >= 300 || !bytes.Contains(body, []byte(`"result"`))) {
		msg, _ := jsonrpc.Parse(body, nil)
		if msg.Failure != nil && (msg.ID == nil || resp.StatusCode == http.StatusNotFound && NamesSession(string(msg.Failure))) {
			return t.failure(resp, body)
		}
	}
	t.client.receive(x, body, true) // also of errors, which have a status of their own
	if x.done.Load() {
		return nil
	}
	return t.failure(resp, body)
}

// begun reports whether there has been a handshake.
func (t *httpTransport) begun() bool { return t.client.Server().Protocol != "" && !t.client.modern() }

// readBody reads the body of a response, of at most limit bytes.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(resp.ContentLength, 0), maxTrusted)) + bytes.MinRead) // so that it does not grow further
	switch _, err := body.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1)); {
	case err != nil:
		return nil, fmt.Errorf("reading the response: %w", err)
	case body.Len() > limit:
		return nil, ErrTooLong
	}
	return body.Bytes(), nil
}

// What is left of a response is read to its end, so that the connection can be used
// again, if it comes soon.
const (
	drainBytes = 4 << 10
	drainTime  = 50 * time.Millisecond
	maxTrusted = 1 << 20 // bytes of a body that are announced
)

func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, drainBytes) }

// contentType returns the media type of a response, without its parameters.
func contentType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// failure returns the error that a response stands for which does not answer a call.
// Servers that have begun anew say in many ways that they do not know a session.
func (t *httpTransport) failure(resp *http.Response, body []byte) error {
	e := httpError(resp, body)
	switch status := resp.StatusCode; {
	case !t.begun() || status >= 500 || status == http.StatusUnauthorized || status == http.StatusForbidden:
	case (status == http.StatusNotFound || status == http.StatusGone) && t.session.Load() != nil, NamesSession(string(e.Body)):
		return fmt.Errorf("%w: %v", ErrSessionEnded, e)
	}
	return e
}

// NamesSession reports whether an error of a server may be about its session with the
// client, rather than about a request.
func NamesSession(text string) bool { return session().MatchString(text) }

var session = lazyregexp.New(`(?i)\bsession|not (been )?initiali[sz]ed|uninitiali[sz]ed|before initiali[sz]`)

func httpError(resp *http.Response, body []byte) *HTTPError {
	if body == nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	}
	return &HTTPError{resp.StatusCode, resp.Header, bytes.Clone(body[:min(len(body), 4<<10)])}
}

// request makes an HTTP request: with a message, or for a stream that goes on
// after the event lastID.
func (t *httpTransport) request(ctx context.Context, method string, out *outgoing, lastID string) (*http.Response, error) {
	header := http.Header{}
	if version := t.client.Server().Protocol; version != "" {
		header.Set(mcp.HeaderProtocolVersion, version)
	}
	if out != nil && t.client.modern() {
		setHeaders(header, out)
	}
	if id := t.session.Load(); id != nil {
		header.Set(mcp.HeaderSessionID, *id)
	}
	if lastID != "" {
		header.Set(mcp.HeaderLastEventID, lastID)
	}
	return t.poster.request(ctx, method, t.address, header, out)
}

// request makes an HTTP request: with a message, or for a stream.
func (p *poster) request(ctx context.Context, method, address string, header http.Header, out *outgoing) (*http.Response, error) {
	body, accept := io.Reader(http.NoBody), "text/event-stream"
	if out != nil {
		body, accept = bytes.NewReader(out.msg), "application/json, text/event-stream"
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, p.header)
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", accept)
	if out != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return do(p.http, req)
}

// maxRedirects bounds how often a message is sent on.
const maxRedirects = 5

// do makes a request, and follows redirects within its origin with the same method and
// body: they are about how the address is written. Its error does not have the address,
// which may have a key in its query.
func do(client *http.Client, req *http.Request) (*http.Response, error) {
	for redirects := 0; ; redirects++ {
		resp, err := client.Do(req)
		if e, ok := errors.AsType[*url.Error](err); ok {
			return nil, fmt.Errorf("HTTP request to %s: %w", req.URL.Host, e.Err)
		}
		if err != nil || resp.StatusCode/100 != 3 || resp.StatusCode == http.StatusSeeOther || redirects == maxRedirects {
			return resp, err
		}
		next, err := sameOrigin(req.URL, resp.Header.Get("Location"))
		if err != nil || resp.Header.Get("Location") == "" {
			return resp, nil
		}
		resp.Body.Close()
		if req = req.Clone(req.Context()); req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		req.URL = next
	}
}

// follow takes in the messages of a stream until the response to x has come or,
// without x, until ctx ends. If body is nil it opens the stream first. A stream
// that ends too early is resumed; that of a response only if its events have IDs.
func (t *httpTransport) follow(ctx context.Context, body io.ReadCloser, x *call) (err error) {
	lastID, retry, failures := "", time.Duration(0), 0
	for {
		if body == nil {
			body, err = t.stream(ctx, lastID)
			if x == nil {
				t.opened()
			}
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
			err = t.takeEvents(events, x)
			if err == nil {
				t.end(body, x)
				return nil
			}
			body.Close()
			body, lastID, retry = nil, cmp.Or(events.LastID, lastID), cmp.Or(events.Retry, retry)
			switch {
			case errors.Is(err, ErrTooLong):
				return err
			case x != nil && (lastID == "" || t.client.modern()):
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

// takeEvents takes in messages until the response to x has come.
func (t *httpTransport) takeEvents(events *sse.Reader, x *call) error {
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return ErrTooLong
		case len(event.Data) > 0: // what is cut off is no message
			t.client.receive(x, event.Data, false)
		}
		if x != nil && x.done.Load() {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end reads the rest of a stream that has brought the response to x, while its caller
// goes on.
func (t *httpTransport) end(body io.ReadCloser, x *call) {
	x.unread = t.client.start(func() {
		defer x.abandon()
		defer context.AfterFunc(t.client.ctx, x.abandon)()
		defer time.AfterFunc(drainTime, x.abandon).Stop()
		drain(body)
		body.Close()
	}) == nil
	if !x.unread {
		body.Close()
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

// openTime is how long to wait for the stream of a session. A server may not answer
// before it has something to send.
const openTime = time.Second

// connected follows the stream of a session, which servers need not have. It waits
// until that is open: there are servers that send requests only there, and lose
// them until then.
func (t *httpTransport) connected() {
	if t.client.modern() {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, openTime)
	defer cancel()
	t.opened = cancel
	if t.client.start(func() { _ = t.follow(t.ctx, nil, nil) }) == nil {
		<-ctx.Done()
	}
}

// close ends the session.
func (t *httpTransport) close() {
	if t.session.Load() == nil || t.client.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, stopTime)
	defer cancel()
	if resp, err := t.request(ctx, http.MethodDelete, nil, ""); err == nil {
		resp.Body.Close()
	}
}
