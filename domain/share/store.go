package share

import (
	"container/list"
	"sync"
	"time"
)

// A Store keeps values for a while, each for the owner who put it. It is bounded
// in entries, size and age. When it is full, the oldest value of the owner who
// holds most is dropped; the newest value always stays, however large.
//
// The fields are set before the first use; zero means no bound. A Store is safe
// for concurrent use, and starts no goroutine: what has expired is dropped when
// the Store is used the next time.
type Store[K comparable, V any] struct {
	MaxEntries int
	MaxSize    int64         // sum of the sizes given to Put
	MaxAge     time.Duration // of a value since it was put or, with Renew, used
	Renew      bool          // Get makes a value the newest
	Dropped    func(V)       // called, with the Store locked, for a value that leaves it; may be nil
	Now        func() time.Time

	mu      sync.Mutex
	entries map[storeKey[K]]*list.Element
	order   list.List // of *storeEntry[K, V], the oldest first
	held    map[string]holding
	size    int64
}

// holding is what one owner has in a Store.
type holding struct {
	entries int
	size    int64
}

type storeKey[K comparable] struct {
	owner string
	key   K
}

type storeEntry[K comparable, V any] struct {
	storeKey[K]
	value V
	size  int64
	used  time.Time
}

// Put stores a value for owner, in place of that with the same key.
func (s *Store[K, V]) Put(owner string, key K, value V, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries, s.held = map[storeKey[K]]*list.Element{}, map[string]holding{}
	}
	e := &storeEntry[K, V]{storeKey[K]{owner, key}, value, size, s.now()}
	if old, ok := s.entries[e.storeKey]; ok {
		s.drop(old)
	}
	s.entries[e.storeKey] = s.order.PushBack(e)
	s.count(e, 1)
	s.evict()
}

// Get returns the value that owner put under a key.
func (s *Store[K, V]) Get(owner string, key K) (value V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	el, ok := s.entries[storeKey[K]{owner, key}]
	if !ok {
		return value, false
	}
	e := el.Value.(*storeEntry[K, V])
	if s.Renew {
		e.used = s.now()
		s.order.MoveToBack(el)
	}
	return e.value, true
}

// All returns the values of all owners, the oldest first.
func (s *Store[K, V]) All() (all []V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for el := s.order.Front(); el != nil; el = el.Next() {
		all = append(all, el.Value.(*storeEntry[K, V]).value)
	}
	return all
}

// Take returns the value that owner put under a key, and forgets it.
func (s *Store[K, V]) Take(owner string, key K) (value V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	el, ok := s.entries[storeKey[K]{owner, key}]
	if !ok {
		return value, false
	}
	return s.remove(el).value, true
}

// Clear drops everything.
func (s *Store[K, V]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.order.Len() > 0 {
		s.drop(s.order.Front())
	}
}

func (s *Store[K, V]) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// expire drops what is too old. The order is that of age.
func (s *Store[K, V]) expire() {
	for el := s.order.Front(); s.MaxAge > 0 && el != nil; el = s.order.Front() {
		if s.now().Sub(el.Value.(*storeEntry[K, V]).used) < s.MaxAge {
			return
		}
		s.drop(el)
	}
}

// evict drops what is too old, and then what exceeds the bounds.
func (s *Store[K, V]) evict() {
	s.expire()
	for s.MaxEntries > 0 && s.order.Len() > max(s.MaxEntries, 1) {
		s.drop(s.oldestOfLargest(func(h holding) int64 { return int64(h.entries) }))
	}
	for s.MaxSize > 0 && s.size > s.MaxSize && s.order.Len() > 1 {
		s.drop(s.oldestOfLargest(func(h holding) int64 { return h.size }))
	}
}

// oldestOfLargest returns the oldest entry of the owner with the most of what
// measure returns, except for the newest of all entries and those without a
// share in it.
func (s *Store[K, V]) oldestOfLargest(measure func(holding) int64) *list.Element {
	largest, most := s.order.Front(), int64(-1)
	for el := s.order.Front(); el != s.order.Back(); el = el.Next() {
		e := el.Value.(*storeEntry[K, V])
		if n := measure(s.held[e.owner]); n > most && measure(holding{1, e.size}) > 0 {
			largest, most = el, n
		}
	}
	return largest
}

func (s *Store[K, V]) drop(el *list.Element) {
	if e := s.remove(el); s.Dropped != nil {
		s.Dropped(e.value)
	}
}

func (s *Store[K, V]) remove(el *list.Element) *storeEntry[K, V] {
	e := s.order.Remove(el).(*storeEntry[K, V])
	delete(s.entries, e.storeKey)
	s.count(e, -1)
	return e
}

// count adds an entry to what its owner holds, or with -1 takes it away.
func (s *Store[K, V]) count(e *storeEntry[K, V], sign int) {
	h := s.held[e.owner]
	h.entries += sign
	h.size += int64(sign) * e.size
	s.size += int64(sign) * e.size
	if s.held[e.owner] = h; h.entries == 0 {
		delete(s.held, e.owner)
	}
}
