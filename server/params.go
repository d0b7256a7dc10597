package server

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/rawjson"
)

// params are the parts of a request's parameters that more than one method
// has, read in one pass and not yet decoded. A part that is not there is nil.
type params struct {
	name, uri, cursor json.RawMessage
	arguments         json.RawMessage
	inputResponses    json.RawMessage // what the client was asked for, of the modern era
	requestState      json.RawMessage // what came with the question
	meta              requestMeta
}

// requestMeta is what a request's _meta says about it.
type requestMeta struct {
	modern        bool            // of the era without a handshake
	version       string          // declared by a modern request
	progressToken json.RawMessage // nil if the client does not ask for progress
	logLevel      string          // declared by a modern request; empty for no log
	capabilities  json.RawMessage // declared by a modern request
}

// parseParams reads a request's parameters. What is not an object has none.
func parseParams(raw json.RawMessage) (p params) {
	if len(raw) == 0 || raw[0] != '{' {
		return p
	}
	_ = rawjson.Object(raw, p.member)
	return p
}

// member notes one member of the parameters.
func (p *params) member(name, value []byte) error {
	switch string(name) {
	case "name":
		p.name = value
	case "uri":
		p.uri = value
	case "cursor":
		p.cursor = value
	case "arguments":
		p.arguments = value
	case "inputResponses":
		p.inputResponses = value
	case "requestState":
		p.requestState = value
	case "_meta":
		p.meta.read(value)
	}
	return nil
}

func (m *requestMeta) read(raw []byte) {
	*m = requestMeta{}
	if raw[0] != '{' {
		return
	}
	_ = rawjson.Object(raw, func(name, value []byte) error {
		switch string(name) {
		case "progressToken":
			if validID(value) {
				m.progressToken = value
			}
		case mcp.MetaKeyProtocolVersion:
			m.version, _ = rawjson.String(value)
		case mcp.MetaKeyClientCapabilities:
			m.capabilities = value
		case mcp.MetaKeyLogLevel:
			m.logLevel, _ = rawjson.String(value)
		}
		return nil
	})
	m.modern = mcp.IsModernProtocol(m.version)
}

// check holds a modern request to what that era demands (SEP-2575).
func (m *requestMeta) check() *wireError {
	switch {
	case !m.modern:
		return nil
	case !mcp.IsValidProtocolVersion(m.version):
		return &wireError{mcp.UNSUPPORTED_PROTOCOL_VERSION, "protocol version " + m.version + " is not supported",
			map[string]any{"supported": mcp.ValidProtocolVersions, "requested": m.version}}
	case m.capabilities == nil || m.capabilities[0] != '{':
		return invalidParams("missing or invalid _meta field " + mcp.MetaKeyClientCapabilities)
	}
	return nil
}

// text decodes a parameter that must be there and be a string.
func (x *exchange) text(name string, value json.RawMessage) (string, *wireError) {
	if value == nil {
		return "", invalidParams(`"` + name + `" of ` + x.msg.method + " is missing")
	}
	s, err := rawjson.String(value)
	if err != nil {
		return "", invalidParams(`"` + name + `" of ` + x.msg.method + " must be a string")
	}
	return s, nil
}

// cursor decodes the cursor of a list, which may be missing.
func (x *exchange) cursor() (string, *wireError) {
	if x.params.cursor == nil {
		return "", nil
	}
	return x.text("cursor", x.params.cursor)
}
