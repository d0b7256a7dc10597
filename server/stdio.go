package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/rawjson"
)

// stopTime is how long canceled handlers get to end their processes.
const stopTime = 3 * time.Second

// stdio is one conversation over a pair of streams.
type stdio struct {
	server  *Server
	who     func() domain.Principal
	session *session
	in      *lineReader // used only by the goroutine whose turn it is to read
	out     *lineWriter
	serving tally      // requests
	ended   chan error // gets the end of the input
}

// ServeStdio serves one client until its input ends, ctx does, or it stops
// reading. Principal says who the client is, at every message. Requests under way then get the grace to finish and be answered.
//
// The goroutine that reads in may outlive ServeStdio if ctx ends first, until
// in yields something.
func (s *Server) ServeStdio(ctx context.Context, principal func() domain.Principal, in io.Reader, out io.Writer) error {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	gone := make(chan struct{})
	c := &stdio{
		server:  s,
		who:     principal,
		session: newSession("stdio", principal().ID),
		in:      newLineReader(in, s.opts.MaxMessageBytes),
		out:     &lineWriter{w: out, before: s.opts.BeforeAnswers, broken: sync.OnceFunc(func() { close(gone) })},
		ended:   make(chan error, 1),
	}
	go c.read(run) // ends with the input
	stop := c.forwardChanges()
	defer stop()

	var err error
	grace := s.opts.Grace
	select {
	case err = <-c.ended:
	case <-ctx.Done():
	case <-gone:
		grace = 0
		err = errStalled
	}
	c.session.close()
	if !c.serving.wait(grace) {
		s.opts.Log.Info("requests did not finish within the grace", zap.Int("requests", c.session.pending()), zap.Duration("grace", grace))
		c.session.cancelAll()
		cancel(errors.New("the server stops"))
		c.serving.wait(stopTime)
	}
	c.lastFlush(gone)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lastFlush writes what is left to write, unless the client does not read it.
func (c *stdio) lastFlush(gone <-chan struct{}) {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		c.out.flush()
	}()
	select {
	case <-flushed:
	case <-gone:
	case <-time.After(stopTime):
	}
}

// forwardChanges tells a client that has shaken hands what changes.
func (c *stdio) forwardChanges() (stop func()) {
	l, leave := c.session.join(&c.server.hub, c.caller())
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-l.wake:
				changes, _, _ := l.take(c.caller(), c.server.exec.Registry.Catalog())
				for _, what := range changes {
					c.out.write(changed(what, nil), nil)
				}
			case <-quit:
				return
			}
		}
	}()
	return func() {
		leave()
		close(quit)
		<-done
	}
}

// caller returns who the client is now.
func (c *stdio) caller() caller { return caller{principal: c.who(), source: c} }

func (c *stdio) principalOf(*http.Request) (domain.Principal, *Challenge) { return c.who(), nil }

func (c *stdio) refuse(id json.RawMessage, err *wireError) { c.out.write(errorMessage(id, err), nil) }

// serveBatch serves a JSON-RPC batch, which only protocol version 2025-03-26
// knows.
func (r *reader) serveBatch(line []byte, release func(), ok bool) bool {
	if release == nil {
		release = func() {}
	}
	batch, err := r.server.parseBatch(r.session, line)
	if err == nil && !ok {
		err = busyWith("long messages")
	}
	if err != nil {
		release()
		r.refuse(nil, err)
		return true
	}
	out := &lineSink{w: r.stdio.out}
	return r.apart(out, func() {
		defer release()
		r.server.handleBatch(r.ctx, r.session, r.caller(), batch, out)
	})
}

// maxBatch bounds the messages of a batch.
const maxBatch = 100

// parseBatch splits a batch into its messages.
func (s *Server) parseBatch(ses *session, raw []byte) ([]json.RawMessage, *wireError) {
	if ses.protocolVersion() != mcp.ProtocolVersion20250326 {
		return nil, invalidRequest("batches belong to protocol version 2025-03-26, which this session has not negotiated")
	}
	var batch []json.RawMessage
	err := rawjson.Array(raw, func(value []byte) error {
		batch = append(batch, value)
		return nil
	})
	switch {
	case err != nil:
		return nil, &wireError{code: mcp.PARSE_ERROR, message: "the batch is " + err.Error()}
	case len(batch) == 0:
		return nil, invalidRequest("the batch is empty")
	case len(batch) > maxBatch:
		return nil, invalidRequest(fmt.Sprintf("the batch has %d messages; at most %d are allowed", len(batch), maxBatch))
	}
	return batch, nil
}

// handleBatch serves the messages of a batch side by side, and answers as soon
// as all that are to be answered are. It returns with the last handler.
func (s *Server) handleBatch(ctx context.Context, ses *session, who caller, batch []json.RawMessage, out sink) {
	answers := &batchSink{out: out}
	answers.pending.Store(1) // until all have begun
	var wg sync.WaitGroup
	for _, raw := range batch {
		msg, err := parseMessage(raw)
		if err != nil {
			answers.answer(errorMessage(msg.id, err), err.code)
		} else if x, ctx := s.open(ctx, ses, who, &msg, answers); x != nil {
			answers.pending.Add(1)
			x.whenEnded = sync.OnceFunc(answers.ended)
			wg.Go(func() {
				defer x.whenEnded()
				x.serve(ctx)
			})
		}
	}
	answers.ended()
	wg.Wait()
}

// batchSink gathers the answers of a batch. Notifications do not wait for them.
type batchSink struct {
	out     sink
	pending atomic.Int64 // requests that have not ended

	mu   sync.Mutex
	all  []byte
	late bool // a call is out of time
}

func (b *batchSink) notify(msg []byte) bool { return b.out.notify(msg) }

func (b *batchSink) answer(msg []byte, code int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late = b.late || code == int(domain.CodeTimeout)
	if b.all == nil {
		b.all = append(b.all, '[')
	} else {
		b.all = append(b.all, ',')
	}
	b.all = append(b.all, msg...)
}

// ended notes the end of a request, and after the last answers if there is
// something to answer.
func (b *batchSink) ended() {
	if b.pending.Add(-1) > 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		return
	}
	code := 0
	if b.late {
		code = int(domain.CodeTimeout)
	}
	b.out.answer(append(b.all, ']'), code)
}
