package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/domain/rawjson"
)

// slowCall is how long a request may keep the goroutine that reads. Then
// another takes over reading. A fast call so wakes no other thread, and a slow
// one keeps nobody waiting.
const slowCall = 200 * time.Microsecond

// stopTime is how long canceled handlers get to end their processes.
const stopTime = 3 * time.Second

// stdio is one conversation over a pair of streams.
type stdio struct {
	server  *Server
	session *session
	in      *lineReader // used only by the goroutine whose turn it is to read
	out     *lineWriter
	serving tally      // requests
	ended   chan error // gets the end of the input
}

// ServeStdio serves one client until its input ends, ctx does, or it stops
// reading. Requests under way then get the grace to finish and be answered.
//
// The goroutine that reads in may outlive ServeStdio if ctx ends first, until
// in yields something.
func (s *Server) ServeStdio(ctx context.Context, p domain.Principal, in io.Reader, out io.Writer) error {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	gone := make(chan struct{})
	c := &stdio{
		server:  s,
		session: newSession("stdio", p),
		in:      newLineReader(in, s.opts.MaxMessageBytes),
		out:     &lineWriter{w: out, broken: func(error) { close(gone) }},
		ended:   make(chan error, 1),
	}
	go c.read(run)
	stop := c.forwardChanges()
	defer stop()

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
	if !c.serving.wait(grace) {
		s.opts.Log.Info("requests did not finish within the grace", zap.Int("requests", c.session.pending()), zap.Duration("grace", grace))
		c.session.cancelAll()
		cancel(errors.New("the server stops"))
		c.serving.wait(stopTime)
	}
	c.out.flush()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// forwardChanges tells a client that has shaken hands what changes.
func (c *stdio) forwardChanges() (stop func()) {
	l := c.server.hub.join(c.session.wants)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-l.wake:
				for _, what := range l.take() {
					c.out.write(changed(what, nil), nil)
				}
			case <-quit:
				return
			}
		}
	}()
	return func() {
		c.server.hub.leave(l)
		close(quit)
		<-done
	}
}

// read reads and serves until the input ends or another goroutine takes over.
func (c *stdio) read(ctx context.Context) {
	for {
		line, err := c.in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			c.refuse(nil, invalidRequest(fmt.Sprintf("the message is longer than %d bytes", c.in.max)))
		case err != nil:
			c.ended <- err
			return
		case len(bytes.TrimSpace(line)) == 0:
		case !c.serve(ctx, line):
			return
		}
		if !c.in.buffered() {
			c.out.flush()
		}
	}
}

// serve serves one line, and reports whether it still is this goroutine's turn
// to read.
func (c *stdio) serve(ctx context.Context, line []byte) bool {
	if bytes.TrimLeft(line, " \t")[0] == '[' {
		return c.serveBatch(ctx, line)
	}
	msg, err := parseMessage(line)
	switch {
	case err != nil:
		c.refuse(msg.id, err)
		return true
	case msg.response, msg.isNotification():
		c.server.handle(ctx, c.session, &msg, nil)
		return true
	}
	out := &lineSink{w: c.out}
	if msg.method == methodInitialize {
		c.server.handle(ctx, c.session, &msg, out) // what follows is read by what this settles
		return true
	}
	return c.handOver(ctx, out, func() { c.server.handle(ctx, c.session, &msg, out) })
}

// handOver runs serve, and has another goroutine read on if it takes long.
func (c *stdio) handOver(ctx context.Context, out *lineSink, serve func()) bool {
	c.serving.add()
	defer c.serving.done()
	slow := time.AfterFunc(slowCall, func() {
		c.in = c.in.detach()
		out.detach()
		c.read(ctx)
	})
	serve()
	return slow.Stop()
}

func (c *stdio) refuse(id json.RawMessage, err *wireError) { c.out.write(errorMessage(id, err), nil) }

// serveBatch serves a JSON-RPC batch, which only protocol version 2025-03-26
// knows.
func (c *stdio) serveBatch(ctx context.Context, line []byte) bool {
	batch, err := c.server.parseBatch(c.session, line)
	if err != nil {
		c.refuse(nil, err)
		return true
	}
	out := &lineSink{w: c.out}
	return c.handOver(ctx, out, func() {
		if answers := c.server.handleBatch(ctx, c.session, batch, out); answers != nil {
			out.answer(answers, 0)
		}
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

// handleBatch serves the messages of a batch side by side, and returns the
// array of their answers, or nil if there are none.
func (s *Server) handleBatch(ctx context.Context, ses *session, batch []json.RawMessage, out sink) []byte {
	answers := &batchSink{out: out}
	var wg sync.WaitGroup
	for _, raw := range batch {
		msg, err := parseMessage(raw)
		switch {
		case err != nil:
			answers.answer(errorMessage(msg.id, err), err.code)
		default:
			wg.Go(func() { s.handle(ctx, ses, &msg, answers) })
		}
	}
	wg.Wait()
	return answers.array()
}

// batchSink gathers the answers of a batch. Notifications do not wait for them.
type batchSink struct {
	out sink
	mu  sync.Mutex
	all []byte
}

func (b *batchSink) notify(msg []byte) bool { return b.out.notify(msg) }

func (b *batchSink) answer(msg []byte, _ int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = append(b.all, '[')
	} else {
		b.all = append(b.all, ',')
	}
	b.all = append(b.all, msg...)
}

func (b *batchSink) array() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		return nil
	}
	return append(b.all, ']')
}
