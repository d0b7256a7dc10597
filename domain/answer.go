package domain

import "runtime/debug"

// finish answers with the outcome of the call, unless it was abandoned.
func (c *Call) finish(out outcome, err error) {
	if !c.answered.CompareAndSwap(false, true) {
		c.exec.abandoned.Add(-1)
		return
	}
	c.end(out, err)
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
	c.end(outcome{}, err)
}

// end does everything that follows the work of a call, and answers. The outcome
// is redacted before it is bounded, so that no secret is kept in the store.
func (c *Call) end(out outcome, err error) {
	if err == nil {
		out = c.catalog.redactor.outcome(out)
		out, err = c.bound(out)
	}
	if err != nil {
		out = outcome{}
		if !isInputRequired(err) { // redacted when it was asked
			err = c.clean(err)
		}
	}
	if c.observed {
		for _, o := range c.exec.observers {
			if refused := o.End(c, err); refused != nil {
				out, err = outcome{}, c.clean(refused)
			}
		}
	}
	c.record(&out, err)
	c.done(out, err)
}

// clean returns err as the caller sees it, without secrets.
func (c *Call) clean(err error) *Error {
	e := publicError(c.Name, err)
	c.catalog.redactor.error(e)
	return e
}
