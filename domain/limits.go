package domain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"toolserver/share"
)

// Limits bound what callers can ask for at a time. Zero means no limit, except
// for MaxResultChars, whose zero is [DefaultMaxResultChars].
type Limits struct {
	MaxResultChars  int           // characters of text in one result
	PerTool         int           // calls of one tool running at a time
	PerPrincipal    int           // calls of one principal running at a time
	RatePerMinute   int           // calls of one principal per minute
	QueueWait       time.Duration // how long a call waits for a slot
	DefaultTimeout  time.Duration // for tools that set none
	MaxAbandonGrace time.Duration // how long a handler may go on after its time is up
	PageSize        int           // items in one page of a list
}

// slots limits the calls that run at a time, by principal and by tool. A call
// waits for either without holding the other, so that no call that waits keeps
// another from running.
type slots struct {
	principals *share.Pool

	mu      sync.Mutex
	perTool int64
	tools   map[string]*share.Pool // by the tool's name, while PerTool is a limit
}

func newSlots() *slots {
	return &slots{principals: share.NewPool(0, 0), tools: map[string]*share.Pool{}}
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

// of returns the slots of a tool, nil if they are not limited. A call keeps what
// it got, since those of another configuration may be others.
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

// acquire waits until c may run, or ctx ends.
func (s *slots) acquire(ctx context.Context, c *Call) error {
	owner, pool := c.owner(), s.of(c.Tool)
	c.toolSlots = pool
	if pool == nil {
		return s.principals.Acquire(ctx, owner, 1)
	}
	for first, second := s.principals, pool; ; first, second = second, first {
		if err := first.Acquire(ctx, owner, 1); err != nil {
			return err
		}
		if second.TryAcquire(owner, 1) {
			return nil
		}
		first.Release(owner, 1) // wait for the other one holding nothing
	}
}

// release gives back what acquire took.
func (s *slots) release(c *Call) {
	s.principals.Release(c.owner(), 1)
	if c.toolSlots != nil {
		c.toolSlots.Release(c.owner(), 1)
	}
}

// takeSlots waits until the limits allow the call to run.
func (c *Call) takeSlots(ctx context.Context) error {
	if wait := c.catalog.Settings.Limits.QueueWait; !c.exec.slots.try(c) {
		waiting, cancel := context.WithTimeoutCause(ctx, wait, errBusy)
		defer cancel()
		err := c.exec.slots.acquire(waiting, c)
		switch {
		case errors.Is(err, errBusy):
			return &Error{Code: CodeBusy, Message: c.Name + ": the server is busy with other calls", Hint: "Call it again a little later.",
				Data: map[string]any{"waited_s": wait.Seconds()}}
		case err != nil:
			return c.canceled(ctx)
		}
	}
	c.slots = true
	return nil
}

// try is acquire if that need not wait.
func (s *slots) try(c *Call) bool {
	if !s.principals.TryAcquire(c.owner(), 1) {
		return false
	}
	pool := s.of(c.Tool)
	if pool != nil && !pool.TryAcquire(c.owner(), 1) {
		s.principals.Release(c.owner(), 1)
		return false
	}
	c.toolSlots = pool
	return true
}

// errBusy is the cause of a context whose call waited too long for a slot.
var errBusy = errors.New("busy")

// rates counts what principals ask for against a number per minute.
type rates struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter // by principal
}

// maxRates is how many principals are counted before those that have been quiet
// for a minute are forgotten.
const maxRates = 10_000

// wait counts one request of who and returns 0, or how long to wait before there
// may be another.
func (r *rates) wait(who string, perMinute int, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[who]
	switch {
	case l == nil:
		r.forgetQuiet(now)
		l = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
		if r.limiters == nil {
			r.limiters = map[string]*rate.Limiter{}
		}
		r.limiters[who] = l
	case l.Burst() != perMinute:
		l.SetLimitAt(now, rate.Limit(float64(perMinute)/60))
		l.SetBurstAt(now, perMinute)
	}
	reservation := l.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay > 0 {
		reservation.CancelAt(now)
	}
	return delay
}

func (r *rates) forgetQuiet(now time.Time) {
	if len(r.limiters) < maxRates {
		return
	}
	for who, l := range r.limiters {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(r.limiters, who)
		}
	}
}

// countRate counts the call, whatever becomes of it, against the rate of its
// principal.
func (c *Call) countRate(context.Context) error {
	return c.exec.rates.check(c.owner(), c.Name, c.catalog.Settings.Limits.RatePerMinute, c.Record.Start)
}

func (r *rates) check(who, what string, perMinute int, now time.Time) error {
	if perMinute <= 0 {
		return nil
	}
	wait := r.wait(who, perMinute, now)
	if wait == 0 {
		return nil
	}
	return &Error{
		Code: CodeRateLimited, Message: fmt.Sprintf("%s: more than %d calls a minute; try again in %d s", what, perMinute, int((wait+time.Second-1)/time.Second)),
		Hint: "Wait, then call it again.", Data: map[string]any{"retryAfterMs": (wait + time.Millisecond - 1).Milliseconds(), "limit_per_minute": perMinute},
	}
}
