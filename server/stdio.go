package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/jsonrpc"
)

// Waits of the stdio transport.
const (
	stopTime = 3 * time.Second // for canceled handlers to terminate their processes
	// stallTime is how long the client may leave what is written unread. It is
	// long, since a person may have suspended the client for a while.
	stallTime = 5 * time.Minute
)

// StdioSession is the ID of the session of a client over stdio.
const StdioSession = "stdio"

// stdio is one conversation over a pair of streams.
type stdio struct {
	server   *Server
	who      func() domain.Principal
	session  *session
	in       *jsonrpc.LineReader
	out      *jsonrpc.LineWriter
	inflight inflight
	ended    chan error      // gets the end of the input
	ctx      context.Context // of requests, which the session cancels; does not end, so that none has to be registered with it
}

// ServeStdio serves one client until its input ends, ctx does, or it stops
// reading. Principal returns who the client is, at every message. Requests in
// flight then get the grace period to finish and be answered.
//
// The goroutine that reads in may outlive ServeStdio if ctx ends first, until
// in yields something.
func (s *Server) ServeStdio(ctx context.Context, principal func() domain.Principal, in io.Reader, out io.Writer) error {
	gone := make(chan struct{})
	c := &stdio{
		server:  s,
		who:     principal,
		session: s.begin(StdioSession, principal().ID), // joins the hub before a message is answered
		in:      jsonrpc.NewLineReader(in, s.opts.MaxMessageBytes),
		out:     jsonrpc.NewLineWriter(out, stallTime, s.opts.BeforeAnswers, sync.OnceFunc(func() { close(gone) })),
		ended:   make(chan error, 1),
		ctx:     context.WithoutCancel(ctx),
	}
	defer c.session.cancelAll(errSessionEnded)
	go c.read() // ends with the input
	forwarding, stop := context.WithCancel(c.ctx)
	var forwarded sync.WaitGroup
	forwarded.Go(func() {
		c.session.changes.forward(forwarding, c.caller(), func(change change) bool { return c.notify(change.notification(nil)) })
	})
	defer func() {
		stop()
		forwarded.Wait()
	}()

	var err error
	grace := s.opts.Grace
	select {
	case err = <-c.ended:
	case <-ctx.Done():
	case <-gone:
		grace = 0
		err = errors.New("the client has stopped reading")
	}
	c.session.close()
	if !c.inflight.wait(grace) {
		s.opts.Log.Info("requests did not finish within the grace period", zap.Int("requests", c.session.cancelAll(errSessionEnded)), zap.Duration("grace", grace))
		c.inflight.wait(stopTime)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *stdio) caller() caller { return caller{principal: c.who(), authenticator: c} }

// Authenticate returns who the client is now.
func (c *stdio) Authenticate(string) (domain.Principal, *Challenge) { return c.who(), nil }

// read reads lines until the input ends, and has each request served by a goroutine of its
// own, so that no ping or cancellation waits for one.
func (c *stdio) read() {
	for {
		line, err := c.in.Next()
		tooLong, skipped := errors.AsType[*jsonrpc.TooLongError](err)
		switch {
		case skipped:
			c.reject(tooLong.ID, c.server.tooLong())
		case err != nil:
			c.ended <- err
			return
		case len(bytes.TrimSpace(line)) > 0:
			c.take(line)
		}
	}
}

func (c *stdio) reject(id []byte, err *jsonrpc.Error) { c.answer(jsonrpc.ErrorResponse(id, err), 0) }

// take takes in one line.
func (c *stdio) take(line []byte) {
	release, busy := c.hold(line)
	if jsonrpc.IsBatch(line) {
		batch, err := parseBatch(c.session, line)
		if err == nil {
			err = busy
		}
		if err != nil {
			release()
			c.reject(nil, err)
			return
		}
		serve, _ := c.server.openBatch(c.ctx, c.session, c.caller(), batch, c) // before a cancel is read
		c.inflight.add(1)
		go c.serve(serve, release)
		return
	}
	msg, err := parse(line)
	if err != nil {
		release()
		c.reject(msg.ID, err)
		return
	}
	x := c.server.open(c.ctx, c.session, c.caller(), msg, c)
	switch {
	case x == nil:
		release()
	case busy != nil:
		x.finish(nil, busy)
	case msg.Method == methodInitialize, msg.Method == methodLogLevel:
		c.inflight.add(1)
		c.serve(x.serve, release) // the lines that follow depend on what it settles
	default:
		c.inflight.add(1)
		go c.serve(x.serve, release)
	}
}

// serve serves a request that is in flight.
func (c *stdio) serve(serve, release func()) {
	defer c.inflight.add(-1)
	defer release()
	serve()
}

// hold counts a long line against what all long messages may have together,
// until release. The reader does not wait for that.
func (c *stdio) hold(line []byte) (release func(), busy *jsonrpc.Error) {
	n, owner := int64(len(line)), c.session.owner
	switch {
	case n <= longMessage:
		return func() {}, nil
	case !c.server.held.TryAcquire(owner, n):
		return func() {}, busyWith("long messages")
	}
	return func() { c.server.held.Release(owner, n) }, nil
}

func (c *stdio) answer(msg []byte, _ int) { c.out.Write(msg) }

func (c *stdio) notify(msg []byte) bool {
	c.out.Write(msg)
	return true
}

// inflight counts requests. Unlike with a WaitGroup, the count may rise while
// somebody waits, and waiting has a deadline.
type inflight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil if nobody waits
}

func (f *inflight) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n += n; f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait waits until nothing is in flight, at most for limit, and reports whether
// nothing is.
func (f *inflight) wait(limit time.Duration) bool {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return true
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-time.After(limit):
		return false
	}
}
