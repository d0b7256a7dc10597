package files

import (
	"context"
	"hash/maphash"
)

// pathLocks keeps the calls that write one file apart, so that an edit cannot put back
// what another call has just replaced. Paths share a fixed number of locks; processes
// other than this one are not held up.
type pathLocks struct {
	seed  maphash.Seed
	locks [256]chan struct{} // each holds one token while it is locked
}

func newPathLocks() *pathLocks {
	l := &pathLocks{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits until nobody else has locked path or ctx ends. The caller calls
// unlock once, unless there is an error.
func (l *pathLocks) lock(ctx context.Context, path string) (unlock func(), err error) {
	c := l.locks[maphash.String(l.seed, path)%uint64(len(l.locks))]
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
