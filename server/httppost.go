package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain/brief"
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
		modern, err = h.modernPost(r, msg)
	}
	switch {
	case err != nil:
		writeError(w, msg.ID, err, http.StatusBadRequest)
	case modern && msg.method == mcp.MethodSubscriptionsListen && !events:
		http.Error(w, "Accept must include text/event-stream", http.StatusNotAcceptable)
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
func (h *httpHandler) modernPost(r *http.Request, msg *message) (bool, *jsonrpc.Error) {
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
	return true, h.server.checkHeaders(r.Header, msg)
}

// checkHeaders holds the headers that repeat parts of a request to those parts
// (SEP-2243), so that proxies can go by them.
func (s *Server) checkHeaders(header http.Header, msg *message) *jsonrpc.Error {
	name, named := "", mcp.MethodRequiresNameHeader(mcp.MCPMethod(msg.Method))
	if named {
		target := msg.name
		if msg.method == mcp.MethodResourcesRead {
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
		return s.checkParamHeaders(header, name, msg.arguments)
	}
	return nil
}

// checkParamHeaders does the same for arguments whose schema names a header.
func (s *Server) checkParamHeaders(header http.Header, tool string, arguments json.RawMessage) *jsonrpc.Error {
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
	ses, ok := h.session(w, r, who.principal)
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
	if ses.handshake().version == "" {
		h.sessions.drop(ses, false) // the handshake failed
	}
}

// serve serves a message of a session and writes the response.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request, ses *session, who caller, msg *message) {
	if msg.method == mcp.MethodSubscriptionsListen {
		stop := context.AfterFunc(h.stopping, ses.close)
		defer stop()
	}
	isRequest := msg.ID != nil && !msg.Response
	out := h.newSink(w, r)
	out.modern = ses.id == ""
	if msg.method == mcp.MethodInitialize {
		out.begins = ses.id
	}
	if msg.method == mcp.MethodToolsCall {
		out.limited = who.principal.ID
	}
	ctx := r.Context()
	if isRequest && ses.handshake().version == mcp.ProtocolVersion20251125 {
		ctx = h.base // a lost connection cancels nothing
		out.kept = h.server.newReplay(ses)
	}
	out.expect(isRequest)
	defer out.close()
	if isRequest || ses.id != "" { // without a session, it could only concern another client
		if x := h.server.open(ctx, ses, who, msg, out); x != nil {
			x.serve()
		}
	}
}

// postBatch serves a JSON-RPC batch.
func (h *httpHandler) postBatch(w http.ResponseWriter, r *http.Request, who caller, body []byte) {
	if version := r.Header.Get(mcp.HeaderProtocolVersion); mcp.IsModernProtocol(version) || !knownVersion(version) {
		writeError(w, nil, invalidRequest("protocol version "+brief.Name(version)+" has no batches"), http.StatusBadRequest)
		return
	}
	ses, ok := h.session(w, r, who.principal)
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
