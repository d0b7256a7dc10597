package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/wire/sse"
)

// stream is the stream of a session's changes. It takes the connection from
// net/http, whose goroutines and buffers would stay as long as the stream does.
// While nothing happens, nothing of it runs: each change, each keep-alive and
// the end start a goroutine that serves them.
type stream struct {
	handler *httpHandler
	session *session // in use until release
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

// begin answers the request for the stream, which goes on after it if net/http
// gives the connection away.
func (s *stream) begin(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if r.ProtoMajor == 1 {
		w.Header().Set("Transfer-Encoding", "identity") // the body ends with the connection
	}
	eventHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil {
		s.release()
		return
	}
	if conn, _, err := control.Hijack(); err == nil {
		s.start(takenConn{conn})
		return
	}
	held := &heldResponse{w, control, r.Context(), make(chan struct{})}
	s.start(held)
	select {
	case <-r.Context().Done():
		s.stop()
		<-held.closed
	case <-held.closed:
	}
}

// start makes the stream the one of its session.
func (s *stream) start(out streamOutput) {
	s.out, s.wrote, s.serving = out, time.Now(), make(chan struct{}, 1)
	s.timer = time.AfterFunc(keepAliveInterval, s.wake)
	s.session.carry(s)
	if s.handler.stopping.Err() != nil { // perhaps after all sessions were closed
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
	s.session.uncarry(s)
	s.out.Close()
	s.release()
}

// step writes the changes there are or, after a while without any, a comment, so
// that nobody between the client and us takes the connection for dead. It returns
// false when the stream is over.
func (s *stream) step() bool {
	changes := s.session.changes
	if s.out.gone() || !changes.refresh(&s.who) || !s.extend() {
		return false
	}
	taken := changes.take()
	var b []byte
	for _, c := range taken {
		b = sse.Append(b, c.notification(nil))
	}
	if len(b) == 0 && time.Since(s.wrote) >= keepAliveInterval {
		b = append(b, keepAliveComment...)
	}
	if len(b) > 0 {
		// A client that has left meanwhile may have read nothing of it.
		if _, err := s.out.Write(b); err != nil || s.out.gone() {
			for _, c := range taken { // for the session's next stream
				changes.add(c)
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

// release gives back what the stream held. It is called once.
func (s *stream) release() {
	s.handler.server.streams.Release(s.session.owner, 1)
	s.handler.sessions.release(s.session)
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
	switch arrived, known := hasArrived(c.Conn); {
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
