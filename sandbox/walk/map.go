package walk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// A batch is handed to one worker. Its bounds also bound the descriptors that
// the walk keeps open for entries that wait.
const (
	batchEntries = 128
	batchDirs    = 16
)

// Map walks as [Walk] does, lets several workers look at the entries that pick
// accepts, and passes what they find to emit in the order of the walk. Each
// worker is a function from newWorker, so that it can own buffers; it returns
// false where there is nothing to emit. pick and emit run on the calling
// goroutine. An error of pick or emit ends everything, SkipAll without being
// returned; pick may return SkipDir. There are as many workers as processors.
func Map[T any](ctx context.Context, dir *os.File, path string, opt Options,
	pick func(*Entry) (bool, error), newWorker func() func(*Entry) (T, bool), emit func(T) error) (Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	m := &mapper[T]{ctx: ctx, emit: emit, newWorker: newWorker, idle: make(chan func(*Entry) (T, bool), workers), cur: newBatch[T]()}
	for range workers {
		m.idle <- nil
	}
	defer func() { // also when pick or emit panicked
		cancel()
		m.wg.Wait()
		m.cur.release()
	}()
	stats, err := Walk(ctx, dir, path, opt, func(e *Entry) error {
		wanted, err := pick(e)
		if wanted {
			if m.ended = m.add(e); m.ended != nil {
				return m.ended
			}
		}
		return err
	})
	if err == nil && m.ended == nil {
		err = m.finish()
	}
	if err == SkipAll {
		err = nil
	}
	return stats, err
}

type mapper[T any] struct {
	ctx       context.Context
	emit      func(T) error
	newWorker func() func(*Entry) (T, bool)
	idle      chan func(*Entry) (T, bool) // workers; nil if not made yet
	wg        sync.WaitGroup
	waiting   []*batch[T] // handed to workers, in order
	cur       *batch[T]
	ended     error // what emit ended everything with
}

type batch[T any] struct {
	entries []Entry
	dirs    []*dir
	out     []T
	crash   any // what a worker panicked with
	done    chan struct{}
}

func newBatch[T any]() *batch[T] {
	return &batch[T]{entries: make([]Entry, 0, batchEntries), done: make(chan struct{})}
}

func (m *mapper[T]) add(e *Entry) error {
	b, c := m.cur, *e
	if n := len(b.dirs); n > 0 && b.dirs[n-1] == e.dir {
		c.prefix = b.entries[len(b.entries)-1].prefix
	} else {
		e.dir.retain()
		b.dirs = append(b.dirs, e.dir)
		c.prefix = bytes.Clone(e.prefix)
	}
	b.entries = append(b.entries, c)
	if len(b.entries) == batchEntries || len(b.dirs) == batchDirs {
		return m.send()
	}
	return nil
}

// send hands the current batch to a worker, and emits the oldest if there
// are as many in flight as may be.
func (m *mapper[T]) send() error {
	b := m.cur
	m.waiting = append(m.waiting, b)
	m.cur = newBatch[T]()
	m.wg.Go(func() { m.work(b) })
	if len(m.waiting) < 2*cap(m.idle) {
		return nil
	}
	return m.collect()
}

// collect waits for the oldest batch and emits what was found in it.
func (m *mapper[T]) collect() error {
	b := m.waiting[0]
	<-b.done
	m.waiting = m.waiting[1:]
	if b.crash != nil {
		panic(b.crash)
	}
	for _, v := range b.out {
		if err := m.emit(v); err != nil {
			return err
		}
	}
	return m.ctx.Err()
}

func (m *mapper[T]) finish() error {
	err := m.send()
	for err == nil && len(m.waiting) > 0 {
		err = m.collect()
	}
	return err
}

func (m *mapper[T]) work(b *batch[T]) {
	work := <-m.idle
	defer func() {
		if r := recover(); r != nil {
			// It goes on in the goroutine of the caller, who may handle it.
			b.crash = fmt.Sprintf("%v\n\nworker %s", r, debug.Stack())
		}
		b.release()
		m.idle <- work
		close(b.done)
	}()
	if work == nil {
		work = m.newWorker()
	}
	for i := range b.entries {
		if m.ctx.Err() != nil {
			return
		}
		if v, ok := work(&b.entries[i]); ok {
			b.out = append(b.out, v)
		}
	}
}

func (b *batch[T]) release() {
	for _, d := range b.dirs {
		d.release()
	}
}
