package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/sse"
)

// stream is the stream of a session's changes, or answers subscriptions/listen. It
// takes the connection from net/http, whose goroutines and buffers would stay as
// long as the stream does. While nothing happens, nothing of it runs: each change,
// each keep-alive and the end start a goroutine that serves them.
type stream struct {
	handler *httpHandler
	session *session        // whose stream it is, in use until the end; nil of a subscription
	id      json.RawMessage // of the request that it answers; nil of a session
	changes *listener
	who     caller
	out     streamOutput
	timer   *time.Timer   // for the next keep-alive, or when the credentials expire
	serving chan struct{} // holds one: the goroutine that serves; what follows belongs to it
	wrote   time.Time     // last
	over    bool

	waiting atomic.Bool // a goroutine waits to serve
	mu      sync.Mutex
	stopped bool
}

// streamOutput is what a stream is written to.
type streamOutput interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
	gone() bool // reports whether the client has closed the connection
	interrupt() // has a write that waits end soon, if that does no harm
}

// begin answers the request for the stream, which begins with a message, if any, and
// goes on after the request if net/http gives the connection away. It ends at once if ctx
// has ended.
func (s *stream) begin(w http.ResponseWriter, r *http.Request, ctx context.Context, first []byte) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if r.ProtoMajor == 1 {
		w.Header().Set("Transfer-Encoding", "identity") // the body ends with the connection
	}
	eventHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	beginning := []byte(keepAliveComment) // nginx passes headers on over HTTP/2 when something follows
	if first != nil {
		beginning = sse.Append(nil, first)
	}
	_, _ = w.Write(beginning)
	if control.Flush() != nil {
		s.end()
		return
	}
	if conn, _, err := control.Hijack(); err == nil {
		s.start(ctx, takenConn{conn})
		return
	}
	held := &heldResponse{w, control, r.Context(), make(chan struct{})}
	s.start(ctx, held)
	select {
	case <-r.Context().Done():
		s.stop()
		<-held.closed
	case <-held.closed:
	}
}

// start has the stream carry changes.
func (s *stream) start(ctx context.Context, out streamOutput) {
	s.out, s.wrote, s.serving = out, time.Now(), make(chan struct{}, 1)
	s.timer = time.AfterFunc(keepAliveInterval, s.wake)
	if s.session != nil {
		s.session.carry(s)
	} else {
		s.changes.carry(s)
	}
	if ctx.Err() != nil { // perhaps after all streams were stopped
		s.stop()
	}
}

// wake has a goroutine serve what has happened.
func (s *stream) wake() {
	if s.waiting.CompareAndSwap(false, true) {
		go s.serve()
	}
}

// stop ends the stream, soon.
func (s *stream) stop() {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		s.out.interrupt()
	}
	s.mu.Unlock()
	s.wake()
}

// serve serves all that has happened, and ends the stream if it is over.
func (s *stream) serve() {
	s.serving <- struct{}{}
	defer func() { <-s.serving }()
	s.waiting.Store(false)
	if s.over || s.step() {
		return
	}
	s.over = true
	s.timer.Stop()
	if s.session != nil {
		s.session.uncarry(s)
	}
	s.end()
}

// step writes the changes there are or, after a while without any, a comment, so
// that nobody between the client and us takes the connection for dead. It returns
// false when the stream is over.
func (s *stream) step() (goesOn bool) {
	defer func() {
		if p := recover(); p != nil {
			s.handler.server.logPanic("a stream", s.changes.owner, p)
			goesOn = false
		}
	}()
	if s.out.gone() || !s.changes.refresh(&s.who) || !s.extend() {
		return false
	}
	taken := s.changes.take()
	var b []byte
	for _, c := range taken {
		if n := s.changes.notification(c, s.id); n != nil {
			b = sse.Append(b, n)
		}
	}
	if len(b) == 0 && time.Since(s.wrote) >= keepAliveInterval {
		b = append(b, keepAliveComment...)
	}
	if len(b) > 0 {
		// A client that has left meanwhile may have read nothing of it.
		if _, err := s.out.Write(b); err != nil || s.out.gone() {
			for _, c := range taken { // for the session's next stream
				s.changes.add(c)
			}
			return false
		}
		s.wrote = time.Now()
	}
	next := s.wrote.Add(keepAliveInterval)
	if expires := s.who.principal.Expires; !expires.IsZero() && expires.Before(next) {
		next = expires
	}
	s.timer.Reset(time.Until(next))
	return true
}

// extend gives the client time to read what is written next, unless the stream
// was stopped.
func (s *stream) extend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stopped && s.out.SetWriteDeadline(time.Now().Add(writeTimeout)) == nil
}

// end ends the connection, with a result if it answers a request, and gives back what
// the stream held. It is called once.
func (s *stream) end() {
	server, owner := s.handler.server, s.changes.owner
	if s.session != nil {
		s.handler.sessions.release(s.session)
	} else {
		s.changes.close()
		server.requests.Release(owner, 1)
	}
	if s.out != nil {
		if s.id != nil {
			_ = s.out.SetWriteDeadline(time.Now().Add(lastWriteTime))
			s.out.Write(sse.Append(nil, append(listened(s.id)(jsonrpc.AppendResultHead(nil, s.id)), '}')))
		}
		s.out.Close()
	}
	server.streams.Release(owner, 1)
	s.handler.streams.Done()
}

// takenConn is a connection taken from net/http.
type takenConn struct{ net.Conn }

// lastWriteTime is how long the write may take that the end of a stream meets.
const lastWriteTime = time.Second

// Times for reading: what has arrived, which may be a part of what TLS needs, and
// what may have.
const (
	arrivedTime = time.Second
	perhapsTime = time.Millisecond
)

// gone looks instead of having a goroutine wait for it, which would take most of
// the memory of a stream. What else the client sends is ignored.
func (c takenConn) gone() bool {
	limit := arrivedTime
	switch arrived, known := osfile.HasArrived(c.Conn); {
	case !known:
		limit = perhapsTime // a read that has no time does not look
	case !arrived:
		return false
	}
	_ = c.SetReadDeadline(time.Now().Add(limit))
	_, err := c.Read(make([]byte, 512))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// interrupt leaves a write time that just began: TLS could not end a connection well
// after half a record.
func (c takenConn) interrupt() { _ = c.SetWriteDeadline(time.Now().Add(lastWriteTime)) }

// heldResponse is a response whose handler waits, because its connection has
// other uses, as in HTTP/2.
type heldResponse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	request context.Context
	closed  chan struct{}
}

func (r *heldResponse) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	return n, errors.Join(err, r.control.Flush())
}

func (r *heldResponse) SetWriteDeadline(t time.Time) error { return r.control.SetWriteDeadline(t) }

func (r *heldResponse) gone() bool { return r.request.Err() != nil }

// interrupt does nothing: HTTP/2 would reset the stream, instead of ending it.
func (r *heldResponse) interrupt() {}

func (r *heldResponse) Close() error {
	close(r.closed)
	return nil
}
