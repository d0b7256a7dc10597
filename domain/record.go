package domain

import (
	"errors"
	"time"
)

// CallRecord describes one finished call, for the log. It holds neither
// arguments nor results.
type CallRecord struct {
	ID          string
	Tool        string // or "prompt x", "resource x"
	Principal   string // its ID
	Session     string
	Start       time.Time
	Duration    time.Duration
	Outcome     string // ok, tool_error, error or input_required
	ErrorType   string // of an outcome that is not ok
	Code        Code   // of an outcome that is error
	Err         error  // the same, with its causes; secrets are redacted from its message only
	ArgsBytes   int
	ResultBytes int
	Asked       []Asked // what a person was asked
	Abandoned   bool    // the handler had not returned when its caller was answered
}

// Stack returns where the handler panicked, or "" if it did not.
func (r *CallRecord) Stack() string {
	if p, ok := errors.AsType[*panicError](r.Err); ok {
		return string(p.stack)
	}
	return ""
}

// record completes the record of the call and hands it over.
func (c *Call) record(result *ToolResult, failed *Error, err error) {
	rec := &c.Record
	rec.Duration = time.Since(rec.Start)
	switch {
	case failed != nil:
		rec.Outcome, rec.Code, rec.ErrorType, rec.Err = "error", failed.Code, failed.Code.Type(), failed
	case err != nil:
		rec.Outcome = "input_required"
	case result.IsError:
		rec.Outcome, rec.ErrorType = "tool_error", result.ErrorType()
	default:
		rec.Outcome = "ok"
	}
	c.exec.keep(rec)
}
