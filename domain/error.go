package domain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/schema"
)

// A Code is a JSON-RPC error code. Those of this server are from -32019 to -32000,
// the range that MCP leaves to implementations.
type Code int

// The codes a call can fail with.
const (
	CodeToolNotFound      Code = -32001
	CodeResourceNotFound  Code = -32002 // MCP's own until 2025-11-25; the edge has another for later clients
	CodeToolDisabled      Code = -32004
	CodeExecutionFailed   Code = -32005
	CodeTimeout           Code = -32006
	CodeBusy              Code = -32007 // no slot became free in time
	CodeRateLimited       Code = -32008
	CodeMissingScope      Code = -32009
	CodeMissingCapability Code = -32021 // MCP's own since 2026-07-28
	CodeInvalidParams     Code = -32602
	CodeInternal          Code = -32603
)

var codeTypes = map[Code]string{
	CodeToolNotFound: "tool_not_found", CodeResourceNotFound: "resource_not_found", CodeToolDisabled: "tool_disabled",
	CodeExecutionFailed: "execution_failed", CodeTimeout: "timeout", CodeBusy: "busy", CodeRateLimited: "rate_limited",
	CodeMissingScope: "missing_scope", CodeMissingCapability: "missing_client_capability", CodeInvalidParams: "invalid_arguments",
}

// Type returns the code's name in the vocabulary of error types.
func (c Code) Type() string {
	if name, ok := codeTypes[c]; ok {
		return name
	}
	return "internal_error"
}

// Error is a protocol error: a call was not possible. A tool that ran and reports
// an error (no such file, HTTP 404, exit status 1) returns a [Failure] instead.
type Error struct {
	Code    Code
	Message string         // complete in itself: many clients show nothing else
	Tool    string         // filled in by the executor
	Hint    string         // the next thing to do, as a sentence
	Data    map[string]any // further facts, by name
	Err     error          // cause, for the log; may be nil

	// Verbatim says that another server's error reaches the caller with its own
	// code, and RawData as its data, nil for none.
	Verbatim bool
	RawData  json.RawMessage
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an [*Error] with a message formatted as by [fmt.Errorf]. The
// operand of a %w verb becomes its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Envelope is the data of the error on the wire, nil for none.
func (e *Error) Envelope() any {
	if e.Verbatim {
		if e.RawData == nil {
			return nil
		}
		return e.RawData
	}
	m := map[string]any{"error_type": e.Type()}
	if e.Tool != "" {
		m["tool"] = e.Tool
	}
	if e.Hint != "" {
		m["next_action_hint"] = e.Hint
	}
	maps.Copy(m, e.Data)
	return m
}

// CodeOf returns the code err carries, 0 if err is nil, or [CodeInternal] if it
// carries none.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// FailureEnvelope is the structured content of a tool execution error.
type FailureEnvelope struct {
	IsError   bool           `json:"is_error"`
	ErrorType string         `json:"error_type"`
	Message   string         `json:"message"`
	Hint      string         `json:"next_action_hint"`
	Code      Code           `json:"code,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
}

// WithoutSecrets returns the envelope as clients see it.
func (e FailureEnvelope) WithoutSecrets(r *redact.Redactor) any {
	e.Message, e.Hint, e.Data = r.Text(e.Message), r.Text(e.Hint), r.Members(e.Data)
	return e
}

// Failure returns a tool execution error. The message must be complete in itself;
// hint says what to do next. ErrorType is one of those in docs/errors.md.
func Failure(errorType, message, hint string) ToolResult {
	r := Answer(message, FailureEnvelope{IsError: true, ErrorType: errorType, Message: message, Hint: hint})
	r.IsError = true
	return r
}

// ErrorType returns the error type of a tool execution error, or "". Results other
// than those of [Failure] have one if they have a FailureType method.
func (r ToolResult) ErrorType() string {
	switch results := r.Results.(type) {
	case FailureEnvelope:
		return results.ErrorType
	case interface{ FailureType() string }:
		return results.FailureType()
	}
	return ""
}

// Redact takes secrets out of what callers see of e, and bounds its message.
func (e *Error) Redact(r *redact.Redactor) {
	if len(e.RawData) > maxRawData {
		e.RawData = json.RawMessage(`{"truncated":true}`)
	}
	e.Message, e.Hint, e.RawData = brief.Clip(r.Text(e.Message), MaxErrorText), r.Text(e.Hint), r.JSON(e.RawData)
	e.Data = r.Members(e.Data)
}

// AsResult returns the error as a result the model sees, for clients that hide
// protocol errors from it.
func (e *Error) AsResult() ToolResult {
	r := Failure(e.Code.Type(), e.Message, e.Hint)
	envelope := r.Results.(FailureEnvelope)
	envelope.Code = e.Code
	envelope.Data = e.Data
	r.Results = envelope
	return r
}

// PublicError returns err, of something with a name, as callers see it.
func PublicError(name string, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{
			Code: CodeExecutionFailed, Message: fmt.Sprintf("%s failed: %v", name, err), Err: err,
			Hint: "This is a fault of the tool, not of the arguments; try another way, or tell the operator.",
		}
	}
	seen := *e
	if seen.Tool == "" {
		seen.Tool = name
	}
	return &seen
}

// notFound is about a tool that is none of those the caller may call.
func notFound(name string, tools []*Tool, others map[string][]string) *Error {
	e := &Error{Code: CodeToolNotFound, Message: fmt.Sprintf("no tool %q", brief.Name(name)), Hint: "Use one of the tools that the server lists."}
	var names []string
	for _, t := range tools { // of a server whose tools are not known yet
		if server, ok := strings.CutSuffix(t.Name, "sign_in"); ok && strings.HasSuffix(server, "__") && strings.HasPrefix(name, server) {
			e.Message += "; its server requires a sign-in: call " + t.Name
			e.Hint = "Call " + t.Name + " first; then the tools of the server are listed."
			return e
		}
		names = append(names, t.Name)
	}
	near, known := nearest.Tool(name, names, others)
	switch {
	case near != nil:
		e.Hint = "Call " + strings.Join(near, " or ") + " instead, with its own arguments."
		for i, n := range near {
			near[i] += "(" + tools[slices.Index(names, n)].Input.Signature() + ")"
		}
		e.Message += "; did you mean " + strings.Join(near, " or ") + "?"
	case known:
		e.Message += "; no tool of this server does what other programs mean by it"
	}
	return e
}

// ResourceNotFound returns the error of a URI that leads nowhere, at least for
// this caller.
func ResourceNotFound(uri, message string) *Error {
	return &Error{Code: CodeResourceNotFound, Message: message, Data: map[string]any{"uri": uri},
		Hint: "Call resources/list and resources/templates/list for what there is."}
}

// InvalidArgument returns the error of arguments that satisfy the schema and that
// the tool rejects.
func InvalidArgument(tool, field, problem string) *Error {
	return InvalidArguments(tool, schema.Invalid(field, problem))
}

// InvalidArguments returns the error of arguments that a schema rejects, with the fields of a
// [schema.InvalidArguments].
func InvalidArguments(tool string, err error) *Error {
	e := &Error{
		Code: CodeInvalidParams, Message: tool + ": " + err.Error(), Err: err,
		Hint: "Correct the arguments named in the message and call " + tool + " again.",
	}
	if bad, ok := errors.AsType[*schema.InvalidArguments](err); ok {
		e.Data = map[string]any{"fields": bad.Fields}
	}
	return e
}

// ErrOperator is the cause of the context of a call that the operator of the server has canceled.
var ErrOperator = errors.New("canceled by the operator")

// typeOperator is the error type of such a call.
const typeOperator = "canceled_by_operator"

// Canceled returns the error of a call that its caller canceled, or the operator.
func Canceled(name string, ctx context.Context) *Error {
	e := &Error{Code: CodeExecutionFailed, Message: name + " was canceled", Err: context.Cause(ctx), Hint: "Call it again if its result is still wanted."}
	if e.Err == ErrOperator {
		e.Message, e.Hint = name+" was "+ErrOperator.Error(), "Do not call it again unless the user wants that; whether it had an effect is unknown."
	}
	return e
}

// Type returns the error type of the error.
func (e *Error) Type() string {
	if e.Err == ErrOperator {
		return typeOperator
	}
	return e.Code.Type()
}

// MaxErrorText bounds the message of an error.
const MaxErrorText = 16_000

// maxRawData bounds the data of an error of another server.
const maxRawData = 64 << 10
