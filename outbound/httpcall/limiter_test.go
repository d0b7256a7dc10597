package httpcall_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// admitted starts n requests in order, which take took each, and returns when
// they were admitted or, as negative numbers, failed.
func admitted(ctx context.Context, l *httpcall.Limiter, n int, took time.Duration) (times []time.Duration, errs []error) {
	var all sync.WaitGroup
	times, errs = make([]time.Duration, n), make([]error, n)
	start := time.Now()
	for i := range n {
		all.Go(func() {
			release, err := l.Acquire(ctx, false)
			times[i], errs[i] = time.Since(start), err
			if err != nil {
				times[i] = -times[i] - 1
				return
			}
			time.Sleep(took)
			release()
			release()
		})
		synctest.Wait()
	}
	all.Wait()
	return times, errs
}

func TestLimiterAdmits(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name              string
		interval          time.Duration
		burst, concurrent int
		took              time.Duration
		want              []time.Duration
	}{
		{"rate", s, 1, math.MaxInt, 10 * s, []time.Duration{0, s, 2 * s, 3 * s, -1, -1}},
		{"burst", s, 3, math.MaxInt, 0, []time.Duration{0, 0, 0, s, 2 * s, 3 * s}},
		{"one in flight", 0, 1, 1, s, []time.Duration{0, s, 2 * s, 3 * s, -3500*time.Millisecond - 1, -3500*time.Millisecond - 1}},
		{"interval and one in flight", 2 * s, 1, 1, s, []time.Duration{0, 2 * s, -1, -1, -1, -1}},
		{"unlimited", 0, 1, math.MaxInt, s, []time.Duration{0, 0, 0, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				times, errs := admitted(ctx, httpcall.NewLimiter(tt.interval, tt.burst, tt.concurrent), 6, tt.took)
				if !slices.Equal(times, tt.want) {
					t.Errorf("admitted at %v; want %v", times, tt.want)
				}
				for i, err := range errs {
					if _, late := errors.AsType[*httpcall.LateError](err); late != (tt.want[i] < 0) {
						t.Errorf("request %d: %v", i, err)
					}
				}
			})
		})
	}
}

// TestLimiterLearns starts with a guess, by which no request fails.
func TestLimiterLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		l := httpcall.NewLimiter(time.Minute, 1, math.MaxInt).Guess()
		time.AfterFunc(time.Second, func() { l.SetInterval(time.Second) })
		times, errs := admitted(ctx, l, 4, 0)
		const late = -time.Second - 1
		if times[1] < time.Second || times[1] > 2*time.Second || times[2] != late || times[3] != late {
			t.Errorf("admitted at %v, %v", times, errs)
		}
	})
}

// TestLimiterBlocks fails what waits and what comes during a cooldown.
func TestLimiterBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := httpcall.NewLimiter(time.Second, 1, 1)
		release, err := l.Acquire(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		blocked := func(left time.Duration) {
			_, err := l.Acquire(t.Context(), false)
			if f, ok := errors.AsType[*httpcall.Failure](err); !ok || f.Type != "blocked" || f.Cooldown != left || time.Since(f.Since) != time.Minute-left {
				t.Errorf("%+v, %v", f, err)
			}
		}
		all.Go(func() { blocked(time.Minute) })
		synctest.Wait()
		l.Block(&httpcall.Failure{Type: "blocked", Cooldown: time.Minute})
		release()
		all.Wait()
		time.Sleep(59 * time.Second)
		blocked(time.Second)
		time.Sleep(time.Second)
		if _, err := l.Acquire(t.Context(), false); err != nil {
			t.Error(err)
		}
	})
}

// TestLimiterProbes sends one request after a cooldown, and the others once it has its answer, unless that begins another.
func TestLimiterProbes(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := httpcall.NewLimiter(0, 1, math.MaxInt)
			before, err := l.Acquire(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			l.Block(&httpcall.Failure{Type: "blocked", Cooldown: time.Hour})
			time.Sleep(time.Hour)
			probe, err := l.Acquire(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			sent, failed := 0, 0
			for range 3 {
				all.Go(func() {
					_, err := l.Acquire(t.Context(), false)
					mu.Lock()
					defer mu.Unlock()
					if _, ok := errors.AsType[*httpcall.Failure](err); ok {
						failed++
					} else if err == nil {
						sent++
					}
				})
			}
			before() // which is no probe, however late it ends
			synctest.Wait()
			if sent+failed != 0 {
				t.Errorf("%d sent and %d failed beside the probe", sent, failed)
			}
			probe() // without an answer: the next one is another
			synctest.Wait()
			mu.Lock()
			if sent != 1 {
				t.Errorf("%d sent after a probe without an answer", sent)
			}
			mu.Unlock()
			if again {
				l.Block(&httpcall.Failure{Type: "blocked", Cooldown: time.Hour})
			} else {
				l.Unblock()
			}
			all.Wait()
			if want := map[bool]int{true: 2}[again]; failed != want || sent != 3-want {
				t.Errorf("%d sent and %d failed after the probe, again %t", sent, failed, again)
			}
		})
	}
}

// TestLimiterOrder lets a repeated request go first, and those behind one that is
// canceled move up.
func TestLimiterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := httpcall.NewLimiter(0, 1, 1)
		release, _ := l.Acquire(t.Context(), false)
		gone, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for _, r := range []struct {
			name     string
			ctx      context.Context
			repeated bool
		}{{"first", t.Context(), false}, {"gone", gone, false}, {"last", t.Context(), false}, {"repeated", t.Context(), true}} {
			all.Go(func() {
				release, err := l.Acquire(r.ctx, r.repeated)
				if (err == nil) != (r.name != "gone") || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", r.name, err)
				}
				if err == nil {
					mu.Lock()
					order = append(order, r.name)
					mu.Unlock()
					release()
				}
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		l.Pause(time.Minute)
		release()
		synctest.Wait()
		mu.Lock()
		if len(order) != 0 {
			t.Errorf("%v were admitted during a pause", order)
		}
		mu.Unlock()
		all.Wait()
		if !slices.Equal(order, []string{"repeated", "first", "last"}) {
			t.Errorf("order %v", order)
		}
	})
}
