package runner

import (
	"runtime"
	"sync"
)

// A launcher starts processes from one operating system thread that lives as
// long as it does: a process that asked for a signal at the death of its parent
// gets it at the death of the thread that started it (PR_SET_PDEATHSIG, prctl(2)),
// and the runtime ends idle threads as it likes.
type launcher struct {
	calls chan func()
	once  sync.Once
	ended chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{calls: make(chan func()), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(l.ended)
		for f := range l.calls {
			f()
		}
	}()
	return l
}

// do runs f on the thread and waits for it. It must not be called after close.
func (l *launcher) do(f func()) {
	done := make(chan struct{})
	l.calls <- func() { defer close(done); f() }
	<-done
}

// close ends the thread, and with it what was started with a parent death signal.
func (l *launcher) close() {
	l.once.Do(func() { close(l.calls) })
	<-l.ended
}
