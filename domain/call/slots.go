package call

import (
	"context"
	"errors"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
)

// slots limits concurrent calls, by principal and by tool.
type slots struct {
	principals *share.Pool

	mu      sync.Mutex
	perTool int64
	tools   map[string]*share.Pool // by the tool's name, while perTool is a limit
}

// configure changes the limits for calls to come.
func (s *slots) configure(l *domain.Limits) {
	s.principals.Resize(0, int64(l.PerPrincipal))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perTool = int64(l.PerTool)
	for name, pool := range s.tools {
		pool.Resize(s.perTool, 0)
		if pool.InUse() == 0 {
			delete(s.tools, name)
		}
	}
}

// of returns the slots of a tool, nil if they are not limited.
func (s *slots) of(tool *domain.Tool) *share.Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perTool <= 0 || tool == nil {
		return nil
	}
	pool := s.tools[tool.Name]
	if pool == nil {
		pool = share.NewQueue(s.perTool)
		s.tools[tool.Name] = pool
	}
	return pool
}

// errBusy is the cause of a context whose call waited too long for a slot.
var errBusy = errors.New("busy")

// takeSlots waits until the limits allow the call to run. It waits for the slot
// of the principal or of the tool without holding the other, so that no call
// that waits keeps another from running.
func (c *Call) takeSlots(ctx context.Context) error {
	first, second := c.exec.slots.principals, c.exec.slots.of(c.Tool)
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
