package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"toolserver/jsonrpc"
)

// stallTime is how long a server may leave what is written unread.
const stallTime = 30 * time.Second

// stdioTransport has messages as lines. One goroutine reads and one writes.
type stdioTransport struct {
	client *Client
	rw     io.ReadWriteCloser
	queue  chan []byte
	closed func() error
}

// Connect connects to a server over a pair of streams, such as the pipes of a
// child process, which remains the caller's. Closing rw must end a Read that
// waits.
func Connect(ctx context.Context, rw io.ReadWriteCloser, opts Options) (*Client, error) {
	c := newClient(opts)
	t := &stdioTransport{client: c, rw: rw, queue: make(chan []byte), closed: sync.OnceValue(rw.Close)}
	context.AfterFunc(c.ctx, func() { t.closed() })
	_ = c.start(t.read)
	_ = c.start(t.write)
	return c.connect(ctx, t)
}

func (t *stdioTransport) read() {
	in := jsonrpc.NewLineReader(t.rw, t.client.opts.MaxMessageBytes)
	for {
		line, err := in.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrLineTooLong):
			t.client.failCalls(ErrTooLong)
		case err != nil:
			t.client.fail(fmt.Errorf("reading from the server: %w", err))
			return
		case len(line) > 0:
			t.client.receive(nil, line)
		}
	}
}

// failCalls ends all calls in flight.
func (c *Client) failCalls(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.calls {
		x.end(outcome{err: err})
	}
}

func (t *stdioTransport) write() {
	for {
		select {
		case msg := <-t.queue:
			stalled := time.AfterFunc(stallTime, func() { t.client.fail(jsonrpc.ErrStalled) })
			_, err := t.rw.Write(msg)
			stalled.Stop()
			if err != nil {
				t.client.fail(fmt.Errorf("writing to the server: %w", err))
				return
			}
		case <-t.client.ctx.Done():
			return
		}
	}
}

func (t *stdioTransport) send(ctx context.Context, out *outgoing, _ *call) error {
	select {
	case t.queue <- append(out.msg, '\n'):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.client.ctx.Done():
		return t.client.Err()
	}
}

func (t *stdioTransport) connected() {}

func (t *stdioTransport) close() {
	t.client.fail(ErrClosed) // first, or the end of the streams were the cause
	t.closed()
}
