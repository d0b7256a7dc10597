package call

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// clock limits the time of a call. It can be paused while a person is asked.
// The zero clock never ends.
type clock struct {
	mu    sync.Mutex
	from  *timers
	timer *timer
	ends  time.Time
	left  time.Duration // while it is paused

	prolonged bool
	longer    time.Duration // the limit since then
}

func (c *clock) start(from *timers, limit time.Duration, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = time.Now().Add(limit)
	c.from, c.timer = from, from.start(limit, end)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.from.stop(c.timer)
		c.timer = nil
	}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && c.timer.Stop() {
		c.left = max(time.Until(c.ends), 1) // or it would never end
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && c.left > 0 {
		c.ends = time.Now().Add(c.left)
		c.timer.Reset(c.left)
		c.left = 0
	}
}

// prolong gives the clock, whose time is up, another limit, 0 for none. It does so once.
func (c *clock) prolong(from, to time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prolonged || c.timer == nil {
		return false
	}
	if c.prolonged, c.longer = true, to; to > 0 {
		c.ends = time.Now().Add(to - from)
		c.timer.Reset(to - from)
	}
	return true
}

// timers are those of the calls of an executor. One that was stopped in time is used again:
// making it is most of what a clock costs.
type timers struct{ idle sync.Pool }

type timer struct {
	*time.Timer
	end func() // is called when the time is up
}

func (s *timers) start(limit time.Duration, end func()) *timer {
	t, ok := s.idle.Get().(*timer)
	if !ok {
		t = &timer{end: end}
		t.Timer = time.AfterFunc(limit, func() { t.end() })
		return t
	}
	t.end = end
	t.Reset(limit)
	return t
}

func (s *timers) stop(t *timer) {
	if t.Stop() { // or end is being called
		t.end = nil // and what it holds
		s.idle.Put(t)
	}
}

// errTimeout is the cause of a context whose call reached its time limit.
var errTimeout = errors.New("time limit")

// TimedOut is the error type of a tool execution error about a time limit.
const TimedOut = "timed_out"

// Seconds returns d for a message, in the unit of every timeout: "30s", "0.5s".
func Seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }

// overrun says of a call that it has reached its time limit.
type overrun struct {
	name    string // of the call
	limit   time.Duration
	setting string // that sets it
}

func (c *Call) overrun() overrun {
	o := overrun{c.Name, c.limit, "limits.timeout"}
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	if c.clock.prolonged {
		o.limit, o.setting = c.clock.longer, "limits.task_timeout"
	} else if c.Tool != nil {
		o.setting = "tools." + cmp.Or(c.Tool.Offered, c.Name) + ".timeout"
	}
	return o
}

func (o overrun) String() string {
	return "timed out after " + Seconds(o.limit) + ", the operator's limit (" + o.setting + ")"
}

func (o overrun) hint() string {
	return "Ask for less in one call, or ask the operator to raise " + o.setting + "."
}

// failure returns the error of a call whose handler had nothing to answer.
func (o overrun) failure() *domain.Error {
	return &domain.Error{Code: domain.CodeTimeout, Message: o.name + " " + o.String(), Hint: o.hint(), Data: map[string]any{"timeout_s": o.limit.Seconds()}}
}

// partial returns what a handler answered when the time was up, with why there is no
// more. Clip shortens text.
func (o overrun) partial(r domain.ToolResult, clip func(string, int) string) domain.ToolResult {
	note := "[" + o.String() + "]"
	r.IsError = true
	r.Content = append(slices.Clip(r.Content), domain.Content{Type: domain.TextContent, Text: "\n" + note})
	e, ok := r.Results.(domain.FailureEnvelope)
	if r.Results == nil {
		e, ok = domain.FailureEnvelope{IsError: true, Message: clip(r.FirstText(), domain.MaxErrorText)}, true
	}
	if ok {
		e.ErrorType, e.Message, e.Hint = TimedOut, e.Message+"\n"+note, o.hint()
		r.Results = e
	}
	return r
}
