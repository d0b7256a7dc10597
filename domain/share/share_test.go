package share

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// TestRule takes one at a time for each owner in turn, until nothing more fits.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		size, perOwner int64
		want           []int64
	}{
		{128, 0, []int64{96, 16, 8, 4, 2, 1, 1, 0}},
		{100, 0, []int64{75, 12, 6, 3, 2, 1, 1, 0}},
		{128, 40, []int64{40, 40, 24, 12, 6, 3, 1, 1, 1, 0}},
		{8, 0, []int64{6, 1, 1, 0}},
		{4, 0, []int64{3, 1, 0}},
		{3, 0, []int64{3, 0}},
		{1, 0, []int64{1, 0}},
		{0, 5, []int64{5, 5}},
	} {
		p := NewPool(c.size, c.perOwner)
		for i, want := range c.want {
			owner := fmt.Sprint("owner", i)
			for p.TryAcquire(owner, 1) {
			}
			if got := heldBy(p, owner); got != want {
				t.Errorf("size %d, limit %d: owner %d holds %d, want %d", c.size, c.perOwner, i, got, want)
			}
		}
	}
}

// TestStarvation has one owner's request served before a thousand of another's.
func TestStarvation(t *testing.T) {
	p := NewPool(4, 0)
	for p.TryAcquire("bob", 1) {
	}
	p.TryAcquire("carol", 1)
	var bob []*waiter
	for range 1000 {
		bob = append(bob, p.enter("bob", 1))
	}
	alice := p.enter("alice", 1)
	p.Release("bob", 1)
	if !alice.isGranted() || bob[0].isGranted() {
		t.Fatalf("alice served: %v, bob: %v", alice.isGranted(), bob[0].isGranted())
	}
	p.Release("carol", 1)
	if bob[0].isGranted() {
		t.Error("bob holds the last one besides two others")
	}
	p.Release("alice", 1)
	if !bob[0].isGranted() || bob[1].isGranted() {
		t.Errorf("bob's requests served: %v, %v", bob[0].isGranted(), bob[1].isGranted())
	}
	p.Resize(0, 0)
	for i, w := range bob {
		if !w.isGranted() {
			t.Fatalf("request %d waits for an unlimited pool", i)
		}
	}
}

func TestAcquireEnds(t *testing.T) {
	cause := errors.New("cause")
	p := NewPool(1, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := p.Acquire(ctx, "a", 1); err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	if err := p.Acquire(ctx, "b", 1); err != cause {
		t.Errorf("got %v", err)
	}
	late := p.enter("b", 1)
	p.Release("a", 1)
	p.leave(late) // as Acquire does when both happen at once
	if p.InUse() != 0 || busy(p) != 0 {
		t.Errorf("%d in use by %d owners", p.InUse(), busy(p))
	}
	for _, owner := range []string{"a", "b"} {
		if owner == "b" {
			p.TryAcquire("b", 1)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s released more than it held", owner)
				}
			}()
			p.Release(owner, 2)
		}()
	}
}

// model is the pool in the plainest form.
type model struct {
	size, perOwner int64
	held           map[string]int64
	queue          []*request
}

type request struct {
	owner      string
	n, counted int64 // counted is not zero once it is granted
	w          *waiter
}

func (m *model) free() int64 {
	free := m.size
	for _, h := range m.held {
		free -= h
	}
	return free
}

func (m *model) admits(owner string, n int64) bool {
	h, free := m.held[owner], m.free()
	if m.perOwner > 0 && h+n > m.perOwner {
		return false
	}
	return m.size <= 0 || free >= n && (free-n >= m.size/4 || h+n <= free-n || h == 0)
}

// serve grants what can be, and takes it from the queue.
func (m *model) serve() {
	for {
		best, seen := -1, map[string]bool{}
		for i, r := range m.queue {
			if !seen[r.owner] && m.admits(r.owner, r.n) && (best < 0 || m.held[r.owner] < m.held[m.queue[best].owner]) {
				best = i
			}
			seen[r.owner] = true
		}
		if best < 0 {
			return
		}
		r := m.queue[best]
		m.queue = slices.Delete(m.queue, best, best+1)
		r.counted = r.n
		m.held[r.owner] += r.counted
	}
}

// TestModel compares the pool with its model after each of many random steps.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		m := &model{size: rnd.Int64N(40) - 2, perOwner: rnd.Int64N(12) - 1, held: map[string]int64{}}
		p := NewPool(m.size, m.perOwner)
		var all []*request
		for step := range 400 {
			i := 0
			if len(all) > 0 {
				i = rnd.IntN(len(all))
			}
			switch k := rnd.IntN(100); {
			case k < 50 || len(all) == 0:
				r := &request{owner: string(rune('a' + rnd.IntN(6))), n: 1 + rnd.Int64N(12)}
				if rnd.IntN(2) == 0 {
					r.n = 1
				}
				r.w = p.enter(r.owner, r.n)
				m.queue = append(m.queue, r)
				all = append(all, r)
			case k < 99:
				r := all[i]
				all = slices.Delete(all, i, i+1)
				switch {
				case r.counted == 0:
					p.leave(r.w)
					at := slices.Index(m.queue, r)
					m.queue = slices.Delete(m.queue, at, at+1)
				case r.w != nil && rnd.IntN(2) == 0:
					p.leave(r.w) // the cancel races with the grant
					m.release(r)
				default:
					p.Release(r.owner, r.n)
					m.release(r)
				}
			default:
				m.size, m.perOwner = rnd.Int64N(40)-2, rnd.Int64N(12)-1
				p.Resize(m.size, m.perOwner)
			}
			m.serve()
			known := map[string]bool{}
			for _, r := range all {
				known[r.owner] = true
				if granted := r.w == nil || r.w.isGranted(); granted != (r.counted > 0) {
					t.Fatalf("seed %d, step %d: request of %s for %d granted: %v", seed, step, r.owner, r.n, granted)
				}
			}
			for owner, held := range m.held {
				if heldBy(p, owner) != held {
					t.Fatalf("seed %d, step %d: %s holds %d, want %d", seed, step, owner, heldBy(p, owner), held)
				}
			}
			if busy(p) != len(known) {
				t.Fatalf("seed %d, step %d: %d owners hold or wait, want %d", seed, step, busy(p), len(known))
			}
		}
	}
}

// release gives back r.
func (m *model) release(r *request) { m.held[r.owner] -= r.n }

// TestConcurrent has many goroutines acquire, give up and release at once.
func TestConcurrent(t *testing.T) {
	const size, perOwner = 16, 9
	p := NewPool(size, perOwner)
	var wg sync.WaitGroup
	for i := range 24 {
		owner := string(rune('a' + i%4))
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			for range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(3) == 0 {
					go cancel()
				}
				n := 1 + rnd.Int64N(6)
				if p.Acquire(ctx, owner, n) == nil {
					if used, held := p.InUse(), heldBy(p, owner); used > size || held > perOwner {
						t.Errorf("%d in use, %d held", used, held)
					}
					p.Release(owner, n)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if p.InUse() != 0 || busy(p) != 0 || len(p.waiting) != 0 {
		t.Errorf("left: %d in use, %d owners, %d waiting", p.InUse(), busy(p), len(p.waiting))
	}
}

// busy returns how many owners hold or wait for something.
func busy(p *Pool) (n int) {
	for _, a := range p.owners {
		if a.held > 0 || a.waits > 0 {
			n++
		}
	}
	return n
}

func TestIdleOwnersAreForgotten(t *testing.T) {
	p := NewPool(0, 0)
	for i := range 640 {
		p.TryAcquire(strconv.Itoa(i), 1)
	}
	for i := range 640 {
		p.Release(strconv.Itoa(i), 1)
	}
	if len(p.owners) > 0 {
		t.Errorf("%d idle owners are remembered", len(p.owners))
	}
}

func BenchmarkAcquire(b *testing.B) {
	for _, c := range []struct {
		name string
		held int64
	}{{"new owner", 0}, {"owner that holds", 1}} {
		b.Run(c.name, func(b *testing.B) {
			p := NewPool(128, 0)
			p.TryAcquire("alice", c.held)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				_ = p.Acquire(ctx, "alice", 1)
				p.Release("alice", 1)
			}
		})
	}
}

func TestQueue(t *testing.T) {
	p := NewQueue(8)
	for i := range 9 {
		if got := p.TryAcquire("a", 1); got != (i < 8) {
			t.Errorf("%d: %v", i, got)
		}
	}
	p.Release("a", 1)
	if !p.TryAcquire("b", 1) {
		t.Error("what was released is not to be had")
	}
}

// heldBy returns what owner holds.
func heldBy(p *Pool, owner string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.owners[owner]; a != nil {
		return a.held
	}
	return 0
}

func (w *waiter) isGranted() bool {
	select {
	case <-w.granted:
		return true
	default:
		return false
	}
}
