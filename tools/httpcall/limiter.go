package httpcall

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Limiter admits the requests to one service in the order they come: at a
// rate, a number of them in flight, and none while the service is to be left
// alone. A request whose turn would come after its deadline fails at once.
type Limiter struct {
	mu      sync.Mutex
	bucket  *rate.Limiter
	guess   bool      // the rate is not known yet
	free    int       // requests that may start beside those in flight
	paused  time.Time // until then requests wait
	block   Failure   // while blocked
	blocked time.Time // since when
	waiting []*waiter // in the order of their turns
	timer   *time.Timer
}

// A waiter is a request that waits for its turn.
type waiter struct {
	deadline time.Time  // zero for none
	turn     chan error // gets one value
}

// A LateError says that a request would not be admitted before its deadline.
type LateError struct{ Wait time.Duration } // until its turn; 0 if unknown

func (e *LateError) Error() string {
	if e.Wait == 0 {
		return "the turn of this request did not come in time"
	}
	return fmt.Sprintf("the turn of this request would come in %v", e.Wait.Round(100*time.Millisecond))
}

// Timeout makes a LateError a timeout for [IsTimeout].
func (e *LateError) Timeout() bool { return true }

// NewLimiter returns a limiter that admits one request in each interval after
// the first burst, and at most concurrent requests in flight.
func NewLimiter(interval time.Duration, burst, concurrent int) *Limiter {
	return &Limiter{bucket: rate.NewLimiter(rate.Every(interval), burst), free: concurrent}
}

// Guess marks the rate as a guess until [Limiter.SetInterval]: it does not make a
// request fail that might have its turn in time.
func (l *Limiter) Guess() *Limiter {
	l.guess = true
	return l
}

// Acquire waits for the turn of a request; one that is repeated goes first.
// Release is called when its answer has been read, more than once if need be.
// The error is a [*LateError], a [*Failure] if the service is to be left alone,
// or that of ctx if it is canceled.
func (l *Limiter) Acquire(ctx context.Context, repeated bool) (release func(), err error) {
	w := &waiter{turn: make(chan error, 1)}
	w.deadline, _ = ctx.Deadline()
	l.enqueue(w, repeated)
	select {
	case err = <-w.turn:
	case <-ctx.Done():
		if !l.leave(w) { // its turn came at the same time
			err = <-w.turn
		} else if err = ctx.Err(); err == context.DeadlineExceeded {
			err = &LateError{}
		}
	}
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(l.release), nil
}

func (l *Limiter) enqueue(w *waiter, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := len(l.waiting)
	if first {
		at = 0
	}
	l.waiting = slices.Insert(l.waiting, at, w)
	l.serve()
}

// leave reports whether w was still waiting.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.serve()
	}
	return i >= 0
}

func (l *Limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free++
	l.serve()
}

// SetInterval changes the rate to one request in each interval.
func (l *Limiter) SetInterval(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket.SetLimit(rate.Every(d))
	l.guess = false
	l.serve()
}

// Pause makes requests wait for at least d.
func (l *Limiter) Pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(d); l.paused.Before(until) {
		l.paused = until
	}
	l.serve()
}

// Block makes requests fail for f.Cooldown, those that wait as well.
func (l *Limiter) Block(f *Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.block, l.blocked = *f, time.Now()
	l.serve()
}

// serve admits the requests whose turn it is, fails those that would wait in
// vain, and sets the timer for the rest. The lock is held.
func (l *Limiter) serve() {
	now := time.Now()
	for len(l.waiting) > 0 && l.free > 0 && !now.Before(l.paused) && l.blockedFor(now) <= 0 && l.bucket.AllowN(now, 1) {
		l.free--
		l.waiting[0].turn <- nil
		l.waiting = l.waiting[1:]
	}
	l.reject(now)
	if l.timer != nil {
		l.timer.Stop()
	}
	if len(l.waiting) > 0 && l.free > 0 {
		l.timer = time.AfterFunc(max(l.turn(0, now).Sub(now), 1), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.serve()
		})
	}
}

// turn returns the earliest time of the turn of the i-th request that waits. The
// lock is held.
func (l *Limiter) turn(i int, now time.Time) time.Time {
	missing := max(float64(i+1)-l.bucket.TokensAt(now), 0)
	turn := now.Add(time.Duration(missing / float64(l.bucket.Limit()) * float64(time.Second)))
	if paused := l.paused.Sub(now); paused > 0 {
		return turn.Add(paused)
	}
	return turn
}

func (l *Limiter) blockedFor(now time.Time) time.Duration {
	return l.blocked.Add(l.block.Cooldown).Sub(now)
}

// reject fails the requests that would not have their turn in time. The lock is
// held.
func (l *Limiter) reject(now time.Time) {
	if left := l.blockedFor(now); left > 0 {
		for _, w := range l.waiting {
			f := l.block
			f.Cooldown, f.Since = left, l.blocked
			w.turn <- &f
		}
		l.waiting = nil
	}
	i := 0
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		turn := l.turn(i, now)
		if l.guess {
			turn = l.paused
		}
		if i++; w.deadline.IsZero() || !turn.After(w.deadline) {
			return false
		}
		w.turn <- &LateError{turn.Sub(now)}
		i--
		return true
	})
}
