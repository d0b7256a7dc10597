package runner

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// direct starts commands from this process, each in a group the system knows: a
// process group, or a job object.
type direct struct {
	launcher *launcher
	wrap     func(spec []byte, path string, argv []string) (string, []string, error)
}

func (d *direct) method() Method       { return groupMethod }
func (d *direct) boundsMethod() string { return "" }
func (d *direct) close()               {}

func (d *direct) start(l launch) (tree, error) {
	if l.confine != nil {
		if d.wrap == nil {
			return nil, &StartError{Op: "confine", Path: l.path, Err: ErrNoConfinement}
		}
		program, argv, err := d.wrap(l.confine, l.path, l.argv)
		if err != nil {
			return nil, &StartError{Op: "confine", Path: l.path, Err: fmt.Errorf("%w: %w", ErrNoConfinement, err)}
		}
		l.path, l.argv = program, argv
	}
	stdin := l.stdin
	if stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		defer null.Close()
		stdin = null
	}
	attr := &os.ProcAttr{Dir: l.dir, Env: l.env, Files: []*os.File{stdin, l.stdout, l.stderr}, Sys: l.sys}
	var proc *os.Process
	var g group
	var err error
	d.launcher.do(func() {
		if proc, err = os.StartProcess(l.path, l.argv, attr); err == nil {
			g, err = newGroup(proc)
		}
	})
	if err != nil {
		return nil, startError("start", l.path, err)
	}
	t := &grouped{proc: proc, group: g, exitC: make(chan exit, 1), goneC: make(chan struct{}), given: make(chan struct{})}
	go t.wait()
	return t, nil
}

// grouped is the [tree] of a command started by direct.
type grouped struct {
	proc  *os.Process
	group group
	exitC chan exit
	goneC chan struct{}
	given chan struct{} // closed when nobody is interested any more

	mu     sync.Mutex // held while the group is used
	closed bool       // it is empty, and its number or handle may be another's
}

func (t *grouped) whileOpen(f func(group)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		f(t.group)
	}
}

func (t *grouped) closeGroup() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.group.close()
}

func (t *grouped) started() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (t *grouped) exited() <-chan exit   { return t.exitC }
func (t *grouped) gone() <-chan struct{} { return t.goneC }
func (t *grouped) terminate()            { t.whileOpen(group.terminate) }
func (t *grouped) kill()                 { t.whileOpen(group.kill) }
func (t *grouped) leftovers() int        { return 0 }
func (t *grouped) exceeded() excess      { return noExcess }

func (t *grouped) wait() {
	state, err := t.proc.Wait()
	if err != nil {
		t.exitC <- exit{code: -1, err: err}
	} else {
		t.exitC <- exitOfState(state)
	}
	for wait := time.Millisecond; t.group.alive(); wait = min(2*wait, 20*time.Millisecond) {
		select {
		case <-t.given:
			t.kill()
			t.closeGroup()
			return
		case <-time.After(wait):
		}
	}
	t.closeGroup()
	close(t.goneC)
}

// close leaves a process that even SIGKILL does not end yet, such as one that
// waits for a dead file server, to the goroutine that waits for it.
func (t *grouped) close() { close(t.given) }
