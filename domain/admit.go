package domain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolserver/toolserver/domain/share"
)

// admit does everything that precedes the work of a call, and may refuse it.
// Refused calls count against the rate, and are recorded like others.
func (c *Call) admit(ctx context.Context) error {
	if err := c.exec.rates.count(c.owner(), c.Name, c.catalog.Settings.Limits.RatePerMinute, c.Record.Start); err != nil {
		return err
	}
	if err := c.find(c); err != nil {
		return err
	}
	if err := c.takeSlots(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return canceled(c.Name, ctx)
	}
	if c.check == nil {
		return nil
	}
	return c.check(c)
}

// findTool finds the tool that the call names and makes it its work.
func (c *Call) findTool() error {
	tool, err := c.catalog.findTool(c.Session.Principal, c.Name)
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
		return invalidArguments(c.Tool.Name, err)
	}
	c.noteTarget(c.Tool, c.args)
	return nil
}

// rates counts the requests of principals against a number per minute.
type rates struct {
	mu       sync.Mutex
	limiters share.Store[string, *rate.Limiter] // one of each owner; after a minute without use it would be full again
}

// count counts one request of an owner, or returns an error that says when to
// try again.
func (r *rates) count(owner, what string, perMinute int, now time.Time) error {
	if perMinute <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.limiters.Get(owner, "")
	if !ok {
		l = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
		r.limiters.Put(owner, "", l, 1)
	}
	if l.Burst() != perMinute {
		l.SetLimitAt(now, rate.Limit(float64(perMinute)/60))
		l.SetBurstAt(now, perMinute)
	}
	reservation := l.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &Error{
		Code: CodeRateLimited, Hint: "Wait, then call it again.",
		Message: fmt.Sprintf("%s: over %d calls a minute; try again in %d s", what, perMinute, seconds(wait)),
		Data:    map[string]any{"reason": "rate_limited", "retryAfterMs": (wait + time.Millisecond - 1).Milliseconds(), "limit": perMinute},
	}
}

// seconds returns d in whole seconds that are no less.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Rate is how much a principal may call.
type Rate struct {
	PerMinute int
	Remaining int // calls at this moment
	Next      int // seconds until there is one, 0 if there is
	Whole     int // seconds until there are PerMinute
}

// Rate returns how much a principal, by its ID, may call now. It returns false if
// there is no limit.
func (e *Executor) Rate(principal string) (Rate, bool) {
	perMinute := e.Registry.Catalog().Settings.Limits.RatePerMinute
	if perMinute <= 0 {
		return Rate{}, false
	}
	left := float64(perMinute)
	e.rates.mu.Lock()
	if l, ok := e.rates.limiters.Get(principal, ""); ok {
		left = min(l.Tokens(), left)
	}
	e.rates.mu.Unlock()
	until := func(calls float64) int {
		return seconds(time.Duration(max(0, calls-left) / float64(perMinute) * float64(time.Minute)))
	}
	return Rate{perMinute, max(0, int(left)), until(1), until(float64(perMinute))}, true
}

// slots limits concurrent calls, by principal and by tool.
type slots struct {
	principals *share.Pool

	mu      sync.Mutex
	perTool int64
	tools   map[string]*share.Pool // by the tool's name, while perTool is a limit
}

// configure changes the limits for calls to come.
func (s *slots) configure(l *Limits) {
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
func (s *slots) of(tool *Tool) *share.Pool {
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
			c.slots = taken
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
			return &Error{Code: CodeBusy, Message: c.Name + ": the server is busy with other calls", Hint: "Call it again a little later.",
				Data: map[string]any{"waited_s": wait.Seconds()}}
		case err != nil:
			return canceled(c.Name, ctx)
		case second == nil || second.TryAcquire(c.owner(), 1):
			c.slots = taken
			return nil
		}
		first.Release(c.owner(), 1)
		first, second = second, first
	}
}

// giveSlots gives back the slots of the call, for good or until retakeSlots: while a
// person is asked, others may have them.
func (c *Call) giveSlots() {
	c.slotsMu.Lock()
	defer c.slotsMu.Unlock()
	if c.given++; c.given > 1 {
		return
	}
	for _, pool := range c.slots {
		if pool != nil {
			pool.Release(c.owner(), 1)
		}
	}
	c.slots = [2]*share.Pool{}
}

// retakeSlots undoes giveSlots. It may have to wait, as a new call does.
func (c *Call) retakeSlots(ctx context.Context) error {
	c.slotsMu.Lock()
	defer c.slotsMu.Unlock()
	if c.given--; c.given > 0 || c.exec == nil {
		return nil
	}
	return c.takeSlots(ctx)
}
