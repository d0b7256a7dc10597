package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// A sink takes what one request makes the server send, each a JSON-RPC message
// without line end. It must not keep the bytes.
type sink interface {
	answer(msg []byte, code int)   // code is that of an error, or 0
	notify(msg []byte) (sent bool) // before the answer; false if the client takes no notifications here
}

// incoming is a request of a client, and where it came from.
type incoming struct {
	*message
	server  *Server
	session *session
	who     caller
	out     sink
	op      *telemetry.Operation // observes it; nil if nobody does
	begun   time.Time            // when it was taken in

	ctx    context.Context
	cancel context.CancelCauseFunc
}

// exchange is one request and its answer: [Server.open] begins it, serve does
// what its method asks for, and finish answers it, once.
type exchange struct {
	incoming
	peer  peer   // the client of the call that it makes
	ended func() // called at the end; may be nil
	code  int    // of a result that stands for an error which HTTP tells, too
	// carry does what is left to do of subscriptions/listen: it sends the acknowledgement, the
	// changes and the answer, maybe after it has returned. It may be nil.
	carry func(changes *listener, acknowledgement []byte)
	bad   bool // the result has isError
}

// A reply appends the result of a request.
type reply func(b []byte) []byte

func emptyReply(b []byte) []byte { return append(b, "{}"...) }

// errCanceled is the cause of the context of a request that its client canceled.
var errCanceled = errors.New("canceled by the client")

// open takes in a message. It returns nil if nothing is left to do; a request it
// returns can be canceled from now on, and has to be served.
func (s *Server) open(ctx context.Context, ses *session, who caller, msg *message, out sink) *exchange {
	switch {
	case msg.Response:
		if !ses.answered(&msg.Message) {
			s.replicas.passOnAnswer(ses, &msg.Message)
		}
		return nil
	case msg.IsNotification():
		if msg.method == mcp.MethodNotificationCancelled && !ses.cancelRequest(msg.Params) { // JSON-RPC has others ignored
			s.replicas.passOn(ses, jsonrpc.Request(nil, msg.Method, msg.Params))
		}
		return nil
	}
	x := &exchange{incoming: incoming{message: msg, server: s, session: ses, who: who, out: out, begun: time.Now()}}
	x.peer.incoming = &x.incoming
	x.observe()
	if msg.method == mcp.MethodToolsCall && msg.meta.modern && x.uses(extensionTasks) {
		x.peer.background, ctx = &background{x: x}, context.WithoutCancel(ctx)
	}
	err := x.check()
	switch {
	case err != nil:
	case msg.method == mcp.MethodPing: // answered however many requests are in flight
		x.observed(nil)
		out.answer(append(emptyReply(jsonrpc.AppendResultHead(nil, msg.ID)), '}'), 0)
		return nil
	case !s.requests.TryAcquire(who.principal.ID, 1):
		x.op.Limited("requests")
		err = busyWith("requests")
	default:
		x.ctx, x.cancel = context.WithCancelCause(ctx)
		if err = ses.add(x, s.opts.MaxInFlight); err == nil {
			return x
		}
		s.requests.Release(who.principal.ID, 1)
	}
	x.observed(err)
	out.answer(jsonrpc.ErrorResponse(msg.ID, err), err.Code)
	return nil
}

// check validates what is independent of the method.
func (x *exchange) check() *jsonrpc.Error {
	if err := x.meta.check(); err != nil {
		return err
	}
	wrong := false
	switch x.method {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSetLogLevel:
		wrong = x.meta.modern
	case mcp.MethodSubscriptionsListen, mcp.MethodServerDiscover:
		wrong = !x.meta.modern
	case mcp.MethodToolsCall:
	default:
		if err := x.checkExtension(); err != nil {
			return err
		}
	}
	if wrong {
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "%s is not a method of this protocol version", brief.Name(x.Method))
	}
	return x.peer.readState()
}

// canceled reports whether the client has canceled the request.
func (in *incoming) canceled() bool { return context.Cause(in.ctx) == errCanceled }

// serve does what a request asks for, and has it finished. A panic is answered
// with an error: no request ends the process. A call whose handler ignores its
// deadline is answered before serve returns.
func (x *exchange) serve() {
	defer x.recover()
	if x.meta.modern {
		x.meet(x.meta.version)
	}
	switch x.method {
	case mcp.MethodToolsCall:
		x.callTool()
	case mcp.MethodResourcesRead:
		x.readResource()
	case mcp.MethodPromptsGet:
		x.getPrompt()
	case mcp.MethodCompletionComplete:
		x.complete()
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodPromptsList, methodSkillsList:
		x.finish(x.list())
	case methodSkillsGet, methodDirectory:
		x.aboutSkills()
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		x.finish(x.subscribe())
	case mcp.MethodSetLogLevel:
		write, err := x.setLogLevel()
		if err == nil {
			x.server.replicas.passOn(x.session, jsonrpc.Request(nil, x.Method, x.Params))
		}
		x.finish(write, err)
	case mcp.MethodSubscriptionsListen:
		x.listen()
	case mcp.MethodInitialize:
		x.finish(x.initialize())
	case mcp.MethodServerDiscover:
		x.finish(x.discover())
	case methodTasksGet, methodTasksUpdate, methodTasksCancel:
		x.finish(x.onTask())
	default:
		x.finish(nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "there is no method %s", brief.Name(x.Method)))
	}
}

// buffers are for answers. One that is idle may hold on to maxKeptBuffer, until the garbage
// collector comes round.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptBuffer = 1 << 20

// finish answers a request with the result that write appends or with err, unless
// the client has canceled it or it is answered already.
func (x *exchange) finish(write reply, err error) {
	defer x.recover()
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxKeptBuffer {
			buffers.Put(buf)
		}
	}()
	if context.Cause(x.ctx) == errRevoked && x.method != mcp.MethodSubscriptionsListen { // whose end is a result
		write, err = nil, invalidRequest(errRevoked.Error())
	}
	x.observed(err)
	var msg []byte
	code := 0
	if x.peer.background.became() == nil {
		msg, code = x.response(buf, write, err)
	}
	if x.peer.finish() {
		x.reply(msg, code)
		x.cancel(nil)
	} else if t := x.peer.background.became(); t != nil {
		t.ended(write, err)
	}
}

// reply answers the request, whose ID is then free.
func (x *exchange) reply(msg []byte, code int) {
	if g := x.peer.background; g != nil && g.slow != nil {
		g.slow.Stop()
	}
	x.session.remove(x) // first, since the client may use the ID again as soon as it has the answer
	if !x.canceled() {
		x.out.answer(msg, code)
	}
	x.server.requests.Release(x.who.principal.ID, 1)
	if x.ended != nil {
		x.ended()
	}
}

// errPanicked answers for a panic.
var errPanicked = jsonrpc.Errorf(jsonrpc.CodeInternalError, "the server failed to serve this request; the operator finds details in the log")

// logPanic logs a panic with its stack.
func (s *Server) logPanic(doing, what string, p any) {
	s.opts.Log.Error(doing+" panicked", zap.String("what", what), zap.String("panic", fmt.Sprint(p)), zap.Stack("stack"))
}

// recover is deferred where a request is served. It answers for a panic.
func (x *exchange) recover() {
	if p := recover(); p != nil {
		x.server.logPanic("a request", brief.Name(x.Method), p)
		x.finish(nil, errPanicked)
	}
}

// response returns the answer, and its code if it stands for an error.
func (x *exchange) response(buf *[]byte, write reply, err error) (msg []byte, code int) {
	if required, ok := errors.AsType[*call.InputRequired](err); ok {
		write, err = x.peer.inputRequired(required)
	}
	if err != nil {
		e := x.wireError(err)
		return jsonrpc.ErrorResponse(x.ID, e), e.Code
	}
	*buf = append(write(jsonrpc.AppendResultHead((*buf)[:0], x.ID)), '}')
	return *buf, x.code
}

// wireError returns an error as the client gets it. This is the one place where
// codes of the pipeline become those of the wire.
func (x *exchange) wireError(err error) *jsonrpc.Error {
	if e, ok := err.(*jsonrpc.Error); ok {
		return e
	}
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		e = &domain.Error{Code: domain.CodeInternal, Message: err.Error()}
	}
	code := e.Code
	switch {
	case e.Verbatim:
	case code == domain.CodeResourceNotFound && x.meta.modern:
		code = domain.CodeInvalidParams
	case code == domain.CodeMissingCapability && !x.meta.modern:
		code = domain.CodeExecutionFailed
	}
	return &jsonrpc.Error{Code: int(code), Message: e.Message, Data: e.Envelope()}
}

// busyWith rejects what there is no room for while others take it.
func busyWith(what string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: int(domain.CodeBusy), Message: "the server is busy with other " + what + "; try again a little later",
		Data: map[string]any{"error_type": domain.CodeBusy.Type(), "retryAfterMs": 5000}}
}

// tooLong rejects a message that is longer than messages may be.
func (s *Server) tooLong() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the message is longer than server.max_message allows (%d bytes); "+
		"send less at once, or ask the operator to raise it", s.opts.MaxMessageBytes)
}

// domain returns the session of the request, as the pipeline knows it.
func (in *incoming) domain() domain.Session {
	return domain.Session{
		ID: in.session.id, Principal: in.who.principal, Client: cmp.Or(in.meta.client, in.session.settled.Load().client), Meta: in.meta.raw,
		Address: in.who.credentials.Address, Operation: in.op,
	}
}

// maxBatch bounds the messages of a batch.
const maxBatch = 100

// parseBatch splits a batch, which only protocol version 2025-03-26 supports.
func parseBatch(ses *session, raw []byte) ([]json.RawMessage, *jsonrpc.Error) {
	if ses.handshake().version != mcp.ProtocolVersion20250326 {
		return nil, invalidRequest("batches belong to protocol version 2025-03-26, which this session has not negotiated")
	}
	return jsonrpc.ParseBatch(raw, maxBatch)
}

// openBatch takes in the messages of a batch: its requests can be canceled from
// now on. serve serves them concurrently and answers as soon as all of them are
// finished, if there is something to answer; it returns with the last handler.
func (s *Server) openBatch(ctx context.Context, ses *session, who caller, batch []json.RawMessage, out sink) (serve func(), answers bool) {
	all := &batchSink{sink: out}
	var opened []func()
	for _, raw := range batch {
		msg, err := parse(raw)
		if err == nil && (msg.meta.modern || msg.method == mcp.MethodInitialize) {
			err = invalidRequest(brief.Name(msg.Method) + " of this protocol version must not be part of a batch")
		}
		if err != nil {
			all.answer(jsonrpc.ErrorResponse(msg.ID, err), err.Code)
		} else if x := s.open(ctx, ses, who, msg, all); x != nil {
			x.ended = all.ended
			opened = append(opened, x.serve)
		}
	}
	all.pending.Store(int64(len(opened)) + 1) // and this function
	return func() {
		var handlers sync.WaitGroup
		for _, serve := range opened {
			handlers.Go(serve)
		}
		all.ended()
		handlers.Wait()
	}, len(all.all) > 0 || len(opened) > 0
}

// batchSink collects the answers of a batch. Notifications do not wait for them.
type batchSink struct {
	sink
	pending atomic.Int64 // requests that are not finished

	mu   sync.Mutex
	all  [][]byte
	code int // of a call that is out of time
}

func (b *batchSink) answer(msg []byte, code int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if code == int(domain.CodeTimeout) {
		b.code = code
	}
	b.all = append(b.all, bytes.Clone(msg))
}

// ended notes the end of a request. After the last one it answers, if there is
// an answer.
func (b *batchSink) ended() {
	if b.pending.Add(-1) > 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) > 0 {
		b.sink.answer(slices.Concat([]byte{'['}, bytes.Join(b.all, []byte{','}), []byte{']'}), b.code)
	}
}
