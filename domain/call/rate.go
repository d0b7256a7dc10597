package call

import (
	"context"
	"fmt"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/store"
)

// count counts one request of an owner against a number per minute, or returns an error that says when to try again.
func (e *Executor) count(ctx context.Context, owner, what string, perMinute int, now time.Time) error {
	if perMinute <= 0 {
		return nil
	}
	wait, err := e.Store.Take(ctx, owner, perMinute, now)
	switch {
	case err != nil:
		return &domain.Error{Code: domain.CodeBusy, Message: what + ": " + store.ErrUnavailable.Error(), Hint: "Call it again a little later.", Err: err}
	case wait == 0:
		return nil
	}
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
	left := e.Store.Left(p.ID, perMinute)
	until := func(calls float64) int {
		return seconds(time.Duration(max(0, calls-left) / float64(perMinute) * float64(time.Minute)))
	}
	return Rate{perMinute, max(0, int(left)), until(1), until(float64(perMinute))}, true
}
