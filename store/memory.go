package store

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolserver/toolserver/domain/share"
)

// Bounds of what memory keeps, and for how long.
const (
	maxMarks = 64 << 10
	maxTTL   = 8 * 24 * time.Hour
)

// memory keeps what one process knows by itself.
type memory struct {
	mu      sync.Mutex
	marks   share.Store[string, mark]          // by key
	buckets share.Store[string, *rate.Limiter] // of each owner; after a minute without use it would be full again
}

// mark is when something was noted, and until when.
type mark struct{ at, until time.Time }

// ownerEnd is where the owner ends in a key.
const ownerEnd = len("ts:") + 20

// mark notes a key for a time. Of what is too much, the owner who has most loses the oldest.
func (m *memory) mark(key string, ttl time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, ttl)
}

func (m *memory) keep(key string, ttl time.Duration) {
	m.marks.MaxEntries, m.marks.MaxAge = maxMarks, maxTTL
	now := time.Now()
	m.marks.Put(key[:ownerEnd], key, mark{now, now.Add(ttl)}, 1)
}

// marked returns when a key was noted; zero if it was not, or too long ago.
func (m *memory) marked(key string) (at time.Time) {
	if v, ok := m.marks.Get(key[:ownerEnd], key); ok && time.Now().Before(v.until) {
		at = v.at
	}
	return at
}

// once notes a key, and reports whether it was not noted before.
func (m *memory) once(key string, ttl time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.marked(key).IsZero() {
		return false
	}
	m.keep(key, ttl)
	return true
}

// takeOne takes one of a bucket, or returns when there will be one.
func (m *memory) takeOne(owner string, limit int, now time.Time) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.buckets.MaxAge, m.buckets.Renew = time.Minute, true
	l, ok := m.buckets.Get(owner, "")
	if !ok {
		l = rate.NewLimiter(rate.Limit(float64(limit)/60), limit)
		m.buckets.Put(owner, "", l, 1)
	}
	if l.Burst() != limit {
		l.SetLimitAt(now, rate.Limit(float64(limit)/60))
		l.SetBurstAt(now, limit)
	}
	reservation := l.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// left returns how many a bucket has.
func (m *memory) left(owner string, limit int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.buckets.Get(owner, ""); ok {
		return min(float64(limit), l.Tokens())
	}
	return float64(limit)
}
