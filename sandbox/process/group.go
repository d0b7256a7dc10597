package process

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A groupStarter starts processes from this one, each in a group that the system
// knows: a process group, or a job object.
type groupStarter struct {
	thread *startThread
	wrap   func(spec []byte, path string, argv []string) (string, []string, error)

	mu  sync.Mutex
	all map[*grouped]struct{}
}

func (s *groupStarter) method() Method       { return groupMethod }
func (s *groupStarter) boundsMethod() string { return "" }

func (s *groupStarter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.all {
		g.signal(nil, syscall.SIGKILL)
	}
}

func (s *groupStarter) start(l launch) (*Process, error) {
	if l.Confine != nil {
		if s.wrap == nil {
			return nil, &StartError{Op: "confine", Path: l.path, Err: ErrNoConfinement}
		}
		var err error
		if l.path, l.argv, err = s.wrap(l.Confine, l.path, l.argv); err != nil {
			return nil, &StartError{Op: "confine", Path: l.path, Err: fmt.Errorf("%w: %w", ErrNoConfinement, err)}
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []*os.File{l.Stdin, l.Stdout, l.Stderr}
	for i, f := range files {
		if f == nil {
			files[i] = null
		}
	}
	g := new(grouped)
	s.thread.do(func() {
		attr := &os.ProcAttr{Dir: l.Dir, Env: l.Env, Files: files, Sys: groupAttr(l.cmdLine)}
		if g.process, err = os.StartProcess(l.path, l.argv, attr); err == nil {
			g.group, err = newGroup(g.process)
		}
	})
	if err != nil {
		return nil, startError("start", l.path, err)
	}
	p := newProcess(l, g)
	s.mu.Lock()
	s.all[g] = struct{}{}
	s.mu.Unlock()
	if l.OnStart != nil {
		l.OnStart()
	}
	go func() {
		g.wait(p)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, g)
	}()
	return p, nil
}

// grouped is the [tree] of a process started by a groupStarter.
type grouped struct {
	process *os.Process
	group   group

	mu     sync.Mutex // held while the group is used
	closed bool       // it is empty, and its number or handle may be another's
}

func (g *grouped) signal(_ *Process, sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.group.signal(sig)
	}
}

func (g *grouped) abandon() {} // wait goes on

func (g *grouped) wait(p *Process) {
	state, err := g.process.Wait()
	if err != nil {
		p.ended(-1, "", err)
	} else {
		p.ended(exitStatus(state))
	}
	for wait := time.Millisecond; g.group.alive(); wait = min(2*wait, 20*time.Millisecond) {
		time.Sleep(wait)
	}
	g.mu.Lock()
	g.closed = true
	g.group.close()
	g.mu.Unlock()
	p.gone(0)
}

// A startThread starts processes from one operating system thread that lives as
// long as it does: a process that asked for a signal at the death of its parent
// gets it at the death of the thread that started it (PR_SET_PDEATHSIG, prctl(2)),
// and the runtime ends idle threads as it likes.
type startThread struct {
	calls chan func()
	ended chan struct{}
}

func newStartThread() *startThread {
	t := &startThread{calls: make(chan func()), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(t.ended)
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// do runs f on the thread and waits for it. It must not be called after close.
func (t *startThread) do(f func()) {
	done := make(chan struct{})
	t.calls <- func() { defer close(done); f() }
	<-done
}

// close ends the thread, and with it what asked for a parent death signal.
func (t *startThread) close() {
	close(t.calls)
	<-t.ended
}
