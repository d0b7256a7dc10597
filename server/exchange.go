package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"toolserver/domain/rawjson"
)

// A sink takes what one request makes the server say, each a JSON-RPC message
// without line end. It must not keep the bytes.
type sink interface {
	answer(msg []byte, code int) // code is that of an error, or 0
	notify(msg []byte)
}

// exchange is one request and its answer.
type exchange struct {
	server  *Server
	session *session
	msg     *message
	out     sink
	meta    requestMeta
	entry   *inFlight // from begin to end
}

// requestMeta is what a request's _meta says about it.
type requestMeta struct {
	modern        bool            // of the era without a handshake
	version       string          // declared by a modern request
	progressToken json.RawMessage // nil if the client does not ask for progress
}

// readMeta reads the request's _meta and checks what the modern era demands of
// it (SEP-2575).
func (x *exchange) readMeta() *wireError {
	if x.msg.params == nil || x.msg.params[0] != '{' {
		return nil
	}
	var meta, capabilities []byte
	_ = rawjson.Object(x.msg.params, func(name, value []byte) error {
		if string(name) == "_meta" && value[0] == '{' {
			meta = value
		}
		return nil
	})
	if meta == nil {
		return nil
	}
	_ = rawjson.Object(meta, func(name, value []byte) error {
		switch string(name) {
		case "progressToken":
			if validID(value) {
				x.meta.progressToken = value
			}
		case mcp.MetaKeyProtocolVersion:
			x.meta.version, _ = rawjson.String(value)
		case mcp.MetaKeyClientCapabilities:
			capabilities = value
		}
		return nil
	})
	x.meta.modern = mcp.IsModernProtocol(x.meta.version)
	switch {
	case !x.meta.modern:
		return nil
	case !mcp.IsValidProtocolVersion(x.meta.version):
		return &wireError{mcp.UNSUPPORTED_PROTOCOL_VERSION, "protocol version " + x.meta.version + " is not supported",
			map[string]any{"supported": mcp.ValidProtocolVersions, "requested": x.meta.version}}
	case capabilities == nil || capabilities[0] != '{':
		return invalidParams("missing or invalid _meta field " + mcp.MetaKeyClientCapabilities)
	}
	return nil
}

// errCanceled is the cause of the context of a request its client took back.
var errCanceled = errors.New("canceled by the client")

// begin makes the request one that can be canceled, until end.
func (x *exchange) begin(ctx context.Context) (context.Context, *wireError) {
	ctx, cancel := context.WithCancelCause(ctx)
	entry, err := x.session.add(x.msg.id, cancel, x.server.opts.MaxInFlight)
	if err != nil {
		cancel(err)
		return nil, invalidRequest(err.Error())
	}
	x.entry = entry
	return ctx, nil
}

// end frees what begin took.
func (x *exchange) end() {
	x.session.remove(x.msg.id, x.entry)
	x.entry.cancel(nil)
}

// mayAnswer reports whether the request is to be answered. It is no longer once
// the client has taken it back: then nothing may follow.
func (x *exchange) mayAnswer() bool { return x.entry == nil || x.session.remove(x.msg.id, x.entry) }

// answer sends the result that write appends.
func (x *exchange) answer(write func(b []byte) []byte) {
	if !x.mayAnswer() {
		return
	}
	buf := newBuffer()
	defer buf.free()
	b := appendHead(buf.bytes, x.msg.id)
	b = append(b, `,"result":`...)
	b = append(write(b), '}')
	buf.bytes = b
	x.out.answer(b, 0)
}

func (x *exchange) fail(err *wireError) {
	if x.mayAnswer() {
		x.out.answer(errorMessage(x.msg.id, err), err.code)
	}
}

// delegate has mcp-go serve the request.
func (x *exchange) delegate(ctx context.Context) {
	ctx = x.server.mcp.WithContext(ctx, x.session)
	switch resp := x.server.mcp.HandleMessage(ctx, x.msg.raw).(type) {
	case mcp.JSONRPCResponse:
		result, err := json.Marshal(resp.Result)
		if err != nil {
			x.fail(&wireError{code: mcp.INTERNAL_ERROR, message: err.Error()})
			return
		}
		x.answer(func(b []byte) []byte { return append(b, result...) })
	case mcp.JSONRPCError:
		x.fail(&wireError{resp.Error.Code, resp.Error.Message, resp.Error.Data})
	}
}

var _ mcpserver.ClientSession = (*session)(nil)
