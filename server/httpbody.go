package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const (
	// bodyWait is how long a long body waits to be read: less than it may take to
	// arrive.
	bodyWait = 20 * time.Second
	// maxDrained is how many times the limit of a message is read of a body that is
	// rejected.
	maxDrained = 4
)

var errTooLong = errors.New("too long")

// intake reads one body, and holds what it takes of what all long messages may
// have together.
type intake struct {
	pool  *share.Pool
	owner string
	limit int64
	held  int64
}

// hold makes n what the body holds, waiting for it until ctx ends.
func (in *intake) hold(ctx context.Context, n int64) error {
	switch {
	case n <= longMessage:
		n = 0
		fallthrough
	case n <= in.held:
		in.pool.Release(in.owner, in.held-n)
	default:
		if err := in.pool.Acquire(ctx, in.owner, n-in.held); err != nil {
			return err
		}
	}
	in.held = n
	return nil
}

func (in *intake) release() { in.pool.Release(in.owner, in.held) }

// readBody reads the whole body, or rejects a request whose body is unacceptable.
// A long one is held until release.
func (h *httpHandler) readBody(w http.ResponseWriter, r *http.Request, owner string) (body []byte, release func(), ok bool) {
	release = func() {}
	limit := int64(h.server.opts.MaxMessageBytes)
	var err error
	if 0 <= r.ContentLength && r.ContentLength <= min(longMessage, limit) {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		in := &intake{pool: h.server.held, owner: owner, limit: limit}
		release = in.release
		ctx, cancel := context.WithTimeoutCause(r.Context(), bodyWait, errBusy)
		defer cancel()
		body, err = in.readLong(ctx, r)
	}
	switch {
	case err == nil:
		// From here on, nothing more is expected of the client, for as long as it takes.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, release, true
	case err == errTooLong:
		h.reject(w, r, body, h.server.tooLong(), http.StatusRequestEntityTooLarge)
	case err == errBusy:
		w.Header().Set("Retry-After", "5")
		h.reject(w, r, body, busyWith("long messages"), http.StatusTooManyRequests)
	default:
		writeError(w, nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body is incomplete"}, http.StatusBadRequest)
	}
	release()
	return nil, nil, false
}

// errBusy is the cause of a context that ended while a body waited.
var errBusy = errors.New("busy")

// readLong reads a body that is long, or whose length is not announced. It holds
// what is announced before it reads, and else what has come. An error that is not
// of the connection comes with what was read.
func (in *intake) readLong(ctx context.Context, r *http.Request) ([]byte, error) {
	if r.ContentLength > in.limit {
		return nil, errTooLong
	}
	if err := in.hold(ctx, r.ContentLength); err != nil {
		return nil, err
	}
	body := make([]byte, 0, longMessage) // more only when it has come: announcing it costs nothing
	for int64(len(body)) != r.ContentLength {
		if len(body) == cap(body) {
			n := max(min(2*int64(cap(body)), in.limit+1), in.held)
			if err := in.hold(ctx, n); err != nil {
				return body, err
			}
			body = append(make([]byte, 0, n), body...)
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > in.limit:
			return body, errTooLong
		case err == io.EOF:
			return body, in.hold(ctx, int64(len(body)))
		case err != nil:
			return nil, err
		}
	}
	return body, nil
}

// reject answers a request whose body is not kept, with its id. Most clients look
// for an answer only when they have sent all: what has not been read yet is, in
// bounds.
func (h *httpHandler) reject(w http.ResponseWriter, r *http.Request, read []byte, e *jsonrpc.Error, status int) {
	var s jsonrpc.Skimmer
	s.Write(read)
	bound := maxDrained*int64(h.server.opts.MaxMessageBytes) - int64(len(read))
	drained := false
	if r.ContentLength <= bound && r.Header.Get("Expect") == "" { // else it waits to be asked for the body
		n, err := io.Copy(&s, io.LimitReader(r.Body, bound))
		drained = err == nil && n < bound
	}
	if !drained {
		w.Header().Set("Connection", "close")
	}
	writeError(w, s.ID(), e, status)
}
