package domain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// clock limits the time of a call. It can be paused while a person is asked.
// The zero clock never ends.
type clock struct {
	mu    sync.Mutex
	from  *timers
	timer *timer
	ends  time.Time
	left  time.Duration // while it is paused
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

// limitSetting names what sets the time limit of the call.
func (c *Call) limitSetting() string {
	if c.Tool == nil {
		return "limits.timeout"
	}
	return "tools." + cmp.Or(c.Tool.Offered, c.Name) + ".timeout"
}

// outOfTime returns the error of a call that reached its time limit before its handler
// had anything to answer.
func (c *Call) outOfTime() *Error {
	return &Error{
		Code: CodeTimeout, Message: c.Name + " " + c.timedOut(), Hint: c.afterTimeout(),
		Data: map[string]any{"timeout_s": c.limit.Seconds()},
	}
}

func (c *Call) timedOut() string {
	return "timed out after " + Seconds(c.limit) + ", the operator's limit (" + c.limitSetting() + ")"
}

func (c *Call) afterTimeout() string {
	return "Ask for less in one call, or ask the operator to raise " + c.limitSetting() + "."
}

// partial returns what a handler answered when the time of its call was up, with why
// there is no more.
func (c *Call) partial(r ToolResult) ToolResult {
	note := "[" + c.timedOut() + "]"
	r.IsError = true
	r.Content = append(slices.Clip(r.Content), Content{Type: TextContent, Text: "\n" + note})
	e, ok := r.Results.(failureEnvelope)
	if r.Results == nil {
		e, ok = failureEnvelope{IsError: true, Message: c.clip(r.firstText(), maxErrorText)}, true
	}
	if ok {
		e.ErrorType, e.Message, e.Hint = TimedOut, e.Message+"\n"+note, c.afterTimeout()
		r.Results = e
	}
	return r
}
