package runner

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	slotIdle = time.Minute     // a supervisor not needed for as long ends
	slotEnd  = 5 * time.Second // for all to end when the pool closes
)

// A pool keeps supervisors for use again. It is the [starter] of Linux.
type pool struct {
	executable string
	how        Method
	launcher   *launcher
	watches    bool        // its supervisors can keep bounds
	delegation *delegation // nil where there is none

	mu     sync.Mutex
	idle   []idleSlot // the one used last is at the end
	all    map[*slot]struct{}
	timer  *time.Timer
	closed bool
}

type idleSlot struct {
	slot  *slot
	since time.Time
}

// newPool starts a first supervisor, to see whether this way works here.
func newPool(executable string, how Method, l *launcher) (*pool, error) {
	p := &pool{executable: executable, how: how, launcher: l, all: make(map[*slot]struct{})}
	s, err := startSlot(executable, how, l, nil)
	if err != nil {
		return nil, err
	}
	if d, err := findDelegation(); err == nil {
		p.delegation = d
		s.giveUp()
		if s, err = p.startSlot(); err != nil {
			d.close()
			return nil, err
		}
	}
	p.watches = s.watches
	p.adopt(s)
	p.put(s)
	return p, nil
}

func (p *pool) method() Method { return p.how }

func (p *pool) boundsMethod() string {
	switch {
	case p.delegation != nil:
		return BoundsCgroup
	case p.watches:
		return BoundsWatched
	}
	return ""
}

func (p *pool) start(l launch) (tree, error) {
	for {
		s, fresh, err := p.take()
		if err != nil {
			return nil, err
		}
		cmd := newSupervised(l.path, s, p)
		if err = s.run(l, cmd); err == nil {
			return cmd, nil
		}
		s.end()
		// One that died while it was idle is no reason to fail.
		if _, ok := errors.AsType[*StartError](err); ok || fresh {
			return nil, err
		}
	}
}

func (p *pool) take() (s *slot, fresh bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, false, ErrClosed
	}
	if n := len(p.idle); n > 0 {
		s = p.idle[n-1].slot
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, false, nil
	}
	p.mu.Unlock()
	if s, err = p.startSlot(); err != nil {
		return nil, false, err
	}
	p.adopt(s)
	return s, true, nil
}

// startSlot starts a supervisor in a cgroup of its own, where that is to be had.
func (p *pool) startSlot() (*slot, error) {
	var g *cgroup
	if p.delegation != nil {
		var err error
		if g, err = p.delegation.cgroup(); err != nil {
			return nil, fmt.Errorf("make a cgroup: %w", err)
		}
	}
	return startSlot(p.executable, p.how, p.launcher, g)
}

// adopt reads what s says, until it is gone.
func (p *pool) adopt(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[s] = struct{}{}
	go func() {
		s.read()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, s)
	}()
	if p.closed {
		s.end()
	}
}

func (p *pool) put(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-s.dead:
		return
	default:
	}
	if p.closed {
		s.end()
		return
	}
	p.idle = append(p.idle, idleSlot{s, time.Now()})
	if p.timer == nil {
		p.timer = time.AfterFunc(slotIdle, p.expire)
	}
}

// expire ends the supervisors idle for too long.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if p.closed {
		return
	}
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) >= slotIdle {
		p.idle[n].slot.end()
		n++
	}
	p.idle = append(p.idle[:0], p.idle[n:]...)
	if len(p.idle) > 0 {
		p.timer = time.AfterFunc(slotIdle-time.Since(p.idle[0].since), p.expire)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	slots := make([]*slot, 0, len(p.all))
	for s := range p.all {
		s.end()
		slots = append(slots, s)
	}
	p.idle = nil
	p.mu.Unlock()
	deadline := time.After(slotEnd)
	for _, s := range slots {
		select {
		case <-s.dead:
		case <-deadline:
			return
		}
	}
	p.delegation.close()
}
