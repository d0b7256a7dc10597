// Package share divides what is limited, such as slots, bytes or room in a store,
// among owners so that none can take what the others need.
package share

import (
	"context"
	"slices"
	"sync"
)

// A Pool divides a fixed amount among owners. It is safe for concurrent use,
// starts no goroutine, and remembers no owner that neither holds something nor
// waits.
//
// The last quarter is for those who hold less: an owner that holds h may take n
// if a quarter of the pool then remains, or if it would then hold no more than
// remains. One owner alone thus gets at most three quarters, the second half of
// what is left, and so on. An owner that holds nothing may take whatever is left.
// Pools of fewer than 4 have no reserve.
//
// What is released goes to the waiting owner that holds least and whose request
// fits, the longest waiting among equals. A request that does not fit delays
// later ones of its owner, which are served in order, but not those of others;
// one that is large compared with the pool may therefore wait for long.
type Pool struct {
	mu       sync.Mutex
	size     int64 // zero or less: no limit
	perOwner int64 // zero or less: no limit
	reserved bool  // the last quarter is for those who hold less
	inUse    int64
	owners   map[string]*account // that hold something or wait
	waiting  []*waiter           // the longest waiting first
}

// account is what one owner holds and waits for.
type account struct {
	owner string
	held  int64
	waits int
}

// waiter is an Acquire that waits.
type waiter struct {
	account *account
	n       int64
	granted chan struct{} // closed when it is
}

// NewPool returns a pool of size, of which one owner may hold at most perOwner
// whatever else is free. Zero means no such limit; what is held is counted
// nevertheless, for [Pool.Resize].
func NewPool(size, perOwner int64) *Pool {
	return &Pool{size: size, perOwner: perOwner, reserved: true, owners: map[string]*account{}}
}

// NewQueue returns a pool without a reserve: one owner may hold all of it. It is
// for what is held for a short time, where serving the one that holds least next
// is enough.
func NewQueue(size int64) *Pool { return &Pool{size: size, owners: map[string]*account{}} }

// Acquire takes n for owner, waiting for it until ctx ends, when it returns
// [context.Cause] of ctx and has taken nothing. Each Acquire that succeeds is
// paired with a [Pool.Release] of the same n. An n larger than a quarter of the
// pool waits until much is free; more than the pool is never granted.
func (p *Pool) Acquire(ctx context.Context, owner string, n int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := p.enter(owner, n)
	if w == nil {
		return nil
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		p.leave(w)
		return context.Cause(ctx)
	}
}

// TryAcquire is [Pool.Acquire] if that need not wait; otherwise it returns false.
func (p *Pool) TryAcquire(owner string, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(owner, n)
}

// Release gives back n that owner acquired in one call. It panics if the owner
// does not hold that much.
func (p *Pool) Release(owner string, n int64) {
	if n <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(p.account(owner), n)
}

// Resize changes the limits given to [NewPool]. What is held stays held, so more
// than size may be in use until it is released.
func (p *Pool) Resize(size, perOwner int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size, p.perOwner = size, perOwner
	p.wake()
}

// InUse returns what all owners hold together.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse
}

// enter takes n for owner, or returns a waiter for it.
func (p *Pool) enter(owner string, n int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.take(owner, n) {
		return nil
	}
	w := &waiter{p.account(owner), n, make(chan struct{})}
	w.account.waits++
	p.waiting = append(p.waiting, w)
	return w
}

// leave ends the wait of w, giving back what was granted at the last moment.
func (p *Pool) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.dequeue(i)
		p.settle(w.account)
		p.wake() // the owner's next request may be a smaller one
	} else {
		p.release(w.account, w.n)
	}
}

// The functions below are called with the lock held.

// take takes n for owner if that fits and no earlier request of the owner waits.
func (p *Pool) take(owner string, n int64) bool {
	if n <= 0 {
		return true
	}
	a := p.account(owner)
	if a.waits > 0 || !p.fits(a.held, n) {
		p.settle(a)
		return false
	}
	p.grant(a, n)
	return true
}

// fits is the rule of [Pool].
func (p *Pool) fits(held, n int64) bool {
	if p.perOwner > 0 && held+n > p.perOwner {
		return false
	}
	left := p.size - p.inUse - n
	return p.size <= 0 || left >= 0 && !p.reserved || left >= p.size/4 || left >= 0 && (held == 0 || held+n <= left)
}

func (p *Pool) grant(a *account, n int64) {
	a.held += n
	p.inUse += n
}

func (p *Pool) release(a *account, n int64) {
	if n > a.held {
		panic("share: release of more than was acquired")
	}
	a.held -= n
	p.inUse -= n
	p.wake()
	p.settle(a)
}

// wake grants what fits now.
func (p *Pool) wake() {
	for len(p.waiting) > 0 && (p.size <= 0 || p.inUse < p.size) {
		next, asked := -1, map[*account]bool{}
		for i, w := range p.waiting {
			first := !asked[w.account]
			asked[w.account] = true
			if first && (next < 0 || w.account.held < p.waiting[next].account.held) && p.fits(w.account.held, w.n) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.dequeue(next)
		p.grant(w.account, w.n)
		close(w.granted)
	}
}

// dequeue takes a waiter out of the queue.
func (p *Pool) dequeue(i int) *waiter {
	w := p.waiting[i]
	w.account.waits--
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return w
}

// account returns the account of owner, which is made if there is none.
func (p *Pool) account(owner string) *account {
	a := p.owners[owner]
	if a == nil {
		a = &account{owner: owner}
		p.owners[owner] = a
	}
	return a
}

// settle forgets an owner that neither holds nor waits for anything.
func (p *Pool) settle(a *account) {
	if a.held == 0 && a.waits == 0 {
		delete(p.owners, a.owner)
	}
}
