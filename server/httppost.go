package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// post serves a message from the client.
func (h *httpHandler) post(w http.ResponseWriter, r *http.Request, who caller) {
	if !isJSON(r.Header.Get("Content-Type")) {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	asJSON, events := accepted(r)
	if !asJSON && !events {
		http.Error(w, "Accept must include application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	body, release, ok := h.readBody(w, r, who.principal.ID)
	if !ok {
		return
	}
	defer release()
	if jsonrpc.IsBatch(body) {
		h.postBatch(w, r, who, body)
		return
	}
	msg, err := parse(body)
	modern := false
	if err == nil {
		modern, err = h.modernPost(r, who.principal, msg)
	}
	switch {
	case err != nil:
		writeError(w, msg.ID, err, http.StatusBadRequest)
		return
	case who.principal.Scoped || who.principal.Anonymous:
		if challenge := h.needs(who, msg); challenge != nil {
			h.refuse(w, r, challenge)
			return
		}
	}
	switch {
	case modern && msg.method == mcp.MethodSubscriptionsListen && !events:
		http.Error(w, "Accept must include text/event-stream", http.StatusNotAcceptable)
	case modern && h.server.replicas.forward(w, r, h.server.replicas.fileOf(r.Context(), who.principal.ID, msg), body):
	case modern:
		ses := h.sessions.lend(who.principal.ID)
		defer h.sessions.giveBack(ses)
		h.serve(w, r, ses, who, msg)
	default:
		h.postLegacy(w, r, who, msg)
	}
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}

// modernPost reports whether a message belongs to the protocol version without sessions, and
// checks the headers that version requires (SEP-2243).
func (h *httpHandler) modernPost(r *http.Request, p domain.Principal, msg *message) (bool, *jsonrpc.Error) {
	header := r.Header.Get(mcp.HeaderProtocolVersion)
	meta := &msg.meta
	if !meta.modern && !mcp.IsModernProtocol(header) {
		return false, nil
	}
	switch {
	case r.Header.Get(mcp.HeaderLastEventID) != "":
		return true, headerMismatch("Last-Event-ID is not supported in protocol version " + mcp.ProtocolVersion20260728 + ": send the request again with a new id")
	case msg.Response:
		return true, invalidRequest("clients do not send responses in protocol version " + mcp.ProtocolVersion20260728)
	case msg.IsNotification():
		return true, nil
	case header == "":
		return true, headerMismatch(mcp.HeaderProtocolVersion + " header is missing")
	case meta.version == "" && !mcp.IsValidProtocolVersion(header):
		return true, unsupportedVersion(header)
	case meta.version == "":
		return true, invalidParams("missing or invalid _meta field " + mcp.MetaKeyProtocolVersion)
	case header != meta.version:
		return true, headerMismatch(mcp.HeaderProtocolVersion + " header " + header + " does not match the request's " + meta.version)
	}
	if wrong := meta.check(); wrong != nil {
		return true, wrong
	}
	return true, h.server.checkHeaders(r.Header, p, msg)
}

// checkHeaders holds the headers that repeat parts of a request to those parts
// (SEP-2243), so that proxies can go by them.
func (s *Server) checkHeaders(header http.Header, p domain.Principal, msg *message) *jsonrpc.Error {
	name, named := "", mcp.MethodRequiresNameHeader(mcp.MCPMethod(msg.Method))
	place, extends := extensionOf(msg.Method)
	if named = named || extends && extensions[place].header != ""; named {
		target := msg.name
		switch {
		case extends:
			target = msg.taskID
		case msg.method == mcp.MethodResourcesRead:
			target = msg.uri
		}
		var err error
		if name, err = rawjson.String(target); err != nil {
			named = false // there is no name to repeat, which its method will say
		}
	}
	for _, h := range [...]struct {
		name, want string
		required   bool
	}{{mcp.HeaderProtocolVersion, msg.meta.version, true}, {mcp.HeaderMethod, msg.Method, true}, {mcp.HeaderName, name, named}} {
		presented, ok := header.Get(h.name), true
		if h.name == mcp.HeaderName {
			presented, ok = mcp.DecodeHeaderValue(presented)
		}
		switch {
		case !h.required:
		case header.Get(h.name) == "":
			return headerMismatch(h.name + " header is missing")
		case !ok:
			return headerMismatch(h.name + " header is not valid Base64")
		case presented != h.want:
			return headerMismatch(fmt.Sprintf("%s header %q does not match the request's %q", h.name, brief.Name(presented), brief.Name(h.want)))
		}
	}
	if msg.method == mcp.MethodToolsCall && named {
		return s.checkParamHeaders(header, p, name, msg.arguments)
	}
	return nil
}

// checkParamHeaders does the same for arguments whose schema names a header.
func (s *Server) checkParamHeaders(header http.Header, p domain.Principal, tool string, arguments json.RawMessage) *jsonrpc.Error {
	t, ok := s.exec.CatalogOf(p).Tool(tool)
	if !ok {
		return nil
	}
	schema, err := t.Input.MarshalJSON()
	if err != nil || !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
		return nil
	}
	lookup := func(name string) (string, bool) {
		values := header.Values(name)
		return header.Get(name), len(values) > 0
	}
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	// The arguments that run: as mcp-go reads parameters, "Arguments" would be some, too.
	params := jsonrpc.AppendValue([]byte(`{"arguments":`), arguments)
	if err := mcp.ValidateParamHeadersLookup(lookup, &mcp.Tool{RawInputSchema: schema}, append(params, '}')); err != nil {
		return headerMismatch(err.Error())
	}
	return nil
}

func headerMismatch(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcp.HEADER_MISMATCH, Message: text}
}

// postLegacy serves a message of a protocol version with sessions.
func (h *httpHandler) postLegacy(w http.ResponseWriter, r *http.Request, who caller, msg *message) {
	if msg.method == mcp.MethodInitialize && !msg.IsNotification() {
		h.initialize(w, r, who, msg)
		return
	}
	if version := r.Header.Get(mcp.HeaderProtocolVersion); !knownVersion(version) {
		writeError(w, msg.ID, unsupportedVersion(version), http.StatusBadRequest)
		return
	}
	ses, ok := h.session(w, r, who)
	if !ok {
		return
	}
	defer h.sessions.release(ses)
	h.serve(w, r, ses, who, msg)
}

// initialize begins a session.
func (h *httpHandler) initialize(w http.ResponseWriter, r *http.Request, who caller, msg *message) {
	ses, ok := h.sessions.create(who.principal.ID)
	if !ok {
		w.Header().Set("Retry-After", "60")
		writeError(w, msg.ID, busyWith("sessions"), http.StatusServiceUnavailable)
		return
	}
	defer h.sessions.release(ses)
	h.serve(w, r, ses, who, msg)
	h.sessions.abandon(ses) // if the handshake failed
}

// serve serves a message of a session and writes the response.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request, ses *session, who caller, msg *message) {
	isRequest := msg.ID != nil && !msg.Response
	out := h.newSink(w, r)
	out.modern = ses.id == ""
	if msg.method == mcp.MethodInitialize {
		out.begins = func() string { return h.sessions.establish(ses) }
	}
	if msg.method == mcp.MethodToolsCall {
		out.limited = &who.principal
	}
	ctx := r.Context()
	listens := isRequest && msg.method == mcp.MethodSubscriptionsListen
	if listens {
		ctx = h.stopping // its stream goes on after this request
	}
	if isRequest && ses.handshake().version == mcp.ProtocolVersion20251125 {
		ctx = h.base // a lost connection cancels nothing
		out.resumable = ses
	}
	if !listens { // whose stream keeps itself alive: a timer would keep the response
		out.expect(isRequest)
	}
	defer out.close()
	if isRequest || ses.id != "" { // without a session, it could only concern another client
		switch x := h.server.open(ctx, ses, who, msg, out); {
		case x == nil:
		case x.peer.background == nil:
			if listens {
				x.carry = func(changes *listener, acknowledgement []byte) { carry(h, w, r, x, changes, acknowledgement) }
			}
			x.serve()
		default:
			x.peer.background.serve(ctx)
		}
	}
}

// carry has a stream answer a subscription, after the request if need be: of the
// exchange, it takes what is released when that is finished.
func carry(h *httpHandler, w http.ResponseWriter, r *http.Request, x *exchange, changes *listener, acknowledgement []byte) {
	x.out.(*httpSink).leave()
	x.peer.finish()
	x.observed(nil) // that it has begun
	h.streams.Add(1)
	s := &stream{handler: h, id: bytes.Clone(x.ID), changes: changes, who: x.who}
	s.begin(w, r, x.ctx, acknowledgement)
	x.session.remove(x)
	x.cancel(nil)
}

// postBatch serves a JSON-RPC batch.
func (h *httpHandler) postBatch(w http.ResponseWriter, r *http.Request, who caller, body []byte) {
	if version := r.Header.Get(mcp.HeaderProtocolVersion); mcp.IsModernProtocol(version) || !knownVersion(version) {
		writeError(w, nil, invalidRequest("protocol version "+brief.Name(version)+" has no batches"), http.StatusBadRequest)
		return
	}
	ses, ok := h.session(w, r, who)
	if !ok {
		return
	}
	defer h.sessions.release(ses)
	batch, err := parseBatch(ses, body)
	if err != nil {
		writeError(w, nil, err, http.StatusBadRequest)
		return
	}
	out := h.newSink(w, r)
	defer out.close()
	serve, answers := h.server.openBatch(r.Context(), ses, who, batch, out)
	out.expect(answers)
	serve()
}

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
		release = func() { in.pool.Release(in.owner, in.held) }
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
