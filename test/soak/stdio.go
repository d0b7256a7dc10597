//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"sync"
	"time"
)

// stdioConn is the conversation with a server over its standard streams. Many
// may use it at once.
type stdioConn struct {
	*process
	closed chan struct{} // when nothing more can come

	writing sync.Mutex
	nobody  sync.Mutex    // held by who waits for an answer without id
	noID    chan *problem // answers without id
	mu      sync.Mutex    // guards what follows
	open    map[string]*waiting
	gone    map[string]bool // requests that were taken back
}

// waiting is a request without answer yet.
type waiting struct {
	answer   chan *answer
	progress int
	last     float64
	events   chan *message // what a subscription gets; nil of other requests
}

// startStdio starts a server for one client.
func (s *soak) startStdio(name string, file configFile) (*stdioConn, error) {
	p, err := s.start(name, true, file, "--stdio", s.dir)
	if err != nil {
		return nil, err
	}
	c := &stdioConn{
		process: p, closed: make(chan struct{}), noID: make(chan *problem, 1),
		open: map[string]*waiting{}, gone: map[string]bool{},
	}
	go c.read()
	return c, nil
}

func (c *stdioConn) read() {
	in := bufio.NewReaderSize(c.out, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			close(c.closed)
			c.wait()
			return
		}
		if err := c.received(line); err != nil {
			c.soak.fail(fmt.Errorf("%s: %w", c.name, err))
		}
	}
}

// received takes in what the server says.
func (c *stdioConn) received(line []byte) error {
	m, err := parse(line)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method != "" {
		return c.notified(m)
	}
	id := string(m.ID)
	w := c.open[id]
	switch {
	case c.gone[id]:
		return fmt.Errorf("an answer to %s, which was canceled: %s", id, m)
	case id == "null" && m.Error != nil:
		select {
		case c.noID <- m.Error:
			return nil
		default:
			return fmt.Errorf("an answer without id that nobody waits for: %s", m)
		}
	case w == nil:
		return fmt.Errorf("an answer to %s, which is not open: %s", id, m)
	}
	delete(c.open, id)
	w.answer <- &answer{m, w.progress}
	return nil
}

func (c *stdioConn) write(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.in.Write(append(line, '\n'))
	return err
}

// begin sends a request.
func (c *stdioConn) begin(id string, r *request, modern bool, events chan *message) (*waiting, error) {
	w := &waiting{answer: make(chan *answer, 1), events: events}
	c.mu.Lock()
	c.open[id] = w
	c.mu.Unlock()
	if err := c.write(r.encode(id, modern)); err != nil {
		return nil, err
	}
	return w, nil
}

// cancel takes a request back. No answer may come from now on.
func (c *stdioConn) cancel(id string) error {
	c.mu.Lock()
	_, open := c.open[id]
	delete(c.open, id)
	c.gone[id] = true
	c.mu.Unlock()
	if !open {
		return fmt.Errorf("request %s was answered before it was canceled", id)
	}
	return c.write(cancellation(id))
}

func cancellation(id string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"soak"}}`, id)
}

// result waits for the answer to a request that has begun.
func (c *stdioConn) result(ctx context.Context, w *waiting) (*answer, error) {
	select {
	case a := <-w.answer:
		return a, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s gave no answer within %s", c.name, patience)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.closed:
	}
	select {
	case a := <-w.answer: // the last thing it said
		return a, nil
	default:
		<-c.done
		return nil, fmt.Errorf("%s ended: %v; standard error: %s", c.name, c.err, c.lastWords())
	}
}

// refused sends a line and waits for the error that answers it without id.
func (c *stdioConn) refused(ctx context.Context, line []byte, code int) error {
	c.nobody.Lock()
	defer c.nobody.Unlock()
	if err := c.write(line); err != nil {
		return err
	}
	select {
	case e := <-c.noID:
		if e.Code != code {
			return fmt.Errorf("%.100q: got %d instead of %d: %s", line, e.Code, code, e.Message)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%.100q: no answer within %s", line, patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
