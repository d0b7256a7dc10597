package call

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
)

// slots limits concurrent calls, by principal and by tool. A profile may have other limits than all have.
type slots struct {
	mu         sync.Mutex
	principals map[int]*share.Pool // by how many calls each of its principals may make
	tools      map[toolLimit]*share.Pool
}

// toolLimit is how many calls there may be of a tool.
type toolLimit struct {
	tool string
	most int
}

// forget forgets limits that nobody uses now, and that may not be in force any more.
func (s *slots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := func(p *share.Pool) bool { return p.InUse() == 0 }
	maps.DeleteFunc(s.principals, func(_ int, p *share.Pool) bool { return idle(p) })
	maps.DeleteFunc(s.tools, func(_ toolLimit, p *share.Pool) bool { return idle(p) })
}

// of returns the slots of a call's principal, and those of its tool, nil if they are not limited.
func (s *slots) of(c *Call) (principal, tool *share.Pool) {
	l := &c.catalog.Settings.Limits
	s.mu.Lock()
	defer s.mu.Unlock()
	if principal = s.principals[l.PerPrincipal]; principal == nil {
		principal = share.NewPool(0, int64(l.PerPrincipal))
		s.principals[l.PerPrincipal] = principal
	}
	if l.PerTool <= 0 || c.Tool == nil {
		return principal, nil
	}
	key := toolLimit{c.Tool.Name, l.PerTool}
	if tool = s.tools[key]; tool == nil {
		tool = share.NewQueue(int64(l.PerTool))
		s.tools[key] = tool
	}
	return principal, tool
}

// errBusy is the cause of a context whose call waited too long for a slot.
var errBusy = errors.New("busy")

// takeSlots waits until the limits allow the call to run. It waits for the slot
// of the principal or of the tool without holding the other, so that no call
// that waits keeps another from running.
func (c *Call) takeSlots(ctx context.Context) error {
	first, second := c.exec.slots.of(c)
	taken := [2]*share.Pool{first, second}
	if first.TryAcquire(c.owner(), 1) {
		if second == nil || second.TryAcquire(c.owner(), 1) {
			c.held.pools = taken
			return nil
		}
		first.Release(c.owner(), 1)
	}
	wait := c.catalog.Settings.Limits.QueueWait
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errBusy)
	defer cancel()
	defer func(since time.Time) { c.Record.Waited += time.Since(since) }(time.Now())
	for {
		switch err := first.Acquire(waiting, c.owner(), 1); {
		case errors.Is(err, errBusy):
			return &domain.Error{Code: domain.CodeBusy, Message: c.Name + ": the server is busy with other calls", Hint: "Call it again a little later.",
				Data: map[string]any{"waited_s": wait.Seconds()}}
		case err != nil:
			return domain.Canceled(c.Name, ctx)
		case second == nil || second.TryAcquire(c.owner(), 1):
			c.held.pools = taken
			return nil
		}
		first.Release(c.owner(), 1)
		first, second = second, first
	}
}

// retakeSlots undoes that they were given back. It may have to wait, as a new call does.
func (c *Call) retakeSlots(ctx context.Context) error {
	c.held.mu.Lock()
	defer c.held.mu.Unlock()
	if c.held.given--; c.held.given > 0 || c.exec == nil {
		return nil
	}
	return c.takeSlots(ctx)
}

// held are the slots that a call has: of its principal and of its tool.
type held struct {
	mu    sync.Mutex
	pools [2]*share.Pool // nil for none
	given int            // how often they were given back
}

// give gives them back, for good or until they are taken again: while a person is asked,
// others may have them.
func (h *held) give(owner string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given++; h.given > 1 {
		return
	}
	for _, pool := range h.pools {
		if pool != nil {
			pool.Release(owner, 1)
		}
	}
	h.pools = [2]*share.Pool{}
}
