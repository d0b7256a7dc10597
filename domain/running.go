package domain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// running is one call under way.
type running struct {
	exec     *Executor
	cmd      ExecuteToolCommand
	settings *Settings
	record   CallRecord
	done     func(ToolResult, error)
	answered atomic.Bool
	clock    clock
	whole    bool // the result is not cut
	promised int  // [Tool.MaxResultChars]
}

// errTimeUp is the cause of a context whose tool ran out of time.
var errTimeUp = errors.New("time limit")

// run runs the handler against the clock.
func (r *running) run(ctx context.Context, tool *Tool, args Arguments) {
	r.promised = tool.MaxResultChars
	limit := tool.Timeout
	if limit <= 0 {
		limit = r.settings.Limits.DefaultTimeout
	}
	ctx, cancel := context.WithCancelCause(callContext{ctx, r})
	defer cancel(nil)
	if limit > 0 {
		r.clock.start(limit, func() {
			cancel(errTimeUp)
			time.AfterFunc(r.settings.Limits.MaxAbandonGrace, func() { r.abandon(OutOfTime(tool.Name, limit, ToolResult{})) })
		})
		defer r.clock.stop()
	}
	res, err := r.handle(ctx, tool, args)
	timeUp := context.Cause(ctx) == errTimeUp
	switch {
	case timeUp && (err != nil || res.IsError):
		res, err = ToolResult{}, OutOfTime(tool.Name, limit, res)
	case err == nil:
		res, err = r.check(tool, res)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		res, err = ToolResult{}, r.canceled(ctx)
	}
	r.finish(res, err)
}

// abandon answers for a handler that has not returned although its context has
// ended.
func (r *running) abandon(err *Error) {
	if !r.answered.CompareAndSwap(false, true) {
		return
	}
	r.exec.abandoned.Add(1)
	r.record.Abandoned = true
	r.answer(ToolResult{}, err)
}

// canceled returns the error of a call whose caller gave up.
func (r *running) canceled(ctx context.Context) *Error {
	return &Error{Code: CodeExecutionFailed, Message: r.cmd.Tool + " was canceled", Err: context.Cause(ctx), Hint: "Call it again if its result is still wanted."}
}

// OutOfTime returns the error of a call that reached its tool's time limit, with
// what came of it until then. A tool that keeps its own time returns it.
func OutOfTime(tool string, limit time.Duration, partial ToolResult) *Error {
	e := &Error{
		Code: CodeTimeout, Message: fmt.Sprintf("%s ran out of time after %v", tool, limit),
		Hint: "Ask for less at a time, or ask the operator to raise tools." + tool + ".timeout.",
		Data: map[string]any{"timeout_s": limit.Seconds()},
	}
	if text := partialText(partial); text != "" {
		e.Message += "; output until then:\n" + text
		e.Data["partial_output"] = text
	}
	return e
}

// maxPartial bounds the output an error carries.
const maxPartial = 8_000

func partialText(r ToolResult) string {
	for _, c := range r.Content {
		if c.Type == TextContent && c.Text != "" {
			return clip(c.Text, maxPartial)
		}
	}
	return ""
}

// handle runs the handler and makes an error of its panic. A handler that ends
// its goroutine is answered for here: nothing after it runs.
func (r *running) handle(ctx context.Context, tool *Tool, args Arguments) (res ToolResult, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		} else {
			r.finish(ToolResult{}, errors.New("the handler ended its goroutine"))
		}
	}()
	res, err = tool.Run(ctx, args)
	returned = true
	return res, err
}

// panicError is a handler's panic, with its stack for the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Stack returns where the handler panicked, or "" if it did not.
func (r *CallRecord) Stack() string {
	if p, ok := errors.AsType[*panicError](r.Err); ok {
		return string(p.stack)
	}
	return ""
}

// check holds a result to what the tool promised.
func (r *running) check(tool *Tool, res ToolResult) (ToolResult, error) {
	for i := range res.Artifacts {
		if err := res.Artifacts[i].check(); err != nil {
			return res, err
		}
	}
	if s := tool.Output; s != nil && !s.derived && !res.IsError {
		if err := s.Check(res.Structured()); err != nil {
			return res, err
		}
	}
	return res, nil
}

// finish makes an outcome fit for the caller, and answers with it unless
// somebody has.
func (r *running) finish(res ToolResult, err error) {
	if !r.answered.CompareAndSwap(false, true) {
		r.exec.abandoned.Add(-1)
		return
	}
	if err == nil {
		res = r.exec.redact.Load().result(res)
	}
	if err == nil && !r.whole {
		res, err = bound(res, r.cmd.Tool, r.cmd.Session.Principal, r.exec.Results, r.settings.Limits.ResultChars(r.promised))
	}
	r.answer(res, err)
}

// finishBusy answers a call whose turn did not come.
func (r *running) finishBusy(ctx context.Context, err error) {
	if rate, ok := errors.AsType[*rateError](err); ok {
		r.finish(Failure("rate_limited", r.cmd.Tool+": "+rate.Error(), "Wait, then call it again."), nil)
		return
	}
	if errors.Is(err, errBusy) {
		r.finish(Failure("busy", r.cmd.Tool+": the server is busy with other calls", "Call it again a little later."), nil)
		return
	}
	r.finish(ToolResult{}, r.canceled(ctx))
}

// answer reports and records the outcome.
func (r *running) answer(res ToolResult, err error) {
	rec := &r.record
	rec.Duration = time.Since(rec.Start)
	_, asks := errors.AsType[*InputRequired](err)
	switch {
	case asks:
		rec.Outcome = "input_required"
	case err != nil:
		e := r.publicError(err)
		rec.Outcome, rec.Code, rec.ErrorType, rec.Err = "error", e.Code, e.Code.Type(), err
		res, err = ToolResult{}, e
	case res.IsError:
		rec.Outcome, rec.ErrorType = "tool_error", res.ErrorType()
	default:
		rec.Outcome = "ok"
	}
	rec.ResultBytes = res.TextLen()
	r.exec.record(rec)
	r.done(res, err)
}

// publicError returns err as the caller sees it.
func (r *running) publicError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{
			Code: CodeExecutionFailed, Message: fmt.Sprintf("%s broke: %v", r.cmd.Tool, err), Err: err,
			Hint: "This is a fault of the tool, not of the arguments; try another way, or tell the operator.",
		}
	}
	seen := *e
	seen.Tool = r.cmd.Tool
	seen.Message = r.exec.redact.Load().text(clip(seen.Message, 2*maxPartial))
	return &seen
}
