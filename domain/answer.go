package domain

import "runtime/debug"

// finish answers with the outcome of the call, unless it was abandoned.
func (c *Call) finish(out outcome, err error) {
	if c.answered.CompareAndSwap(false, true) {
		c.answer(out, err)
	} else {
		c.exec.abandoned.Add(-1)
	}
}

// abandon answers for a handler that has not returned although its context has
// ended.
func (c *Call) abandon(err error) {
	if !c.answered.CompareAndSwap(false, true) {
		return
	}
	c.exec.abandoned.Add(1)
	c.Record.Abandoned = true
	defer func() { // nothing else recovers on a timer's goroutine
		if p := recover(); p != nil {
			c.done(outcome{}, c.clean(&panicError{p, debug.Stack()}))
		}
	}()
	c.answer(outcome{}, err)
}

// answer does everything that follows the work of a call. The outcome is redacted
// before it is bounded, so that no secret is kept in the store.
func (c *Call) answer(out outcome, err error) {
	if err == nil {
		out = c.catalog.redactor.outcome(out)
		out, err = c.bound(out)
	}
	var failed *Error
	if err != nil {
		out, c.Record.ResultBytes = outcome{}, 0
		if !isInputRequired(err) { // what it asks was redacted when it was asked
			failed = c.clean(err)
			err = failed
		}
	}
	if c.observed {
		for _, o := range c.exec.observers {
			if refused := o.End(c, err); refused != nil {
				failed = c.clean(refused)
				out, err, c.Record.ResultBytes = outcome{}, failed, 0
			}
		}
	}
	c.record(&out.Tool, failed, err)
	c.done(out, err)
}

// clean returns err as the caller sees it, without secrets.
func (c *Call) clean(err error) *Error {
	e := publicError(c.Name, err)
	c.catalog.redactor.error(e)
	return e
}
