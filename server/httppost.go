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
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
	"toolserver/rawjson"
)

// post serves a message from the client.
func (h *httpHandler) post(w http.ResponseWriter, r *http.Request, who caller) {
	if !isJSON(r.Header.Get("Content-Type")) {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if json, events := accepted(r); !json && !events {
		http.Error(w, "Accept must include application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	body, release, ok := h.readBody(w, r, who.principal.ID)
	if !ok {
		return
	}
	defer release()
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		h.postBatch(w, r, who, trimmed)
		return
	}
	msg, wrong := parseMessage(body)
	if wrong != nil {
		writeError(w, msg.id, wrong, http.StatusBadRequest)
		return
	}
	if modern, wrong := h.modernPost(r, &msg); wrong != nil {
		writeError(w, msg.id, wrong, http.StatusBadRequest)
		return
	} else if modern {
		h.serve(w, r, newSession("", who.principal.ID), who, &msg)
		return
	}
	h.postLegacy(w, r, who, &msg)
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}

// readBody reads the whole body. It answers a request that has none as it
// should itself. A long one is counted against what all long messages may have
// together, until release.
func (h *httpHandler) readBody(w http.ResponseWriter, r *http.Request, owner string) (body []byte, release func(), ok bool) {
	release = func() {}
	limit := h.server.opts.MaxMessageBytes
	size := r.ContentLength
	if size < 0 {
		size = int64(limit) // it does not say
	}
	if longMessage < size && size <= int64(limit) {
		ctx, cancel := context.WithTimeout(r.Context(), bodyWait)
		defer cancel()
		if h.server.held.Acquire(ctx, owner, size) != nil {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "5")
			writeError(w, nil, busyWith("long messages"), http.StatusServiceUnavailable)
			return nil, nil, false
		}
		release = func() { h.server.held.Release(owner, size) }
	}
	body, err := readUpTo(r, limit)
	switch {
	case errors.Is(err, errTooLong):
		w.Header().Set("Connection", "close") // what is left of it is not worth reading
		writeError(w, nil, invalidRequest(fmt.Sprintf("the body is longer than %d bytes", limit)), http.StatusRequestEntityTooLarge)
	case err != nil:
		writeError(w, nil, &wireError{code: mcp.PARSE_ERROR, message: "the body did not arrive whole"}, http.StatusBadRequest)
	default:
		// From here on, nothing more is expected of the client, for as long as it takes.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, release, true
	}
	release()
	return nil, nil, false
}

// bodyWait is how long a long body waits to be read: less than it may take to
// arrive.
const bodyWait = 20 * time.Second

// busyWith refuses what there is no room for while others take it.
func busyWith(what string) *wireError {
	return &wireError{int(domain.CodeBusy), "the server is busy with other " + what + "; try again a little later",
		map[string]any{"error_type": domain.CodeBusy.Type(), "retryAfterMs": 5000}}
}

var errTooLong = errors.New("too long")

func readUpTo(r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, errTooLong
	}
	if 0 <= r.ContentLength && r.ContentLength <= longMessage {
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	var body bytes.Buffer
	body.Grow(longMessage) // more only when it has come: announcing it costs nothing
	_, err := body.ReadFrom(io.LimitReader(r.Body, int64(limit)+1))
	if err == nil && body.Len() > limit {
		err = errTooLong
	}
	return body.Bytes(), err
}

// modernPost reports whether a message belongs to the era without sessions, and
// checks the headers that era asks for (SEP-2243).
func (h *httpHandler) modernPost(r *http.Request, msg *message) (bool, *wireError) {
	header := r.Header.Get(mcp.HeaderProtocolVersion)
	meta := &msg.read.meta
	if !meta.modern && !mcp.IsModernProtocol(header) {
		return false, nil
	}
	switch {
	case r.Header.Get(mcp.HeaderLastEventID) != "":
		return true, headerMismatch("Last-Event-ID is not supported in protocol version " + mcp.ProtocolVersion20260728 + ": send the request again with a new id")
	case msg.response:
		return true, invalidRequest("answers from clients do not exist in protocol version " + mcp.ProtocolVersion20260728)
	case msg.isNotification():
		return true, nil
	case header == "":
		return true, headerMismatch(mcp.HeaderProtocolVersion + " header is missing")
	case meta.version == "":
		return true, invalidParams("missing or invalid _meta field " + mcp.MetaKeyProtocolVersion)
	case header != meta.version:
		return true, headerMismatch(mcp.HeaderProtocolVersion + " header " + header + " does not match the request's " + meta.version)
	}
	if wrong := meta.check(); wrong != nil {
		return true, wrong
	}
	return true, h.server.checkHeaders(r.Header, msg)
}

// checkHeaders holds the headers that repeat parts of a request to those parts
// (SEP-2243), so that what stands between client and server can go by them.
func (s *Server) checkHeaders(header http.Header, msg *message) *wireError {
	for _, name := range []string{mcp.HeaderMethod, mcp.HeaderName} {
		if len(header.Values(name)) > 1 { // whoever stands between may go by another one
			return headerMismatch("there is more than one " + name + " header")
		}
	}
	switch method := header.Get(mcp.HeaderMethod); method {
	case msg.method:
	case "":
		return headerMismatch(mcp.HeaderMethod + " header is missing")
	default:
		return headerMismatch(fmt.Sprintf("%s header %q does not match the request's %q", mcp.HeaderMethod, domain.ClipName(method), domain.ClipName(msg.method)))
	}
	if !mcp.MethodRequiresNameHeader(mcp.MCPMethod(msg.method)) {
		return nil
	}
	p := &msg.read
	target := p.name
	if msg.method == methodRead {
		target = p.uri
	}
	name, err := rawjson.String(target)
	if err != nil {
		return nil // there is no name to repeat, which its method will say
	}
	presented, ok := mcp.DecodeHeaderValue(header.Get(mcp.HeaderName))
	switch {
	case header.Get(mcp.HeaderName) == "":
		return headerMismatch(mcp.HeaderName + " header is missing")
	case !ok:
		return headerMismatch(mcp.HeaderName + " header is not valid Base64")
	case presented != name:
		return headerMismatch(fmt.Sprintf("%s header %q does not match the request's %q", mcp.HeaderName, domain.ClipName(presented), domain.ClipName(name)))
	}
	if msg.method == methodCall {
		return s.checkParamHeaders(header, name, msg.params)
	}
	return nil
}

// checkParamHeaders does the same for arguments whose schema names a header.
func (s *Server) checkParamHeaders(header http.Header, tool string, params json.RawMessage) *wireError {
	t, ok := s.exec.Registry.Get(tool)
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
	if err := mcp.ValidateParamHeadersLookup(lookup, &mcp.Tool{RawInputSchema: schema}, params); err != nil {
		return headerMismatch(err.Error())
	}
	return nil
}

func headerMismatch(text string) *wireError {
	return &wireError{code: mcp.HEADER_MISMATCH, message: text}
}

// postLegacy serves a message of the era with sessions.
func (h *httpHandler) postLegacy(w http.ResponseWriter, r *http.Request, who caller, msg *message) {
	if msg.method == methodInitialize && !msg.isNotification() {
		h.initialize(w, r, who, msg)
		return
	}
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		http.Error(w, "protocol version "+domain.ClipName(version)+" is not supported", http.StatusBadRequest)
		return
	}
	ses, ok := h.session(w, r, who.principal)
	if !ok {
		return
	}
	defer h.sessions.release(ses)
	h.serve(w, r, ses.session, who, msg)
}

// initialize begins a session.
func (h *httpHandler) initialize(w http.ResponseWriter, r *http.Request, who caller, msg *message) {
	ses, err := h.sessions.create(who.principal.ID)
	if err != nil {
		w.Header().Set("Retry-After", "60")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.sessions.release(ses)
	w.Header().Set(sessionHeader, ses.id)
	h.serve(w, r, ses.session, who, msg)
	if ses.protocolVersion() == "" {
		h.sessions.drop(ses) // the handshake failed
	}
}

// serve serves a message of a session and writes what comes of it.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request, ses *session, who caller, msg *message) {
	if msg.isNotification() || msg.response {
		if ses.id != "" { // without a session, it could only be about somebody else
			h.server.handle(r.Context(), ses, who, msg, nil)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if msg.method == methodListen {
		stop := context.AfterFunc(h.stopping, ses.close)
		defer stop()
	}
	_, events := accepted(r)
	out := newHTTPSink(w, events, h.server.opts.BeforeAnswers)
	out.modern = ses.id == ""
	defer out.close()
	h.server.handle(r.Context(), ses, who, msg, out)
}

// postBatch serves a JSON-RPC batch.
func (h *httpHandler) postBatch(w http.ResponseWriter, r *http.Request, who caller, body []byte) {
	ses, ok := h.session(w, r, who.principal)
	if !ok {
		return
	}
	defer h.sessions.release(ses)
	batch, wrong := h.server.parseBatch(ses.session, body)
	if wrong != nil {
		writeError(w, nil, wrong, http.StatusBadRequest)
		return
	}
	if !asksSomething(batch) {
		h.server.handleBatch(r.Context(), ses.session, who, batch, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	_, events := accepted(r)
	out := newHTTPSink(w, events, h.server.opts.BeforeAnswers)
	defer out.close()
	h.server.handleBatch(r.Context(), ses.session, who, batch, out)
}

// asksSomething reports whether a batch has something to answer: a request, or
// what is no message at all.
func asksSomething(batch []json.RawMessage) bool {
	return slices.ContainsFunc(batch, func(raw json.RawMessage) bool {
		msg, wrong := parseMessage(raw)
		return wrong != nil || !msg.isNotification() && !msg.response
	})
}
