package runner

import (
	"context"
	"fmt"
)

// Text returns what was kept, with a mark where the middle was cut.
func (o *Output) Text() string {
	head, cut, tail := o.Parts(o.limits.Inline)
	if cut.Bytes == 0 {
		return head
	}
	return fmt.Sprintf("%s[... %d bytes, %d lines left out ...]%s", head, cut.Bytes, cut.Lines, tail)
}

// RunAt is [Runner.Run] that calls started when the command has started.
func (r *Runner) RunAt(ctx context.Context, req Request, started func()) (Result, error) {
	c, err := r.begin(&req)
	if err != nil {
		return Result{}, err
	}
	defer r.calls.Done()
	c.spec.OnStart = started
	return c.run(ctx)
}
