package server

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// Waits of the stdio transport.
const (
	stopTime  = 3 * time.Second        // for canceled handlers to terminate their processes
	flushTime = 200 * time.Millisecond // for what is left to write after that
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
	in       *jsonrpc.LineReader // used only by the goroutine that reads
	out      *jsonrpc.LineWriter
	inflight inflight
	ended    chan error               // gets the end of the input
	ctx      context.Context          // of requests, which the session cancels; does not end, so that none has to be registered with it
	current  atomic.Pointer[exchange] // the request being served by the goroutine that reads
	watch    *time.Timer              // calls detachIfSlow
	starts   chan func()              // requests that wait to be served
	waiting  atomic.Int64             // how many; startNext runs while there are any
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
		starts:  make(chan func(), max(1, s.opts.MaxInFlight)),
	}
	defer c.session.cancelAll(errSessionEnded)
	s.stdio.Store(c.session)
	c.watch = time.AfterFunc(time.Hour, c.detachIfSlow)
	go c.read() // ends with the input
	forwarding, stop := context.WithCancel(c.ctx)
	var forwarded sync.WaitGroup
	forwarded.Go(func() {
		c.session.changes.forward(forwarding, c.caller(), func(change change) { c.out.Write(change.notification(nil), nil) })
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
	flush := stopTime
	defer s.tasks.finish(0)
	until := time.Now().Add(grace)
	if !c.inflight.wait(grace) || !s.tasks.running.wait(time.Until(until)) {
		s.tasks.endAll("", errStopped)
		s.opts.Log.Info("requests did not finish within the grace period", zap.Int("requests", c.session.cancelAll(errSessionEnded)), zap.Duration("grace", grace))
		if !c.inflight.wait(stopTime) {
			flush = flushTime // the client had that time already to read
		}
	}
	c.lastFlush(gone, flush)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lastFlush writes what is left to write, unless the client does not read it.
func (c *stdio) lastFlush(gone <-chan struct{}, limit time.Duration) {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		c.out.Flush()
	}()
	select {
	case <-flushed:
	case <-gone:
	case <-time.After(limit):
	}
}

func (c *stdio) caller() caller { return caller{principal: c.who(), authenticator: c} }

// Authenticate returns who the client is now.
func (c *stdio) Authenticate(Credentials) (domain.Principal, *Challenge) { return c.who(), nil }

// read reads and serves lines until the input ends or another goroutine has
// taken over reading.
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
		case len(bytes.TrimSpace(line)) == 0:
		case !c.serve(line):
			return
		}
		if !c.in.Buffered() {
			c.out.Flush()
		}
	}
}

func (c *stdio) reject(id []byte, err *jsonrpc.Error) {
	c.out.Write(jsonrpc.ErrorResponse(id, err), nil)
}

// serve serves one line, and reports whether the reader goes on reading.
func (c *stdio) serve(line []byte) bool {
	release, busy := c.hold(line)
	out := &lineSink{w: c.out}
	if jsonrpc.IsBatch(line) {
		batch, err := parseBatch(c.session, line)
		if err == nil {
			err = busy
		}
		if err != nil {
			release()
			c.reject(nil, err)
			return true
		}
		serve, _ := c.server.openBatch(c.ctx, c.session, c.caller(), batch, out) // before a cancel is read
		return c.serveDetached(out, func() {
			defer release()
			serve()
		})
	}
	msg, err := parse(line)
	if err != nil {
		release()
		c.reject(msg.ID, err)
		return true
	}
	x := c.server.open(c.ctx, c.session, c.caller(), msg, out)
	switch {
	case x == nil:
		release()
		return true
	case msg.method == mcp.MethodInitialize:
		x.serve() // always inline: the lines that follow depend on what it negotiates
		release()
		return true
	case busy != nil:
		x.finish(nil, busy)
		return true
	case len(line) > longMessage || !x.fast():
		return c.serveDetached(out, func() {
			defer release()
			x.timed()
		})
	}
	return c.serveInline(x)
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

// lineSink writes what one request makes the server send. While the request is
// served by the goroutine that reads, that one flushes when it runs out of lines;
// later each line is written at once.
type lineSink struct {
	w        *jsonrpc.LineWriter
	detached atomic.Bool
}

func (s *lineSink) answer(msg []byte, _ int) { s.w.Write(msg, &s.detached) }

func (s *lineSink) notify(msg []byte) bool {
	s.w.Write(msg, &s.detached)
	return true
}

// detach makes s flush, what it holds so far and every line from now on.
func (s *lineSink) detach() {
	s.detached.Store(true)
	s.w.Flush()
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

// A client's lines are read on one goroutine at a time. Requests that are
// expected to be fast are served on that goroutine, so that they wake no other
// thread. For any other, another goroutine takes over reading first. It also
// does so when a request that was served inline turns out to be slow.

const (
	fastCall = 200 * time.Microsecond // within which calls of a tool must finish to be served by the goroutine that reads
	slowCall = 5 * time.Millisecond   // after which another goroutine takes over reading
)

// serveInline serves a request, and reports whether this goroutine goes on
// reading afterwards.
func (c *stdio) serveInline(x *exchange) bool {
	c.inflight.add(1)
	defer c.inflight.add(-1)
	c.current.Store(x)
	c.watch.Reset(slowCall)
	x.timed()
	return c.current.CompareAndSwap(x, nil)
}

// serveDetached serves a request that may take long, and reports whether this
// goroutine goes on reading. One alone is served here, and another goroutine reads
// on. Of many, which come faster than they are started, the others are put in a
// queue: whoever reads, and may find a ping, must not wait for their starts.
func (c *stdio) serveDetached(out *lineSink, serve func()) bool {
	c.inflight.add(1)
	c.in = c.in.Detach()
	out.detach()
	if c.in.Buffered() || c.waiting.Load() > 0 {
		c.starts <- serve
		if c.waiting.Add(1) == 1 {
			go c.startNext()
		}
		return true
	}
	defer c.inflight.add(-1)
	go c.read() // ends with the input
	serve()
	return false
}

// startNext serves the next request of the queue. Each starts the next one, which the
// runtime gets to when this one has to wait for something. Were all runnable at once,
// whoever comes back from reading would have to wait for them.
func (c *stdio) startNext() {
	defer c.inflight.add(-1)
	runtime.Gosched() // a new goroutine would be the next to run
	serve := <-c.starts
	if c.waiting.Add(-1) > 0 {
		go c.startNext()
	}
	serve()
}

// detachIfSlow reads on in place of a goroutine that is still serving a request
// inline.
func (c *stdio) detachIfSlow() {
	x := c.current.Load()
	if x == nil || !c.current.CompareAndSwap(x, nil) {
		return
	}
	c.server.pace.of(x.name).Store(0) // so that further calls of this tool do not block the reader
	c.in = c.in.Detach()
	x.out.(*lineSink).detach()
	c.read()
}

// pace records how many slow calls of a tool in a row are still excused, by a hash of the
// name as clients write it: on a busy machine any call may be slow for once, and having
// another goroutine take over costs more than a call. A tool that was not fast yet has none.
type pace [4096]atomic.Int32

// excused is what one fast call earns.
const excused = 2

func (p *pace) of(name []byte) *atomic.Int32 { return &p[crc32.ChecksumIEEE(name)%uint32(len(p))] }

// fast reports whether a request is expected to finish within [fastCall].
func (in *incoming) fast() bool {
	switch in.method {
	case mcp.MethodToolsCall:
		return in.server.pace.of(in.name).Load() > 0
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodCompletionComplete, mcp.MethodSubscriptionsListen,
		mcp.MethodResourcesList, methodSkillsList, methodSkillsGet, methodDirectory:
		return false
	}
	return true
}

// timed serves a request and records whether its tool was fast.
func (x *exchange) timed() {
	begun := time.Now()
	x.serve()
	if x.method != mcp.MethodToolsCall {
		return
	}
	fast, left := time.Since(begun) < fastCall, x.server.pace.of(x.name)
	switch n := left.Load(); {
	case fast && n < excused:
		left.Store(excused)
	case !fast && n > 0:
		left.Store(n - 1)
	}
}
