package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/toolserver/toolserver/wire/sse"
)

// sseTransport is HTTP+SSE of protocol version 2024-11-05: what the server sends
// arrives on one stream, and a POST request to an address that it names there takes
// each message.
type sseTransport struct {
	*poster
	endpoint string
}

// ConnectSSE connects to the server whose stream is at address. Its end ends the
// connection. Everything else is as with [ConnectHTTP].
func ConnectSSE(ctx context.Context, client *http.Client, address string, header http.Header, opts Options) (*Client, error) {
	c := newClient(opts)
	t := &sseTransport{poster: newPoster(ctx, c, client, header)}
	t.poster.post = t.post
	c.transport = t
	ctx, cancel := context.WithTimeout(ctx, c.opts.ConnectTimeout)
	defer cancel()
	if err := t.open(ctx, address); err != nil {
		c.Close()
		return nil, err
	}
	return c.connect(ctx, t)
}

// open opens the stream and waits for the address of the endpoint.
func (t *sseTransport) open(ctx context.Context, address string) error {
	opened := make(chan error, 2)
	_ = t.client.start(func() {
		err := t.follow(address, opened)
		opened <- err
		t.client.fail(err)
	})
	select {
	case err := <-opened:
		return err
	case <-ctx.Done():
		return fmt.Errorf("opening the stream: %w", context.Cause(ctx))
	}
}

// follow takes in the messages of the stream until it ends.
func (t *sseTransport) follow(address string, opened chan<- error) error {
	resp, err := t.request(t.ctx, http.MethodGet, address, nil, nil)
	if err != nil {
		return fmt.Errorf("opening the stream: %w", err)
	}
	defer resp.Body.Close()
	if kind := contentType(resp); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return httpError(resp, nil)
	}
	events := sse.NewReader(resp.Body, t.client.opts.MaxMessageBytes, 0)
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return ErrTooLong
		case err != nil:
			return fmt.Errorf("the server has ended the stream: %w", err)
		case event.Name == "endpoint" && t.endpoint == "":
			at, err := sameOrigin(resp.Request.URL, string(event.Data))
			if err != nil {
				return err
			}
			t.endpoint = at.String()
			opened <- nil
		case event.Name == "" || event.Name == "message":
			t.client.receive(nil, event.Data, false)
		}
	}
}

// sameOrigin resolves an address that a server names. Tokens are sent there, so it must
// be of the same scheme and host.
func sameOrigin(base *url.URL, address string) (*url.URL, error) {
	at, err := base.Parse(address)
	if err != nil || at.Scheme != base.Scheme || at.Host != base.Host {
		return nil, fmt.Errorf("the server named the endpoint %.200q, which is not of the origin of its stream", address)
	}
	return at, nil
}

// post sends a message. The response to it comes on the stream.
func (t *sseTransport) post(ctx context.Context, out *outgoing, _ *call) error {
	resp, err := t.request(ctx, http.MethodPost, t.endpoint, nil, out)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return httpError(resp, nil)
	}
	drain(resp.Body)
	return nil
}

func (t *sseTransport) connected() {}

func (t *sseTransport) close() { t.client.fail(ErrClosed) }
