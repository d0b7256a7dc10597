package system

import (
	"context"
	"sync"
)

// flights runs questions to the operating system that may never be answered and
// cannot be taken back, such as statfs(2) of a dead network drive. There is one
// goroutine for a key at a time, shared by all who ask, so that asking again
// costs nothing while a question hangs.
type flights[T any] struct {
	mu  sync.Mutex
	now map[string]*flight[T]
}

// flight is a question under way.
type flight[T any] struct {
	landed chan struct{} // closed when the answer is there
	answer T
	err    error
}

// join returns the flight of key, and starts it with ask if there is none.
func (g *flights[T]) join(key string, ask func() (T, error)) *flight[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f, ok := g.now[key]; ok {
		return f
	}
	f := &flight[T]{landed: make(chan struct{})}
	if g.now == nil {
		g.now = map[string]*flight[T]{}
	}
	g.now[key] = f
	go func() {
		f.answer, f.err = ask()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.now, key)
		close(f.landed)
	}()
	return f
}

// wait returns the answer, or ctx's error if that ends first. An answer that is
// there counts even then.
func (f *flight[T]) wait(ctx context.Context) (answer T, err error) {
	select {
	case <-f.landed:
		return f.answer, f.err
	case <-ctx.Done():
	}
	select {
	case <-f.landed:
		return f.answer, f.err
	default:
		return answer, ctx.Err()
	}
}
