package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// stallTime is how long a server may leave what is written unread.
const stallTime = 30 * time.Second

// stdioTransport has messages as lines. One goroutine reads, and one for each message
// writes, so that a server that does not read keeps no caller longer than its context.
type stdioTransport struct {
	client *Client
	rw     io.ReadWriteCloser
	closed func() error

	writing chan struct{} // whoever writes has put a token in
	stalled *time.Timer   // ends the connection; guarded by writing
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
	in := jsonrpc.NewLineReader(t.rw, t.client.opts.MaxMessageBytes)
	for {
		line, err := in.Next()
		tooLong, skipped := errors.AsType[*jsonrpc.TooLongError](err)
		switch {
		case skipped:
			t.tooLong(tooLong)
		case err != nil:
			t.client.fail(fmt.Errorf("reading from the server: %w", err))
			return
		case len(line) > 0:
			t.client.receive(nil, line, false)
		}
	}
}

// tooLong ends the call that a message which exceeds the limit is the response to,
// or, if it does not say which that is, all calls in flight.
func (t *stdioTransport) tooLong(e *jsonrpc.TooLongError) {
	if x := t.client.calls.with(e.Answers); x != nil {
		x.end(outcome{err: ErrTooLong})
	}
	if e.Answers == nil && e.Response {
		t.client.calls.fail(ErrTooLong)
	}
}

func (t *stdioTransport) send(ctx context.Context, out *outgoing, _ *call) error {
	select {
	case t.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.client.ctx.Done():
		return t.client.Err()
	}
	return t.client.start(func() {
		t.stalled.Reset(stallTime)
		_, err := t.rw.Write(append(out.msg, '\n'))
		t.stalled.Stop()
		<-t.writing
		if err != nil {
			t.client.fail(fmt.Errorf("writing to the server: %w", err))
		}
	})
}

func (t *stdioTransport) connected() {}

func (t *stdioTransport) close() {
	t.client.fail(ErrClosed) // first, or the end of the streams were the cause
	t.closed()
}
