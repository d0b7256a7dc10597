package domain

import (
	"sync"
	"time"
)

// clock is the time a call has. It stands still while a person is asked. The
// zero clock never ends.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	ends  time.Time
	left  time.Duration // while it stands still
}

func (c *clock) start(limit time.Duration, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = time.Now().Add(limit)
	c.timer = time.AfterFunc(limit, end)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil // and with it whatever it would have ended
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
