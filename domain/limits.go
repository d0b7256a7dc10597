package domain

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Limits bound what callers can ask for at a time. Zero means no limit, but
// for MaxResultChars, whose zero is [DefaultMaxResultChars].
type Limits struct {
	MaxResultChars  int           // characters of text in one result
	PerTool         int           // calls of one tool running at a time
	PerPrincipal    int           // calls of one principal running at a time
	RatePerMinute   int           // calls of one principal per minute
	QueueWait       time.Duration // how long a call waits for its turn
	DefaultTimeout  time.Duration // for tools that set none
	MaxAbandonGrace time.Duration // how long a handler may go on after its time is up
	PageSize        int           // tools in one page of a list
}

// errBusy says that a call's turn did not come.
var errBusy = errors.New("busy")

// limiter hands out the right to run.
type limiter struct {
	mu    sync.Mutex
	slots map[slotKey]*slot
	rates map[string]*bucket
}

type slotKey struct {
	kind string // "tool" or "principal"
	name string
}

// slot counts the holders of one key, and the callers in line for it.
type slot struct {
	held    int
	waiting []chan struct{} // closed when a turn is handed over
}

func newLimiter() *limiter {
	return &limiter{slots: map[slotKey]*slot{}, rates: map[string]*bucket{}}
}

// acquire waits until fewer than limit holders have key, at most for wait. Each
// acquire that succeeds is paired with a release under the same limit.
func (l *limiter) acquire(ctx context.Context, key slotKey, limit int, wait time.Duration) error {
	if limit <= 0 {
		return nil
	}
	turn, ok := l.enter(key, limit)
	if ok {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errBusy
	}
	if !l.leave(key, turn) {
		l.release(key, limit) // the turn came at the last moment
	}
	return err
}

// enter takes a place, or else a place in line.
func (l *limiter) enter(key slotKey, limit int) (turn chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[key]
	if s == nil {
		s = &slot{}
		l.slots[key] = s
	}
	if s.held < limit {
		s.held++
		return nil, true
	}
	turn = make(chan struct{})
	s.waiting = append(s.waiting, turn)
	return turn, false
}

// leave gives up a place in line, and reports whether it was still one.
func (l *limiter) leave(key slotKey, turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[key]
	for i, other := range s.waiting {
		if other == turn {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// release hands the place to the next in line.
func (l *limiter) release(key slotKey, limit int) {
	if limit <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[key]
	if len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		return
	}
	if s.held--; s.held == 0 && len(l.slots) > keepSlots {
		delete(l.slots, key)
	}
}

// keepSlots is how many slots may stay for the next call although nobody holds
// them.
const keepSlots = 256

// bucket is a token bucket that holds a minute's worth of calls.
type bucket struct {
	tokens float64
	filled time.Time
}

// maxBuckets bounds the memory that principals can take up.
const maxBuckets = 10_000

// admit counts one call against the rate of a principal, and says how long to
// wait if it is over.
func (l *limiter) admit(principal string, perMinute int, now time.Time) (wait time.Duration) {
	if perMinute <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.rates[principal]
	if b == nil {
		l.dropFull(perMinute, now)
		b = &bucket{tokens: float64(perMinute), filled: now}
		l.rates[principal] = b
	}
	rate := float64(perMinute) / float64(time.Minute)
	b.tokens = min(float64(perMinute), b.tokens+rate*float64(now.Sub(b.filled)))
	b.filled = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / rate)
	}
	b.tokens--
	return 0
}

// dropFull forgets principals that have been quiet for a minute, once there
// are many: a bucket that is full again says nothing.
func (l *limiter) dropFull(perMinute int, now time.Time) {
	if len(l.rates) < maxBuckets {
		return
	}
	for name, b := range l.rates {
		if now.Sub(b.filled) > time.Minute {
			delete(l.rates, name)
		}
	}
}
