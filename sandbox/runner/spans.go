package runner

import (
	"sync"
	"time"
)

// A spans remembers when commands ran.
type spans struct {
	mu      sync.Mutex
	running map[*call]time.Time
	past    []span // the latest at the end
}

type span struct{ from, to time.Time }

// maxSpans is how many ended commands are remembered.
const maxSpans = 256

func (s *spans) begin(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[*call]time.Time{}
	}
	s.running[c] = time.Now()
}

func (s *spans) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.past) == maxSpans {
		s.past = append(s.past[:0], s.past[1:]...)
	}
	s.past = append(s.past, span{s.running[c], time.Now()})
	delete(s.running, c)
}

// at reports whether a command may have run at t.
func (s *spans) at(t time.Time) bool {
	const tick = 10 * time.Millisecond // file systems round times down to one
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range s.running {
		if from.Before(t.Add(tick)) {
			return true
		}
	}
	for _, p := range s.past {
		if p.from.Before(t.Add(tick)) && p.to.After(t) {
			return true
		}
	}
	return len(s.past) == maxSpans && s.past[0].to.After(t)
}
