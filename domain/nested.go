package domain

import (
	"context"
	"encoding/json"
)

// maxNested is how deep calls within calls may go.
const maxNested = 4

// CallTool runs another tool within the call that ctx belongs to, for the same
// principal and under the same policy: what that principal may not call is not
// found. It shares the outer call's slot, clock, client and record; what limits
// the inner tool itself, its own time and its own slots, holds too, except that
// it does not wait for a slot. The result is neither redacted nor bounded, since
// the outer one will be. The error is an [*Error], or an [*InputRequired] that is
// to be returned as it is.
func CallTool(ctx context.Context, name string, args json.RawMessage) (ToolResult, error) {
	outer := callOf(ctx)
	if outer.exec == nil {
		return ToolResult{}, Errorf(CodeInternal, "%s is called outside any call", ClipName(name))
	}
	c := &Call{
		Method: outer.Method, Name: ClipName(name), Session: outer.Session, Raw: args,
		exec: outer.exec, catalog: outer.catalog, client: outer.client, outer: outer,
	}
	out, err := c.within(ctx)
	if err != nil && !isInputRequired(err) {
		err = publicError(c.Name, err)
	}
	return out.Tool, err
}

// within runs the call within the one it belongs to.
func (c *Call) within(ctx context.Context) (outcome, error) {
	if err := c.findTool(); err != nil {
		return outcome{}, err
	}
	depth, holdsSlot := 0, false // a call of the same tool holds a slot already
	for at := c.outer; at != nil; at = at.outer {
		depth++
		holdsSlot = holdsSlot || at.Tool == c.Tool
	}
	if depth > maxNested {
		return outcome{}, Errorf(CodeExecutionFailed, "%s: calls within calls are nested more than %d deep", c.Name, maxNested)
	}
	if pool := c.exec.slots.of(c.Tool); pool != nil && !holdsSlot {
		if !pool.TryAcquire(c.owner(), 1) {
			return outcome{}, &Error{Code: CodeBusy, Message: c.Name + ": its limit of concurrent calls is reached", Hint: "Call it again a little later."}
		}
		defer pool.Release(c.owner(), 1)
	}
	if err := c.check(c); err != nil {
		return outcome{}, err
	}
	return c.run(ctx)
}
