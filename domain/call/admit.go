package call

import (
	"context"

	"github.com/toolserver/toolserver/domain"
)

// admit does everything that precedes the work of a call, and may refuse it.
// Refused calls count against the rate, and are recorded like others.
func (c *Call) admit(ctx context.Context) error {
	if err := c.exec.rates.count(c.owner(), c.Name, c.catalog.Settings.Limits.RatePerMinute, c.Record.Start); err != nil {
		return err
	}
	if c.broken != nil {
		return c.broken
	}
	if c.exec.Ready != nil {
		if err := c.exec.Ready(); err != nil {
			return &domain.Error{Code: domain.CodeExecutionFailed, Message: err.Error()}
		}
	}
	if err := c.find(c); err != nil {
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
		c.Raw, err = c.Tool.Input.Converted(c.Raw)
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
