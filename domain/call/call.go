// Package call runs what callers ask for: a tool, a resource, a prompt or a completion. Every
// such request is a [Call] that goes through the stages of the [Executor], and handlers reach
// their call through the context.
package call

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
)

// Call is one request on its way through the executor: of a tool, a resource, a
// prompt or a completion. It is admitted (admit.go), does its work (run.go) and
// is answered (answer.go) with an outcome that is redacted (redact), bounded
// (bound.go) and recorded (record.go).
type Call struct {
	Method  string // of MCP, such as tools/call
	Name    string // for messages and the log: the tool's name, "prompt x"
	Session domain.Session
	Tool    *domain.Tool    // nil if it is not a tool, or not found yet
	Raw     json.RawMessage // arguments of a tool, as they came
	Record  Record

	exec     *Executor
	registry *domain.Registry
	catalog  *domain.Catalog
	base     *domain.Catalog // that of all, if the registry is another one, which has what that offers, too; else nil
	client   Client
	broken   error // why the registry could not be had

	find  func(*Call) error                             // finds the item, if the principal may use it, and sets
	check func(*Call) error                             // what validates the arguments, nil for nothing,
	work  func(*Call, context.Context) (outcome, error) // and what does the work
	done  func(outcome, error)

	context   callContext             // of its handler; here, so that it takes no memory of its own
	cancel    context.CancelCauseFunc // see [ExecuteToolCommand]
	args      domain.Arguments        // of a tool, once they are checked
	held      held
	answered  atomic.Bool
	clock     clock
	limit     time.Duration // of the clock; 0 for none
	unasked   bool          // nobody can be asked after all
	agreed    []Asked       // what of it policy refused until a person agreed
	previewed string        // the [Tool.Preview] that a person was asked about
	outer     *Call         // of a call that a tool makes within its own
	marks     marks
}

// outcome is the answer to a request that did not fail. What is set depends on
// the kind of the request.
type outcome struct {
	Tool        domain.ToolResult   // of a tool; of a resource, its document as content
	Prompt      domain.PromptResult // of a prompt
	Completions domain.Completions
}

// start takes a call from begin to end. It returns with the work, while done is
// called as soon as there is an answer.
func (c *Call) start(ctx context.Context) {
	defer func() {
		c.held.give(c.owner())
		c.registry.Release(c.catalog) // its sources may be closed from now on
		if c.base != nil {
			c.exec.Registry.Release(c.base)
		}
	}()
	var out outcome
	err := c.admit(ctx)
	if err == nil {
		out, err = c.run(ctx)
	}
	c.finish(out, err)
}

// owner returns the ID of the principal, which the limits go by.
func (c *Call) owner() string { return c.Session.Principal.ID }

// name names the call after the item that was found.
func (c *Call) name(name string) { c.Name, c.Record.Tool = name, name }

// maxNested is how deep calls within calls may go.
const maxNested = 4

// CallTool runs another tool within the call that ctx belongs to, for the same
// principal and under the same policy: what that principal may not call is not
// found. It shares the outer call's slot, clock, client and record; what limits
// the inner tool itself, its own time and its own slots, holds too, except that
// it does not wait for a slot. The result is neither redacted nor bounded, since
// the outer one will be. The error is an [*Error], or an [*InputRequired] that is
// to be returned as it is.
func CallTool(ctx context.Context, name string, args json.RawMessage) (domain.ToolResult, error) {
	outer := callOf(ctx)
	if outer.exec == nil {
		return domain.ToolResult{}, domain.Errorf(domain.CodeInternal, "%s is called outside any call", brief.Name(name))
	}
	c := &Call{
		Method: outer.Method, Name: brief.Name(name), Session: outer.Session, Raw: args,
		exec: outer.exec, registry: outer.registry, catalog: outer.catalog, client: outer.client, outer: outer,
	}
	out, err := c.within(ctx)
	if err != nil && !isInputRequired(err) {
		err = domain.PublicError(c.Name, err)
	}
	return out.Tool, err
}

// Permits reports whether the caller of the call that ctx belongs to may call a tool, and policy allows it with args.
func Permits(ctx context.Context, name string, args domain.Arguments) bool {
	c := callOf(ctx)
	t, err := c.catalog.FindTool(c.Session.Principal, name)
	if err != nil || t.Explain == nil {
		return err == nil
	}
	e, err := t.Explain(ctx, args)
	return err == nil && e.Allowed && e.Stopped == ""
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
		return outcome{}, domain.Errorf(domain.CodeExecutionFailed, "%s: calls within calls are nested more than %d deep", c.Name, maxNested)
	}
	if _, pool := c.exec.slots.of(c); pool != nil && !holdsSlot {
		if !pool.TryAcquire(c.owner(), 1) {
			return outcome{}, &domain.Error{Code: domain.CodeBusy, Message: c.Name + ": its limit of concurrent calls is reached", Hint: "Call it again a little later."}
		}
		defer pool.Release(c.owner(), 1)
	}
	if err := c.check(c); err != nil {
		return outcome{}, err
	}
	return c.run(ctx)
}
