package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// errGoexit is the error of a handler that ended its goroutine.
var errGoexit = errors.New("the handler ended its goroutine")

// run does the work within the time limit.
func (c *Call) run(ctx context.Context) (outcome, error) {
	cancel := c.cancel
	if cancel == nil {
		ctx, cancel = context.WithCancelCause(ctx)
	}
	defer cancel(nil)
	c.context = callContext{ctx, c} // around it, since a context made of one of package context costs less
	ctx = &c.context
	if c.limit > 0 {
		c.clock.start(&c.exec.timers, c.limit, func() {
			own, longer := c.Tool != nil && c.Tool.Timeout > 0, c.catalog.Settings.Limits.TaskTimeout
			if !own && (longer == 0 || longer > c.limit) && c.client.Detach("") && c.clock.prolong(c.limit, longer) {
				return // it is a task, whose client does not wait
			}
			cancel(errTimeout)
			if c.outer == nil {
				time.AfterFunc(c.catalog.Settings.Limits.MaxAbandonGrace, func() { c.abandon(c.overrun().failure()) })
			}
		})
		defer c.clock.stop()
	}
	out, err := c.recovered(ctx)
	switch cause := context.Cause(ctx); {
	case cause == domain.ErrOperator && (err != nil || out.Tool.IsError):
		return outcome{}, domain.Canceled(c.Name, ctx)
	case cause == errTimeout && (err != nil || out.Tool.IsError):
		if c.Tool == nil || out.Tool.SaysNothing() {
			return outcome{}, c.overrun().failure()
		}
		return outcome{Tool: c.overrun().partial(out.Tool, c.root().marks.clip)}, nil
	case err == nil && c.Tool != nil:
		return out, checkResult(&out.Tool)
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return outcome{}, domain.Canceled(c.Name, ctx)
	}
	return out, err
}

// recovered does the work and makes an error of its panic. A handler that ends
// its goroutine is answered for here: nothing after it runs.
func (c *Call) recovered(ctx context.Context) (out outcome, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		} else {
			c.root().finish(outcome{}, errGoexit)
		}
	}()
	out, err = c.work(c, ctx)
	returned = true
	return out, err
}

// panicError is a handler's panic, with its stack for the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// runTool runs the handler of a tool, after the user has agreed if the tool asks
// for confirmation.
func (c *Call) runTool(ctx context.Context) (out outcome, err error) {
	dry := c.args["dryRun"] == true || c.args["dry_run"] == true
	if (c.Tool.Confirm || needsSecond(c)) && !(dry && c.Tool.RunRaw == nil) { // a dry run of this server's own tools does nothing
		refusal, err := c.confirm(ctx)
		if err != nil {
			return out, err
		}
		if refusal != nil {
			return outcome{Tool: *refusal}, nil
		}
	}
	if c.outer == nil && c.exec.Begun != nil && c.Tool.HasEffects() {
		if err := c.exec.Begun(&c.Record); err != nil {
			return out, &domain.Error{Code: domain.CodeExecutionFailed, Message: err.Error()}
		}
	}
	out.Tool, err = c.lifting(ctx, func(ctx context.Context) (domain.ToolResult, error) {
		if c.Tool.RunRaw != nil {
			r, err := c.Tool.RunRaw(ctx, c.Raw)
			r.From = c.Tool
			return r, err
		}
		return c.Tool.Run(ctx, c.args)
	})
	return out, err
}

// confirm asks the user to agree to the call. The refusal is what the call is
// answered with if they do not.
func (c *Call) confirm(ctx context.Context) (refusal *domain.ToolResult, err error) {
	if !CanConsult(ctx) {
		setting := "tools." + cmp.Or(c.Tool.Offered, c.Name) + ".confirm"
		unable := cannotAsk(AskElicitation, c.Name+" was not run: a person has to agree to each call of it ("+setting+"), and there is nobody to ask: "+
			"the client does not declare elicitation or, on the command line, there is no terminal")
		unable.Hint = "Use a client that supports elicitation or a terminal, or another tool; " +
			"the operator can set " + setting + ": false, or approvals.enabled: true."
		return nil, unable
	}
	q := question{Call: c, about: "confirm"}
	_, refusal, err = q.allowed(ctx, "confirm "+c.Name)
	return refusal, err
}

// maxArtifactBytes bounds the data of one artifact.
const maxArtifactBytes = 16 << 20

// checkResult checks what the tool promises of its results.
func checkResult(r *domain.ToolResult) error {
	for _, a := range r.Artifacts {
		_, _, err := mime.ParseMediaType(a.MIME)
		switch {
		case a.Name == "" || a.Name == "." || a.Name == ".." || path.Base(a.Name) != a.Name || strings.ContainsAny(a.Name, "\\\x00"):
			return fmt.Errorf("artifact name %q is not a base name", a.Name)
		case err != nil || !strings.Contains(a.MIME, "/"):
			return fmt.Errorf("artifact %s: %q is not a media type", a.Name, a.MIME)
		case len(a.Data) > maxArtifactBytes:
			return fmt.Errorf("artifact %s has %d bytes; at most %d are allowed", a.Name, len(a.Data), maxArtifactBytes)
		}
	}
	return nil
}
