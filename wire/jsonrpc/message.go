// Package jsonrpc reads and writes JSON-RPC 2.0 messages, in both directions and
// without decoding what they carry: ids, parameters, results and error data stay
// the bytes that were received. Messages travel as lines or in HTTP bodies.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Message is a request, a notification or a response. Its parts point into the
// bytes it was read from.
type Message struct {
	ID       json.RawMessage // as the sender wrote it; nil of a notification
	Method   string
	Params   json.RawMessage // an object or, as JSON-RPC allows, an array; nil if there are none
	Response bool
	Result   json.RawMessage // of a response
	Failure  json.RawMessage // the error of a response, see [ParseError]
}

// IsNotification reports whether m is neither a request nor a response.
func (m *Message) IsNotification() bool { return m.ID == nil && !m.Response }

// Error is the error of a response.
type Error struct {
	Code    int
	Message string
	Data    any // marshals to JSON; a json.RawMessage in an error that was received; nil if there is none
}

func (e *Error) Error() string { return e.Message }

// The codes of JSON-RPC.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// Errorf returns an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ParseError returns the error that a response has, with its data unchanged. What
// is no error object becomes the message of an internal error.
func ParseError(failure json.RawMessage) *Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(failure, &e); err != nil {
		return &Error{Code: CodeInternalError, Message: "invalid error object in a response: " + err.Error()}
	}
	parsed := &Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		parsed.Data = e.Data
	}
	return parsed
}

// Parse reads one message. For each member of its params, if these are an object,
// it calls param, which may be nil, as it comes to it. Of a member given twice the
// last one counts, except that params given twice are invalid. Of an invalid message it returns what it could
// read, so that the answer can have its ID.
func Parse(raw []byte, param func(name, value []byte) error) (Message, *Error) {
	var m Message
	var version string
	var hasMethod, hasResult, repeated bool
	var badMethod error
	err := rawjson.Read(raw, func(v rawjson.Value) error {
		return v.Object(func(name []byte, v rawjson.Value) error {
			if param != nil && v.Kind() == '{' && string(name) == "params" {
				if err := v.Members(param); err != nil {
					return err
				}
			}
			value, err := v.Raw()
			if err != nil {
				return err
			}
			switch string(name) {
			case "jsonrpc":
				if version = "2.0"; string(value) != `"2.0"` {
					version, _ = rawjson.String(value)
				}
			case "id":
				m.ID = value
			case "method":
				hasMethod = true
				m.Method, badMethod = rawjson.String(value)
			case "params":
				if repeated = m.Params != nil; string(value) != "null" { // as some clients write what they leave out
					m.Params = value
				}
			case "result":
				hasResult, m.Result = true, value
			case "error":
				hasResult, m.Failure = true, value
			}
			return nil
		})
	})
	switch {
	case !utf8.Valid(raw):
		err = errors.New("not UTF-8")
	case err != nil && rawjson.Valid(raw) == nil:
		return Message{}, Errorf(CodeInvalidRequest, "a message must be an object")
	}
	if err != nil {
		return Message{}, Errorf(CodeParseError, "the message is %v", err)
	}
	m.Response = hasResult && !hasMethod
	switch {
	case version != "2.0":
		return m, Errorf(CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
	case m.ID != nil && !ValidID(m.ID):
		m.ID = nil
		return m, Errorf(CodeInvalidRequest, `"id" must be a string or a number`)
	case badMethod != nil:
		return m, Errorf(CodeInvalidRequest, `"method" must be a string`)
	case !hasMethod && !m.Response:
		return m, Errorf(CodeInvalidRequest, `"method" is missing`)
	case repeated:
		return m, Errorf(CodeInvalidRequest, `"params" is there twice`)
	case m.Params != nil && m.Params[0] != '{' && m.Params[0] != '[':
		return m, Errorf(CodeInvalidParams, `"params" must be an object`)
	}
	return m, nil
}

// IsBatch reports whether raw is an array, as batches are.
func IsBatch(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '['
}

// ParseBatch splits a batch of at most limit messages, which are yet to be parsed.
func ParseBatch(raw []byte, limit int) ([]json.RawMessage, *Error) {
	var batch []json.RawMessage
	err := rawjson.Array(raw, func(value []byte) error {
		batch = append(batch, value)
		return nil
	})
	switch {
	case err != nil:
		return nil, Errorf(CodeParseError, "the batch is %v", err)
	case len(batch) == 0:
		return nil, Errorf(CodeInvalidRequest, "the batch is empty")
	case len(batch) > limit:
		return nil, Errorf(CodeInvalidRequest, "the batch has %d messages; at most %d are allowed", len(batch), limit)
	}
	return batch, nil
}

// ValidID reports whether a JSON value is a string or a number.
func ValidID(id []byte) bool {
	return id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

// IDKey returns a form of an ID that is the same however the ID is written: a
// proxy may write "\u00e9" for "é" and 1 for 1.0.
func IDKey(id []byte) []byte {
	if len(id) > 0 && id[0] == '"' {
		if bytes.IndexByte(id, '\\') >= 0 {
			if s, err := rawjson.String(id); err == nil {
				return rawjson.AppendString(nil, s)
			}
		}
		return id
	}
	if slices.ContainsFunc(id, func(c byte) bool { return c == '.' || c == 'e' || c == 'E' }) {
		if f, err := strconv.ParseFloat(string(id), 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return strconv.AppendInt(nil, int64(f), 10)
		}
	}
	return id
}

// AppendResultHead appends a response up to its result, which has to follow and
// then a brace. ID is nil if that of the request could not be read.
func AppendResultHead(b []byte, id json.RawMessage) []byte {
	return append(appendID(b, id), `,"result":`...)
}

func appendID(b []byte, id json.RawMessage) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

// ErrorResponse returns a response that is an error.
func ErrorResponse(id json.RawMessage, e *Error) []byte {
	return append(e.AppendTo(append(appendID(nil, id), `,"error":`...)), '}')
}

// AppendTo appends the error as an object.
func (e *Error) AppendTo(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"code":`...), int64(e.Code), 10)
	b = rawjson.AppendString(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = AppendValue(append(b, `,"data":`...), e.Data)
	}
	return append(b, '}')
}

// Request returns a request or, without an ID, a notification. Params may be nil.
func Request(id json.RawMessage, method string, params any) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0",`...)
	if id != nil {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	b = rawjson.AppendString(append(b, `"method":`...), method)
	if params != nil {
		b = AppendValue(append(b, `,"params":`...), params)
	}
	return append(b, '}')
}

// AppendValue appends v as JSON on one line: a json.RawMessage without a line
// break unchanged. What cannot be marshaled becomes null.
func AppendValue(b []byte, v any) []byte {
	if raw, ok := v.(json.RawMessage); ok && len(raw) > 0 && bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(b, raw...)
	}
	enc, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, enc...)
}
