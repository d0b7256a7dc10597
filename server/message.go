package server

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// message is a message of a client, with what more than one method has of its
// parameters: found while the message is read, and not yet decoded. A part that
// is not there is nil.
type message struct {
	jsonrpc.Message
	method            mcp.MCPMethod // that of Message
	name, uri, cursor json.RawMessage
	taskID            json.RawMessage
	arguments         json.RawMessage
	inputResponses    json.RawMessage // answers to input requests, in protocol version 2026-07-28
	requestState      json.RawMessage // what came with the input requests
	meta              requestMeta
}

// requestMeta is what a request's _meta says about it.
type requestMeta struct {
	modern        bool            // protocol version 2026-07-28 or later: no handshake, no session
	version       string          // declared by a modern request
	progressToken json.RawMessage // nil if the client does not ask for progress
	logLevel      string          // declared by a modern request; empty for no log
	capabilities  json.RawMessage // declared by a modern request
	client        string          // its name and version, likewise
	category      string          // which tools a list is to have; empty for all
	raw           json.RawMessage // all of it
}

// parse reads a message.
func parse(raw []byte) (*message, *jsonrpc.Error) {
	r := new(message)
	msg, err := jsonrpc.Parse(raw, r.param)
	r.Message, r.method = msg, mcp.MCPMethod(msg.Method)
	return r, err
}

// param notes a parameter.
func (r *message) param(name, value []byte) error {
	if string(value) == "null" {
		return nil // as some clients write what they leave out
	}
	switch string(name) {
	case "name":
		r.name = value
	case "uri":
		r.uri = value
	case "taskId":
		r.taskID = value
	case "cursor":
		r.cursor = value
	case "arguments":
		if r.arguments = value; value[0] == '[' && len(bytes.TrimSpace(value[1:len(value)-1])) == 0 {
			r.arguments = json.RawMessage("{}") // PHP has one empty value for both
		}
	case "inputResponses":
		r.inputResponses = value
	case "requestState":
		r.requestState = value
	case "_meta":
		r.meta.read(value)
	}
	return nil
}

// categoryKey is the member of _meta that says which category a tool of this server is of
// and, in a request for a list, of which category tools are wanted.
const categoryKey = "toolserver/category"

func (m *requestMeta) read(raw []byte) {
	*m = requestMeta{}
	if raw[0] != '{' {
		return
	}
	m.raw = raw
	_ = rawjson.Object(raw, func(name, value []byte) error {
		switch string(name) {
		case "progressToken":
			if jsonrpc.ValidID(value) {
				m.progressToken = value
			}
		case mcp.MetaKeyProtocolVersion:
			m.version, _ = rawjson.String(value)
		case mcp.MetaKeyClientCapabilities:
			m.capabilities = value
		case mcp.MetaKeyClientInfo:
			m.client = readClient(value)
		case mcp.MetaKeyLogLevel:
			m.logLevel, _ = rawjson.String(value)
		case categoryKey:
			m.category, _ = rawjson.String(value)
		}
		return nil
	})
	m.modern = mcp.IsModernProtocol(m.version)
}

// check holds a modern request to what its protocol version requires (SEP-2575).
func (m *requestMeta) check() *jsonrpc.Error {
	switch {
	case !m.modern:
		return nil
	case !mcp.IsValidProtocolVersion(m.version):
		return unsupportedVersion(m.version)
	case m.capabilities == nil || m.capabilities[0] != '{':
		return invalidParams("missing or invalid _meta field " + mcp.MetaKeyClientCapabilities)
	}
	return nil
}

func unsupportedVersion(version string) *jsonrpc.Error {
	version = brief.Name(version)
	return &jsonrpc.Error{Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: "protocol version " + version + " is not supported",
		Data: map[string]any{"supported": mcp.ValidProtocolVersions, "requested": version}}
}

// text decodes a parameter that is required and a string.
func (r *message) text(name string, value json.RawMessage) (string, error) {
	if value == nil {
		return "", invalidParams(`"` + name + `" of ` + r.Method + " is missing")
	}
	s, err := rawjson.String(value)
	if err != nil {
		return "", invalidParams(`"` + name + `" of ` + r.Method + " must be a string")
	}
	return s, nil
}

func invalidRequest(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}

func invalidParams(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}
