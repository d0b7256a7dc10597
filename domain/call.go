package domain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"toolserver/share"
)

// Call is one request on its way through the executor: of a tool, a resource, a
// prompt or a completion.
type Call struct {
	Method  string // of MCP, such as tools/call
	Name    string // what messages and the log call it: the tool's name, "prompt x"
	Session Session
	Tool    *Tool           // nil if it is not a tool, or not found yet
	Raw     json.RawMessage // arguments of a tool, as they came
	Record  CallRecord

	exec     *Executor
	catalog  *Catalog
	client   Client
	find     func(*Call) error                      // of anything but a tool: what finds it, if the principal may know of it,
	validate func(*Call) error                      // what checks the arguments, if there is something to check,
	work     func(context.Context) (Outcome, error) // and what does it
	done     func(Outcome, error)
	doneTool func(ToolResult, error) // of a tool, in place of done

	args      Arguments   // of a tool, once they are checked
	toolSlots *share.Pool // where a slot is held, besides the principal's
	slots     bool        // slots are held, until the work has returned
	begun     int8        // stages of the pipeline that have begun
	answered  atomic.Bool
	clock     clock
	limit     time.Duration // of the clock; 0 for none
	outer     *Call         // of a call that a tool makes within its own
	nested    nested
}

// errTimeUp is the cause of a context whose call ran out of time.
var errTimeUp = errors.New("time limit")

// start takes a call through the pipeline. It returns with the work, while done
// is called as soon as there is something to answer.
func (c *Call) start(ctx context.Context) {
	defer c.leave()
	for i := range pipeline {
		if begin := pipeline[i].begin; begin != nil {
			if err := begin(c, ctx); err != nil {
				c.finish(Outcome{}, err)
				return
			}
		}
		c.begun = int8(i + 1)
	}
	c.run(ctx)
}

// leave gives back what the call has taken. The catalog it began with may be
// closed from now on.
func (c *Call) leave() {
	if c.slots {
		c.exec.slots.release(c)
	}
	c.exec.Registry.release(c.catalog)
}

// run does the work against the clock.
func (c *Call) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(callContext{ctx, c})
	defer cancel(nil)
	if c.limit > 0 {
		c.clock.start(c.limit, func() {
			cancel(errTimeUp)
			time.AfterFunc(c.catalog.Settings.Limits.MaxAbandonGrace, func() { c.abandon(OutOfTime(c.Name, c.limit, ToolResult{})) })
		})
		defer c.clock.stop()
	}
	out, err := c.recovered(ctx)
	c.finish(c.settled(ctx, out, err))
}

// settled says what the return of the work means, given what has become of its
// context.
func (c *Call) settled(ctx context.Context, out Outcome, err error) (Outcome, error) {
	switch timeUp := context.Cause(ctx) == errTimeUp; {
	case timeUp && (err != nil || out.Tool.IsError):
		return Outcome{}, OutOfTime(c.Name, c.limit, out.Tool)
	case err == nil && c.Tool != nil:
		return out, c.Tool.checkResult(&out.Tool)
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Outcome{}, c.canceled(ctx)
	}
	return out, err
}

// recovered does the work and makes an error of its panic. A handler that ends
// its goroutine is answered for here: nothing after it runs.
func (c *Call) recovered(ctx context.Context) (out Outcome, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		} else {
			c.root().finish(Outcome{}, errGoexit)
		}
	}()
	if c.work == nil {
		out.Tool, err = c.runTool(ctx)
	} else {
		out, err = c.work(ctx)
	}
	returned = true
	return out, err
}

// panicError is a handler's panic, with its stack for the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// abandon answers for a handler that has not returned although its context has
// ended.
func (c *Call) abandon(err *Error) {
	if !c.answered.CompareAndSwap(false, true) {
		return
	}
	c.exec.abandoned.Add(1)
	c.Record.Abandoned = true
	defer func() { // nobody else would, on a timer's goroutine
		if p := recover(); p != nil {
			c.answer(Outcome{}, c.clean(&panicError{p, debug.Stack()}))
		}
	}()
	c.end(Outcome{}, err)
}

// finish answers with what came of the call, unless somebody has.
func (c *Call) finish(out Outcome, err error) {
	if !c.answered.CompareAndSwap(false, true) {
		c.exec.abandoned.Add(-1)
		return
	}
	c.end(out, err)
}

// end takes what came of the call back through the stages that have begun, and
// answers.
func (c *Call) end(out Outcome, err error) {
	for i := c.begun - 1; i >= 0; i-- {
		if end := pipeline[i].end; end != nil {
			out, err = end(c, out, err)
		}
	}
	c.answer(out, err)
}

func (c *Call) answer(out Outcome, err error) {
	if c.doneTool != nil {
		c.doneTool(out.Tool, err)
		return
	}
	c.done(out, err)
}

// canceled returns the error of a call whose caller gave up.
func (c *Call) canceled(ctx context.Context) *Error {
	return &Error{Code: CodeExecutionFailed, Message: c.Name + " was canceled", Err: context.Cause(ctx), Hint: "Call it again if its result is still wanted."}
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

// callContext is the context of a call in flight. It leads what a handler asks
// of its context to the call.
type callContext struct {
	context.Context
	call *Call
}

type callKey struct{}

func (c callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// SessionOf returns the session of the call that ctx belongs to.
func SessionOf(ctx context.Context) Session {
	if c := callOf(ctx); c != nil {
		return c.Session
	}
	return Session{}
}
