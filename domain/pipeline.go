package domain

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A stage is what the executor does around every call. Stages begin in the order
// of the pipeline; the first whose begin fails refuses the call. Those that have
// begun end in the opposite order before the caller is answered, and may change
// the answer.
type stage struct {
	begin func(*Call, context.Context) error
	end   func(*Call, Outcome, error) (Outcome, error)
}

// pipeline is what surrounds the work of every call, of whatever kind. What
// leaves the server is redacted before it is bounded, so that nothing is kept
// that must not be seen. Refused calls count against the rate and are recorded
// like others.
var pipeline = [...]stage{
	{end: (*Call).record},
	{begin: (*Call).observe, end: (*Call).observed},
	{end: (*Call).bound},
	{end: (*Call).redact},
	{begin: (*Call).countRate},
	{begin: (*Call).authorize},
	{begin: (*Call).takeSlots},
	{begin: (*Call).checkArguments},
}

// An Observer takes part in every call from its begin to its end, such as an
// audit log or metrics.
type Observer interface {
	// Begin is called before anything else is done for a call. An error refuses
	// it; an [*Error] keeps its code.
	Begin(ctx context.Context, c *Call) error
	// End is called before the caller is answered, with the error that came of
	// the call, if any. An error it returns is answered instead.
	End(c *Call, err error) error
}

func (c *Call) observe(ctx context.Context) error {
	for i, o := range c.exec.observers {
		if err := o.Begin(ctx, c); err != nil {
			for _, begun := range c.exec.observers[:i] {
				_ = begun.End(c, err) // the call is refused already
			}
			return c.clean(err)
		}
	}
	return nil
}

func (c *Call) observed(out Outcome, err error) (Outcome, error) {
	for _, o := range c.exec.observers {
		if refused := o.End(c, err); refused != nil {
			out, err = Outcome{}, c.clean(refused)
		}
	}
	return out, err
}

// authorize finds what is asked for, if the principal may know of it.
func (c *Call) authorize(context.Context) error {
	if c.find == nil {
		return c.findTool(c.Name)
	}
	return c.find(c)
}

// checkArguments holds the arguments to what is asked for.
func (c *Call) checkArguments(ctx context.Context) error {
	if ctx.Err() != nil {
		return c.canceled(ctx)
	}
	switch {
	case c.validate != nil:
		return c.validate(c)
	case c.Tool != nil:
		return c.checkToolArguments()
	}
	return nil
}

// redact takes secrets out of what leaves the server.
func (c *Call) redact(out Outcome, err error) (Outcome, error) {
	switch {
	case err == nil:
		return c.catalog.redactor.outcome(out), nil
	case isInputRequired(err):
		return Outcome{}, err // redacted when it was asked
	}
	return Outcome{}, c.clean(err)
}

// clean returns err as the caller sees it, without secrets.
func (c *Call) clean(err error) *Error { return c.catalog.redactor.error(c.publicError(err)) }

// bound keeps what is too long for one answer, of a tool, and refuses what
// cannot be cut.
func (c *Call) bound(out Outcome, err error) (Outcome, error) {
	if err != nil {
		return out, err
	}
	if c.Tool != nil {
		out.Tool, err = c.boundResult(out.Tool)
	}
	if n := out.textLen() + out.Tool.dataLen(); err == nil && n > MaxOutcomeBytes {
		err = Errorf(CodeExecutionFailed, "%s: the answer has %s bytes; at most %s are allowed", c.Name, Thousands(n), Thousands(MaxOutcomeBytes))
	}
	if err != nil {
		return Outcome{}, c.clean(err)
	}
	return out, nil
}

// MaxOutcomeBytes bounds what one answer holds, pictures and documents included.
const MaxOutcomeBytes = 32 << 20

// publicError returns err as the caller sees it.
func (c *Call) publicError(err error) *Error { return publicError(c.Name, err) }

// publicError returns err, of something with a name, as callers see it.
func publicError(name string, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{
			Code: CodeExecutionFailed, Message: fmt.Sprintf("%s broke: %v", name, err), Err: err,
			Hint: "This is a fault of the tool, not of the arguments; try another way, or tell the operator.",
		}
	}
	seen := *e
	if seen.Tool == "" {
		seen.Tool = name
	}
	return &seen
}

// CallRecord describes one finished call, for the log. It holds neither
// arguments nor results.
type CallRecord struct {
	ID          string
	Tool        string   // or "prompt x", "resource x"
	Nested      []string // tools that the tool has called within its own call
	Principal   string   // its ID
	Session     string
	Start       time.Time
	Duration    time.Duration
	Outcome     string // ok, tool_error, error or input_required
	ErrorType   string // of an outcome that is not ok
	Code        Code   // of an outcome that is error
	Err         error  // the same, with its causes; secrets are redacted from its message only
	ArgsBytes   int
	ResultBytes int
	Abandoned   bool // the handler had not returned when its caller was answered
}

// Stack returns where the handler panicked, or "" if it did not.
func (r *CallRecord) Stack() string {
	if p, ok := errors.AsType[*panicError](r.Err); ok {
		return string(p.stack)
	}
	return ""
}

// record completes the record of the call and hands it to whoever keeps it.
func (c *Call) record(out Outcome, err error) (Outcome, error) {
	rec := &c.Record
	rec.Duration = time.Since(rec.Start)
	rec.Nested = c.nestedNames()
	switch {
	case isInputRequired(err):
		rec.Outcome = "input_required"
	case err != nil:
		e := c.publicError(err)
		rec.Outcome, rec.Code, rec.ErrorType, rec.Err = "error", e.Code, e.Code.Type(), e
	case out.Tool.IsError:
		rec.Outcome, rec.ErrorType = "tool_error", out.Tool.ErrorType()
	default:
		rec.Outcome = "ok"
	}
	rec.ResultBytes = out.textLen()
	c.exec.keep(rec)
	return out, err
}
