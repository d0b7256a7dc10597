package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
)

// A sink takes what one request makes the server say, each a JSON-RPC message
// without line end. It must not keep the bytes.
type sink interface {
	answer(msg []byte, code int)    // code is that of an error, or 0
	notify(msg []byte) (heard bool) // before the answer; heard is false if nobody listens
}

// exchange is one request and its answer. It also is what the call it makes has
// as its client.
type exchange struct {
	server    *Server
	session   *session
	who       caller
	msg       *message
	params    *params
	out       sink
	entry     *inFlight // from begin to end
	whenEnded func()    // called at the end; may be nil

	mu       sync.Mutex // guards what follows
	closed   bool       // no notifications any more, only the answer
	answered bool
	ended    bool
	reported bool
	progress float64 // the last that was reported
	state    requestState
}

// errCanceled is the cause of the context of a request its client took back.
var errCanceled = errors.New("canceled by the client")

// begin makes the request one that can be canceled, until end.
func (x *exchange) begin(ctx context.Context) (context.Context, *wireError) {
	if !x.server.requests.TryAcquire(x.who.principal.ID, 1) {
		return nil, busyWith("requests")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	entry, err := x.session.add(x.msg.id, cancel, x.server.opts.MaxInFlight)
	if err != nil {
		x.server.requests.Release(x.who.principal.ID, 1)
		cancel(err)
		return nil, invalidRequest(err.Error())
	}
	x.entry = entry
	return ctx, nil
}

// recover is deferred where a request is served. It answers for a panic, whose
// stack is logged.
func (x *exchange) recover() {
	p := recover()
	if p == nil {
		return
	}
	x.server.opts.Log.Error("a request panicked", zap.String("method", domain.ClipName(x.msg.method)), zap.String("panic", fmt.Sprint(p)), zap.Stack("stack"))
	x.fail(&wireError{code: mcp.INTERNAL_ERROR, message: "the server failed to serve this request; the operator finds details in the log"})
	if x.entry != nil {
		x.end()
	}
}

// domain returns the session of the request, as the pipeline knows it.
func (x *exchange) domain() domain.Session {
	return domain.Session{ID: x.session.id, Principal: x.who.principal}
}

// end frees what begin took.
func (x *exchange) end() {
	x.mu.Lock()
	first, answered := !x.ended, x.answered
	x.ended = true
	x.mu.Unlock()
	if !answered { // otherwise it is removed already
		x.session.remove(x.msg.id, x.entry)
	}
	x.entry.cancel(nil)
	if first {
		x.server.requests.Release(x.who.principal.ID, 1)
	}
	if x.whenEnded != nil {
		x.whenEnded()
	}
}

// mayAnswer reports whether the request is to be answered: once, and not if the
// client has cancelled it.
func (x *exchange) mayAnswer() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.answered && (x.entry == nil || x.session.remove(x.msg.id, x.entry))
}

// send sends the answer.
func (x *exchange) send(msg []byte, code int) {
	x.mu.Lock()
	x.answered = true
	x.mu.Unlock()
	x.out.answer(msg, code)
}

// answer sends the result that write appends.
func (x *exchange) answer(write func(b []byte) []byte) { x.answerAs(0, write) }

// answerAs is answer for a result that stands for an error with a code.
func (x *exchange) answerAs(code int, write func(b []byte) []byte) {
	if !x.mayAnswer() {
		return
	}
	buf := newBuffer()
	defer buf.free()
	b := appendHead(buf.bytes, x.msg.id)
	b = append(b, `,"result":`...)
	b = append(write(b), '}')
	buf.bytes = b
	x.send(b, code)
}

func (x *exchange) fail(err *wireError) {
	if x.mayAnswer() {
		x.send(errorMessage(x.msg.id, err), err.code)
	}
}

// failWith answers with an error of the pipeline, or with the question it
// stands for.
func (x *exchange) failWith(err error) {
	if asks, ok := errors.AsType[*domain.InputRequired](err); ok {
		x.answerInputRequired(asks)
		return
	}
	x.fail(x.wireError(err))
}

// wireError makes an error of the pipeline one of the wire. This is the one
// place where that happens.
func (x *exchange) wireError(err error) *wireError {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		e = &domain.Error{Code: domain.CodeInternal, Message: err.Error()}
	}
	code := e.Code
	switch {
	case e.Verbatim:
	case code == domain.CodeResourceNotFound && x.params.meta.modern:
		code = domain.CodeInvalidParams
	case code == domain.CodeMissingCapability && !x.params.meta.modern:
		code = domain.CodeExecutionFailed
	}
	return &wireError{int(code), e.Message, e.Envelope()}
}
