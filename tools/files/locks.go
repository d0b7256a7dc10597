package files

import (
	"context"
	"sync"
)

// pathLocks keeps the calls that write one file apart, so that an edit cannot
// put back what another call has just replaced. Processes other than this one
// are not held up by it.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	turn  chan struct{} // holds one token while the path is locked
	users int           // who hold it or wait for it
}

func newPathLocks() *pathLocks { return &pathLocks{held: map[string]*pathLock{}} }

// lock waits until nobody else has locked path or ctx ends. The caller calls
// unlock once, unless there is an error.
func (l *pathLocks) lock(ctx context.Context, path string) (unlock func(), err error) {
	l.mu.Lock()
	p := l.held[path]
	if p == nil {
		p = &pathLock{turn: make(chan struct{}, 1)}
		l.held[path] = p
	}
	p.users++
	l.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
		return func() {
			<-p.turn
			l.leave(path, p)
		}, nil
	case <-ctx.Done():
		l.leave(path, p)
		return nil, ctx.Err()
	}
}

func (l *pathLocks) leave(path string, p *pathLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(l.held, path)
	}
}
