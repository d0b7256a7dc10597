package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// maxNested is how deep calls within calls may go.
const maxNested = 4

// nested is what the calls that a tool makes within its own call share.
type nested struct {
	mu    sync.Mutex
	names []string // for the record of the outermost call
}

// CallTool runs another tool within the call that ctx belongs to, for the same
// principal and under the same policy: what that principal may not call is not
// found. It shares the outer call's slot, clock, client and record; what limits
// the inner tool itself, its own time and its own slots, holds too, except that
// it does not wait for a slot. The result is neither redacted nor bounded, since
// the outer one will be. The error is an [*Error], or an [*InputRequired] that is
// to be returned as it is.
func CallTool(ctx context.Context, name string, args json.RawMessage) (ToolResult, error) {
	outer := callOf(ctx)
	if outer == nil {
		return ToolResult{}, Errorf(CodeInternal, "%s is called outside any call", ClipName(name))
	}
	depth := 1
	for at := outer; at.outer != nil; at = at.outer {
		depth++
	}
	c := &Call{
		Method: outer.Method, Name: ClipName(name), Session: outer.Session, Raw: args, exec: outer.exec, catalog: outer.catalog,
		client: outer.client, outer: outer,
	}
	if depth > maxNested {
		return ToolResult{}, Errorf(CodeExecutionFailed, "%s: calls within calls are nested more than %d deep", c.Name, maxNested)
	}
	out, err := c.within(ctx, name)
	if err != nil && !isInputRequired(err) {
		err = c.publicError(err)
	}
	return out.Tool, err
}

// within runs the call within the one it belongs to.
func (c *Call) within(ctx context.Context, name string) (Outcome, error) {
	if err := c.findTool(name); err != nil {
		return Outcome{}, err
	}
	root := c.root()
	root.nested.mu.Lock()
	if !slices.Contains(root.nested.names, c.Name) {
		root.nested.names = append(root.nested.names, c.Name)
	}
	root.nested.mu.Unlock()
	if pool := c.exec.slots.of(c.Tool); pool != nil && !c.holdsSlotOf(c.Tool) {
		if !pool.TryAcquire(c.owner(), 1) {
			return Outcome{}, &Error{Code: CodeBusy, Message: c.Name + ": all calls of it that may run at a time are running", Hint: "Call it again a little later."}
		}
		defer pool.Release(c.owner(), 1)
	}
	if err := c.checkToolArguments(); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancelCause(callContext{ctx, c})
	defer cancel(nil)
	if c.Tool.Timeout > 0 {
		c.clock.start(c.limit, func() { cancel(errTimeUp) })
		defer c.clock.stop()
	}
	out, err := c.recovered(ctx)
	return c.settled(ctx, out, err)
}

// holdsSlotOf reports whether a call around this one is of the same tool, and so
// holds a slot of it.
func (c *Call) holdsSlotOf(tool *Tool) bool {
	for at := c.outer; at != nil; at = at.outer {
		if at.Tool == tool {
			return true
		}
	}
	return false
}

// root returns the outermost call.
func (c *Call) root() *Call {
	for c.outer != nil {
		c = c.outer
	}
	return c
}

// pauseClocks stops the time of the call and of those around it.
func (c *Call) pauseClocks() {
	for at := c; at != nil; at = at.outer {
		at.clock.pause()
	}
}

func (c *Call) resumeClocks() {
	for at := c; at != nil; at = at.outer {
		at.clock.resume()
	}
}

// nestedNames returns the tools that were called within the call.
func (c *Call) nestedNames() []string {
	c.nested.mu.Lock()
	defer c.nested.mu.Unlock()
	return slices.Clone(c.nested.names)
}

// errGoexit says that a handler ended its goroutine instead of returning.
var errGoexit = fmt.Errorf("the handler ended its goroutine")
