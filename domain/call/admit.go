package call

import (
	"context"
	"encoding/json"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
)

// admit does everything that precedes the work of a call, and may refuse it.
// Refused calls count against the rate, and are recorded like others.
func (c *Call) admit(ctx context.Context) error {
	if err := c.exec.count(ctx, c.owner(), c.Name, c.catalog.Settings.Limits.RatePerMinute, c.Record.Start); err != nil {
		return err
	}
	if c.broken != nil {
		return c.broken
	}
	err := c.find(c)
	if err != nil && c.catalog.Unknown() != "" { // it may be one of those
		if c.client.WantsProgress() {
			c.client.Progress(Progress{Message: "Waiting: " + c.catalog.Unknown()})
		}
		c.registry.Look(ctx, domain.LookTime)
		c.registry.Release(c.catalog)
		c.catalog = c.registry.Acquire()
		if err = c.find(c); err != nil && c.catalog.Unknown() != "" {
			err = &domain.Error{Code: domain.CodeExecutionFailed, Message: c.Name + ": " + c.catalog.Unknown(), Hint: "Call it again later."}
		}
	}
	if err != nil {
		return err
	}
	if err := c.exec.permits(ctx, c); err != nil {
		return err
	}
	if err := c.takeSlots(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return domain.Canceled(c.Name, ctx)
	}
	if c.check == nil {
		return nil
	}
	return c.check(c)
}

// permits returns why the principal cannot make a call now: because of a limit of the client or of the tool, or of what the program says.
func (e *Executor) permits(ctx context.Context, c *Call) error {
	p, at := &c.Session.Principal, c.Record.Start
	if p.Client != "" {
		if err := e.count(ctx, "client\x00"+p.Client, "client "+brief.Name(p.Client), c.catalog.Settings.Limits.ClientRate, at); err != nil {
			return err
		}
	}
	if c.Tool != nil && c.Tool.RatePerMinute > 0 {
		if err := e.count(ctx, "tool\x00"+c.Tool.Name+"\x00"+p.ID, c.Name, c.Tool.RatePerMinute, at); err != nil {
			return err
		}
	}
	if e.Ready == nil {
		return nil
	}
	return e.Ready(*p, c.Tool)
}

// findTool finds the tool that the call names and makes it its work.
func (c *Call) findTool() error {
	tool, err := c.catalog.FindTool(c.Session.Principal, c.Name)
	if err != nil {
		return err
	}
	c.Tool, c.check, c.work = tool, (*Call).checkToolArguments, (*Call).runTool
	if tool.Timeout > 0 {
		c.limit = tool.Timeout
	}
	return nil
}

// checkToolArguments validates the arguments against the tool's schema, and fills in
// defaults. Those for another server are only converted: it knows what it accepts, which
// its schema may not say.
func (c *Call) checkToolArguments() error {
	var err error
	if c.Tool.RunRaw != nil {
		if c.Raw, err = c.Tool.Input.Converted(c.Raw); len(c.Tool.Target) > 0 {
			_ = json.Unmarshal(c.Raw, &c.args) // for the record
		}
	} else {
		c.args, err = c.Tool.Input.Arguments(c.Raw)
	}
	if err != nil {
		return domain.InvalidArguments(c.Tool.Name, err)
	}
	if c.outer == nil {
		c.Record.targets(c.Tool, c.args)
	}
	return nil
}
