package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/rawjson"
)

// message is one JSON-RPC message. Its parts point into the bytes it was read
// from.
type message struct {
	id       json.RawMessage // as the client wrote it; nil if there is none
	method   string
	params   json.RawMessage
	response bool // an answer to a request of ours
	result   json.RawMessage
	failure  json.RawMessage // of an answer that is an error

	read params // of params, what more than one method has
}

func (m *message) isNotification() bool { return m.id == nil }

// wireError is the error member of an answer.
type wireError struct {
	code    int
	message string
	data    any // nil for none
}

func invalidRequest(text string) *wireError {
	return &wireError{code: mcp.INVALID_REQUEST, message: text}
}

func invalidParams(text string) *wireError {
	return &wireError{code: mcp.INVALID_PARAMS, message: text}
}

// parseMessage reads one message. Of a message that is wrong it returns what it
// could read, so that the answer can carry the id.
func parseMessage(raw []byte) (message, *wireError) {
	var m message
	version, hasMethod, again := "", false, false
	var badMethod error
	err := rawjson.Nested(raw, "params", func(name, value []byte) error {
		switch string(name) {
		case "jsonrpc":
			version, _ = rawjson.String(value)
		case "id":
			m.id = value
		case "method":
			hasMethod = true
			m.method, badMethod = rawjson.String(value)
		case "params":
			again = m.params != nil
			m.params = value
		case "result":
			m.response, m.result = true, value
		case "error":
			m.response, m.failure = true, value
		}
		return nil
	}, m.read.member)
	if again { // of parameters given twice the last count
		m.read = parseParams(m.params)
	}
	switch {
	case !utf8.Valid(raw):
		err = errors.New("not UTF-8")
	case err != nil && rawjson.Valid(raw) == nil:
		return message{}, invalidRequest("a message must be an object")
	}
	if err != nil {
		return message{}, &wireError{code: mcp.PARSE_ERROR, message: "the message is " + err.Error()}
	}
	m.response = m.response && !hasMethod
	switch {
	case version != mcp.JSONRPC_VERSION:
		return m, invalidRequest(`"jsonrpc" must be "2.0"`)
	case m.id != nil && !validID(m.id):
		m.id = nil
		return m, invalidRequest(`"id" must be a string or a number`)
	case badMethod != nil:
		return m, invalidRequest(`"method" must be a string`)
	case !hasMethod && !m.response:
		return m, invalidRequest(`"method" is missing`)
	case m.params != nil && m.params[0] != '{' && m.params[0] != '[':
		return m, invalidParams(`"params" must be an object`)
	}
	return m, nil
}

func validID(id []byte) bool {
	return id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

// idKey returns what an id is known by, however the client writes it: a proxy
// between may write "\u00e9" for "é" and 1 for 1.0.
func idKey(id []byte) []byte {
	if len(id) > 0 && id[0] == '"' {
		if bytes.IndexByte(id, '\\') >= 0 {
			if s, err := rawjson.String(id); err == nil {
				return rawjson.AppendString(nil, s)
			}
		}
		return id
	}
	if bytes.ContainsAny(id, ".eE") {
		if f, err := strconv.ParseFloat(string(id), 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return strconv.AppendInt(nil, int64(f), 10)
		}
	}
	return id
}
