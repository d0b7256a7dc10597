package httpcall

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Limiter admits the requests to one service in the order they arrive: at a rate, up to a number in flight, and none
// during a cooldown, after which one request goes alone to see whether the service answers again. A request that cannot be
// admitted before its deadline fails at once.
type Limiter struct {
	mu      sync.Mutex
	bucket  *rate.Limiter
	guess   bool      // the rate is not known yet
	free    int       // requests that may start beside those in flight
	paused  time.Time // until then requests wait
	block   Failure   // during a cooldown
	blocked time.Time // when the cooldown began; zero once the service has answered after it
	probing bool      // the request after a cooldown is in flight
	queue   []*waiter
	changed chan struct{} // closed and replaced when anything above changes
}

// A waiter is a request in the queue.
type waiter struct{ deadline time.Time } // zero for none

// A LateError says that a request would not be admitted before its deadline.
type LateError struct{ Wait time.Duration } // until it would be admitted; 0 if unknown

func (e *LateError) Error() string {
	if e.Wait == 0 {
		return "this request could not be sent in time"
	}
	return fmt.Sprintf("this request could be sent in %v", e.Wait.Round(100*time.Millisecond))
}

// Timeout makes a LateError a timeout for [IsTimeout].
func (e *LateError) Timeout() bool { return true }

// NewLimiter returns a limiter that admits one request in each interval after
// the first burst, and at most concurrent requests in flight.
func NewLimiter(interval time.Duration, burst, concurrent int) *Limiter {
	return &Limiter{bucket: rate.NewLimiter(rate.Every(interval), burst), free: concurrent, changed: make(chan struct{})}
}

// Guess marks the rate as a guess until [Limiter.SetInterval]: no request fails because of it.
func (l *Limiter) Guess() *Limiter {
	l.guess = true
	return l
}

// Acquire waits until a request is admitted; a repeated one goes first. Release is called when its answer has been read,
// more than once if need be. The error is a [*LateError], a [*Failure] during a cooldown, or that of ctx if it is canceled.
func (l *Limiter) Acquire(ctx context.Context, repeated bool) (release func(), err error) {
	w := new(waiter)
	w.deadline, _ = ctx.Deadline()
	l.mu.Lock()
	defer l.mu.Unlock()
	at := len(l.queue)
	if repeated {
		at = 0
	}
	l.queue = slices.Insert(l.queue, at, w)
	defer func() {
		l.queue = slices.DeleteFunc(l.queue, func(other *waiter) bool { return other == w })
		l.notify()
	}()
	l.notify()
	for {
		now := time.Now()
		if left := l.blocked.Add(l.block.Cooldown).Sub(now); left > 0 {
			f := l.block
			f.Cooldown, f.Since, f.Retry = left, l.blocked, false
			return nil, &f
		}
		start, late := l.start(w, now)
		if late {
			return nil, &LateError{start.Sub(now)}
		}
		var due <-chan time.Time
		if l.queue[0] == w && l.free > 0 && !l.probing {
			if !start.After(now) && l.bucket.AllowN(now, 1) {
				return l.admit(), nil
			}
			due = time.After(max(start.Sub(now), 1))
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-due:
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		l.mu.Lock()
		if err == context.DeadlineExceeded {
			return nil, &LateError{}
		}
		if err != nil {
			return nil, err
		}
	}
}

// admit takes a request out of those that may start, until release. The lock is held.
func (l *Limiter) admit() (release func()) {
	l.free--
	probe := !l.blocked.IsZero()
	l.probing = probe
	return sync.OnceFunc(func() {
		l.change(func() {
			l.free++
			l.probing = l.probing && !probe
		})
	})
}

// start returns when w can be admitted at the earliest, and whether that is after its deadline. Requests before it that
// will fail for that reason do not count. The lock is held.
func (l *Limiter) start(w *waiter, now time.Time) (start time.Time, late bool) {
	missing := -l.bucket.TokensAt(now)
	for _, other := range l.queue {
		wait := max(missing+1, 0) / float64(l.bucket.Limit())
		start = now.Add(time.Duration(wait*float64(time.Second)) + max(l.paused.Sub(now), 0))
		least := start
		if l.guess {
			least = l.paused
		}
		late = !other.deadline.IsZero() && least.After(other.deadline)
		switch {
		case other == w && late:
			return least, true
		case other == w:
			return start, false
		case !late:
			missing++
		}
	}
	return start, late
}

// change makes a change and has the queue see it.
func (l *Limiter) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.notify()
}

// notify has every request in the queue look at the state again. The lock is held.
func (l *Limiter) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// SetInterval changes the rate to one request in each interval.
func (l *Limiter) SetInterval(d time.Duration) {
	l.change(func() {
		l.bucket.SetLimit(rate.Every(d))
		l.guess = false
	})
}

// maxPause is how long requests wait at most because a service asks for that: what frees it sooner, such as another plan, is
// found out by asking.
const maxPause = time.Hour

// Pause makes requests wait for at least d, up to an hour.
func (l *Limiter) Pause(d time.Duration) {
	l.change(func() {
		if until := time.Now().Add(min(d, maxPause)); l.paused.Before(until) {
			l.paused = until
		}
	})
}

// Unblock ends what follows a cooldown: the service has answered.
func (l *Limiter) Unblock() {
	l.change(func() {
		if time.Since(l.blocked) >= l.block.Cooldown {
			l.blocked, l.probing = time.Time{}, false
		}
	})
}

// Block makes requests fail for f.Cooldown, those in the queue as well.
func (l *Limiter) Block(f *Failure) {
	l.change(func() { l.block, l.blocked = *f, time.Now() })
}
