package websearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A queue gives the requests to one service their turns, in the order they come, at the rate the service allows. It learns that
// from the answers. A request that would not have its turn in time is told so at once, and so is every request to a service
// whose quota is used up.
type queue struct {
	service string

	mu       sync.Mutex
	interval time.Duration // from one turn to the next
	known    bool          // the service has said what interval is
	last     time.Time     // when the last turn was
	held     time.Time     // no turn before this
	spent    time.Time     // the quota is used up until then
	waiting  []*waiter     // in the order of their turns
	timer    *time.Timer   // of the next turn, if somebody waits
}

// A waiter is a request that waits for its turn.
type waiter struct {
	deadline time.Time  // zero for none
	turn     chan error // gets one value
}

// newQueue returns the queue of a service that has said nothing of its rate yet.
func newQueue(service string, interval time.Duration) *queue {
	return &queue{service: service, interval: interval}
}

// How careful the queue is.
const (
	// slack is how much slower than allowed requests are sent, in hundredths: they do not all take the same time to get there.
	slack = 5
	// unknownQuota is how long a used-up quota is remembered if the service does not say when it is renewed.
	unknownQuota = 10 * time.Minute
)

// wait waits for a turn. One that had a turn already, and was told to come again, goes first. The error is an [*Error] if there
// will be no turn in time, or ctx's.
func (q *queue) wait(ctx context.Context, again bool) error {
	w := &waiter{turn: make(chan error, 1)}
	w.deadline, _ = ctx.Deadline()
	q.mu.Lock()
	if err := q.usedUp(); err != nil {
		q.mu.Unlock()
		return err
	}
	if again {
		q.waiting = slices.Insert(q.waiting, 0, w)
	} else {
		q.waiting = append(q.waiting, w)
	}
	q.serve()
	q.mu.Unlock()
	select {
	case err := <-w.turn:
		return err
	case <-ctx.Done():
		q.leave(w)
		if ctx.Err() == context.DeadlineExceeded {
			return q.late("no turn came in time")
		}
		return ctx.Err()
	}
}

func (q *queue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
	q.serve()
}

// next returns when the next turn is. The lock is held.
func (q *queue) next() time.Time {
	if next := q.last.Add(q.interval); !q.last.IsZero() && next.After(q.held) {
		return next
	}
	return q.held
}

// serve gives out the turns that are due, turns away those who would wait in vain, and sets the timer for the rest. The lock is
// held.
func (q *queue) serve() {
	now := time.Now()
	for len(q.waiting) > 0 && !now.Before(q.next()) {
		q.waiting[0].turn <- nil
		q.waiting = q.waiting[1:]
		q.last = now
	}
	q.turnAway(now)
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if len(q.waiting) > 0 {
		q.timer = time.AfterFunc(q.next().Sub(now), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.serve()
		})
	}
}

// turnAway tells those who would not have their turn in time. As long as the rate is a guess, only what the service asked for
// itself counts.
func (q *queue) turnAway(now time.Time) {
	turn, step := q.next(), q.interval
	if !q.known {
		turn, step = q.held, 0
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiter) bool {
		if !w.deadline.IsZero() && turn.After(w.deadline) {
			w.turn <- q.late("this one's turn would come only in " + span(turn.Sub(now)))
			return true
		}
		turn = turn.Add(step)
		return false
	})
}

// late returns the error of a request that gets no turn.
func (q *queue) late(why string) *Error {
	return &Error{
		Type: "rate_limited", Message: q.service + " takes only so many requests in a time, others wait, and " + why,
		Hint: "Make fewer searches at a time, and search again later.",
	}
}

// usedUp returns the error of a service whose quota is used up.
func (q *queue) usedUp() error {
	if left := time.Until(q.spent); left > 0 {
		return quotaError(q.service+": ", left)
	}
	return nil
}

func quotaError(answer string, left time.Duration) *Error {
	return &Error{
		Type: "quota_exceeded", Message: fmt.Sprintf("%sthe key's quota is used up; it is not asked again for %s", answer, span(left)),
		Hint: "Go on without searching, or have the plan of the key extended.",
	}
}

// learn takes over what an answer says of the service's limits.
func (q *queue) learn(h http.Header) {
	windows := rateWindows(h)
	if windows == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	interval := time.Duration(0)
	for _, w := range windows {
		switch {
		case w.limit == 0:
		case !w.short():
			if w.remaining == 0 && w.reset > 0 {
				q.spend(w.reset)
			}
		default:
			interval = max(interval, w.length/time.Duration(w.limit)*(100+slack)/100)
			if w.remaining == 0 && w.limit > 1 && w.reset > 0 { // others use the key as well
				q.hold(min(w.reset, w.length))
			}
		}
	}
	q.interval, q.known = interval, true
	q.serve()
}

// pause keeps all requests back, because the service said it was asked too often.
func (q *queue) pause(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hold(d)
	q.serve()
}

func (q *queue) hold(d time.Duration) {
	if until := time.Now().Add(d); q.held.Before(until) {
		q.held = until
	}
}

// exhaust remembers that the quota is used up, for so long or, if that is 0, for [unknownQuota].
func (q *queue) exhaust(left time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if left <= 0 {
		left = unknownQuota
	}
	q.spend(left)
}

// spend is exhaust while the lock is held. Those who wait would only be refused.
func (q *queue) spend(left time.Duration) {
	q.spent = time.Now().Add(left)
	for _, w := range q.waiting {
		w.turn <- quotaError(q.service+": ", left)
	}
	q.waiting = nil
}

// span returns a duration the way people say it, to two digits or so.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()+12)/24)
}
