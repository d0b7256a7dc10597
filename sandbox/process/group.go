package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// A groupStarter starts processes from this one, each in a group that the system
// knows: a process group, or a job object.
type groupStarter struct {
	wrap func(spec []byte, path string, argv []string) (string, []string, error)
}

func (groupStarter) method() Method       { return groupMethod }
func (groupStarter) boundsMethod() string { return "" }
func (groupStarter) ownProc() bool        { return false }
func (groupStarter) close()               {}

func (s groupStarter) start(l launch) (*Process, error) {
	if l.User != 0 {
		return nil, &StartError{Op: "start", Path: l.path, Err: errors.New("as another user it takes a supervisor that is root")}
	}
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
	attr := &os.ProcAttr{Dir: l.Dir, Env: l.Env, Files: files, Sys: groupAttr(l.cmdLine)}
	if g.process, err = os.StartProcess(l.path, l.argv, attr); err == nil {
		g.group, err = newGroup(g.process)
	}
	if err != nil {
		return nil, startError("start", l.path, err)
	}
	p := newProcess(l, g)
	if l.OnStart != nil {
		l.OnStart()
	}
	go g.wait(p)
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
	close(p.done)
}
