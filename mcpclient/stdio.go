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

// pipeRoom is how many bytes any pipe takes although nobody reads.
const pipeRoom = 4096

// stdioTransport has messages as lines. One goroutine reads. Callers write, unless
// that might keep them longer than their context.
type stdioTransport struct {
	client *Client
	rw     io.ReadWriteCloser
	closed func() error

	writing chan struct{} // whoever writes has put a token in
	stalled *time.Timer   // ends the connection
	written int64         // bytes; guarded by writing, as is stalled

	mu   sync.Mutex
	read int64 // bytes that the server must have read, since it has answered what they ask
}

// Connect connects to a server over a pair of streams, such as the pipes of a
// child process, which remains the caller's. Closing rw must end a Read and a Write
// that wait.
func Connect(ctx context.Context, rw io.ReadWriteCloser, opts Options) (*Client, error) {
	c := newClient(opts)
	t := &stdioTransport{client: c, rw: rw, writing: make(chan struct{}, 1), closed: sync.OnceValue(rw.Close)}
	t.stalled = time.AfterFunc(stallTime, func() { c.fail(jsonrpc.ErrStalled) })
	t.stalled.Stop()
	context.AfterFunc(c.ctx, func() { t.closed() })
	_ = c.start(t.receive)
	return c.connect(ctx, t)
}

func (t *stdioTransport) receive() {
	in := lineReader{in: t.rw, limit: t.client.opts.MaxMessageBytes, buf: make([]byte, lineBuffer)}
	for {
		line, owned, err := in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			t.client.tooLong(line)
		case err != nil:
			t.client.fail(fmt.Errorf("reading from the server: %w", err))
			return
		case len(line) > 0:
			t.client.receive(nil, line, owned)
		}
	}
}

var errLineTooLong = errors.New("line too long")

// tooLong ends the call that a message which exceeds the limit is the response to,
// or, if its ends do not say which that is, all calls in flight.
func (c *Client) tooLong(ends []byte) {
	id, maybe := responseID(ends)
	if id != nil {
		if x := c.callByID(id); x != nil {
			x.end(outcome{err: ErrTooLong})
		}
	}
	if id != nil || !maybe {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.calls {
		x.end(outcome{err: ErrTooLong})
	}
}

// send writes a message. What the pipe has room for is written at once; the rest by
// a goroutine, so that a server that does not read keeps nobody longer than ctx.
func (t *stdioTransport) send(ctx context.Context, out *outgoing, x *call) error {
	select {
	case t.writing <- struct{}{}:
	default:
		select {
		case t.writing <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.client.ctx.Done():
			return t.client.Err()
		}
	}
	line := append(out.msg, '\n')
	t.written += int64(len(line))
	if x != nil {
		x.written.Store(t.written)
	}
	t.mu.Lock()
	unread := t.written - t.read
	t.mu.Unlock()
	if unread <= pipeRoom {
		return t.write(line)
	}
	return t.client.start(func() { _ = t.write(line) })
}

func (t *stdioTransport) write(line []byte) error {
	t.stalled.Reset(stallTime)
	_, err := t.rw.Write(line)
	t.stalled.Stop()
	<-t.writing
	if err != nil {
		t.client.fail(fmt.Errorf("writing to the server: %w", err))
		return t.client.Err()
	}
	return nil
}

// answered notes that the server has read a request.
func (t *stdioTransport) answered(x *call) {
	t.mu.Lock()
	t.read = max(t.read, x.written.Load())
	t.mu.Unlock()
}

func (t *stdioTransport) connected() {}

func (t *stdioTransport) close() {
	t.client.fail(ErrClosed) // first, or the end of the streams were the cause
	t.closed()
}
