package call

import (
	"fmt"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
	"golang.org/x/time/rate"
)

// rates counts the requests of principals against a number per minute.
type rates struct {
	mu       sync.Mutex
	limiters share.Store[string, *rate.Limiter] // one of each owner; after a minute without use it would be full again
}

// count counts one request of an owner, or returns an error that says when to
// try again.
func (r *rates) count(owner, what string, perMinute int, now time.Time) error {
	if perMinute <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.limiters.Get(owner, "")
	if !ok {
		l = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
		r.limiters.Put(owner, "", l, 1)
	}
	if l.Burst() != perMinute {
		l.SetLimitAt(now, rate.Limit(float64(perMinute)/60))
		l.SetBurstAt(now, perMinute)
	}
	reservation := l.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &domain.Error{
		Code: domain.CodeRateLimited, Hint: "Wait, then call it again.",
		Message: fmt.Sprintf("%s: over %d calls a minute; try again in %d s", what, perMinute, seconds(wait)),
		Data:    map[string]any{"reason": "rate_limited", "retryAfterMs": (wait + time.Millisecond - 1).Milliseconds(), "limit": perMinute},
	}
}

// seconds returns d in whole seconds that are no less.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Rate is how much a principal may call.
type Rate struct {
	PerMinute int
	Remaining int // calls at this moment
	Next      int // seconds until there is one, 0 if there is
	Whole     int // seconds until there are PerMinute
}

// Rate returns how much a principal may call now. It returns false if there is no limit.
func (e *Executor) Rate(p domain.Principal) (Rate, bool) {
	perMinute := e.CatalogOf(p).Settings.Limits.RatePerMinute
	if perMinute <= 0 {
		return Rate{}, false
	}
	left := float64(perMinute)
	e.rates.mu.Lock()
	if l, ok := e.rates.limiters.Get(p.ID, ""); ok {
		left = min(l.Tokens(), left)
	}
	e.rates.mu.Unlock()
	until := func(calls float64) int {
		return seconds(time.Duration(max(0, calls-left) / float64(perMinute) * float64(time.Minute)))
	}
	return Rate{perMinute, max(0, int(left)), until(1), until(float64(perMinute))}, true
}
