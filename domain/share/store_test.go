package share_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain/share"
)

// has returns which of the entries 0 to 9 an owner has.
func has(s *share.Store[int, string], owner string) (all []int) {
	for key := range 10 {
		if _, ok := s.Get(owner, key); ok {
			all = append(all, key)
		}
	}
	return all
}

func TestStoreKeepsOwnersApart(t *testing.T) {
	var s share.Store[int, string]
	if _, ok := s.Get("ann", 1); ok {
		t.Error("an empty store has something")
	}
	s.Put("ann", 1, "a", 1)
	s.Put("bob", 1, "b", 1)
	s.Put("ann", 1, "c", 1)
	ann, _ := s.Get("ann", 1)
	bob, _ := s.Get("bob", 1)
	if _, ok := s.Get("eve", 1); ann != "c" || bob != "b" || ok {
		t.Errorf("got %q, %q, %t", ann, bob, ok)
	}
}

func TestStoreEvictsFromLargestOwner(t *testing.T) {
	t.Run("entries", func(t *testing.T) {
		s := share.Store[int, string]{MaxEntries: 4}
		s.Put("ann", 0, "", 1000) // oldest and largest, but one entry only
		for key := range 6 {
			s.Put("bob", key, "", 1)
		}
		if ann, bob := has(&s, "ann"), has(&s, "bob"); !slices.Equal(ann, []int{0}) || !slices.Equal(bob, []int{3, 4, 5}) {
			t.Errorf("kept %v, %v", ann, bob)
		}
	})
	t.Run("size", func(t *testing.T) {
		s := share.Store[int, string]{MaxSize: 100}
		s.Put("ann", 0, "", 0) // frees nothing
		s.Put("bob", 0, "", 30)
		s.Put("ann", 1, "", 60)
		s.Put("eve", 0, "", 20)
		if !slices.Equal(has(&s, "ann"), []int{0}) || !slices.Equal(has(&s, "bob"), []int{0}) || !slices.Equal(has(&s, "eve"), []int{0}) {
			t.Errorf("kept %v, %v, %v", has(&s, "ann"), has(&s, "bob"), has(&s, "eve"))
		}
		s.Put("eve", 1, "", 500) // the newest stays
		if !slices.Equal(has(&s, "eve"), []int{1}) || has(&s, "bob") != nil {
			t.Errorf("kept %v, %v", has(&s, "bob"), has(&s, "eve"))
		}
	})
}

func TestStoreExpires(t *testing.T) {
	for _, renew := range []bool{false, true} {
		now := time.Unix(0, 0)
		var dropped []string
		s := share.Store[int, string]{
			MaxAge: time.Minute, MaxEntries: 3, Renew: renew,
			Now: func() time.Time { return now }, Dropped: func(v string) { dropped = append(dropped, v) },
		}
		for key := range 3 {
			s.Put("ann", key, fmt.Sprint(key), 1)
		}
		now = now.Add(59 * time.Second)
		s.Get("ann", 0)
		s.Put("ann", 3, "3", 1)
		want := map[bool]string{false: "0", true: "1"}[renew]
		if !slices.Equal(dropped, []string{want}) {
			t.Errorf("renew %t: dropped %v for a new one", renew, dropped)
		}
		now = now.Add(time.Second)
		if kept := has(&s, "ann"); renew != slices.Equal(kept, []int{0, 3}) || !renew && !slices.Equal(kept, []int{3}) {
			t.Errorf("renew %t: kept %v", renew, kept)
		}
		s.Clear()
		if slices.Sort(dropped); !slices.Equal(dropped, []string{"0", "1", "2", "3"}) || has(&s, "ann") != nil {
			t.Errorf("renew %t: dropped %v", renew, dropped)
		}
	}
}

// TestStoreStaysBounded uses a store at random and compares what is in it with
// what was put and not dropped.
func TestStoreStaysBounded(t *testing.T) {
	type value struct{ size int64 }
	var mu sync.Mutex
	inside := map[*value]bool{}
	s := share.Store[int, *value]{MaxEntries: 20, MaxSize: 500, Renew: true}
	s.Dropped = func(v *value) {
		mu.Lock()
		defer mu.Unlock()
		if !inside[v] {
			t.Error("dropped what is not there")
		}
		delete(inside, v)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				owner, v := fmt.Sprint(rand.IntN(5)), &value{rand.Int64N(60)}
				mu.Lock()
				inside[v] = true
				mu.Unlock()
				s.Put(owner, rand.IntN(10), v, v.size)
				s.Get(owner, rand.IntN(10))
			}
		})
	}
	all.Wait()
	size := int64(0)
	for v := range inside {
		size += v.size
	}
	if len(inside) > 20 || size > 500 || len(inside) < 5 {
		t.Errorf("%d entries of size %d", len(inside), size)
	}
	s.Clear()
	if len(inside) != 0 {
		t.Errorf("%d left", len(inside))
	}
}
