package domain

import (
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
