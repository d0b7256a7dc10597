package runner

import (
	"encoding/binary"
	"errors"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// run starts one command and returns when none of its processes is left.
func (s *supervisor) run(o *order) {
	r := watch{supervisor: s, pidfd: -1}
	err := r.bound(o.bounds)
	if err == nil {
		err = s.start(o, &r)
	}
	for _, fd := range o.files {
		unix.Close(fd)
	}
	if err != nil {
		r.untold = failure(err)
	} else {
		if o.announce {
			_ = s.send(appendNumbers(nil, frameStarted, uint64(r.pid)))
		}
		for r.reap() {
			r.await()
		}
		r.keepBounds() // the kernel may have ended all for a bound
	}
	if r.pidfd >= 0 {
		unix.Close(r.pidfd)
	}
	_ = s.send(appendNumbers(r.untold, frameGone, uint64(r.killed))) // a lost server is seen by receive
}

func (s *supervisor) start(o *order, r *watch) (err error) {
	files := make([]uintptr, 3)
	fds := o.files
	files[0] = s.null.Fd()
	if o.stdin {
		files[0], fds = uintptr(fds[0]), fds[1:]
	}
	files[1], files[2] = uintptr(fds[0]), uintptr(fds[len(fds)-1])
	attr := &syscall.ProcAttr{Dir: o.dir, Env: o.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &r.pidfd}}
	if o.confined {
		r.pid, err = s.startConfined(o, attr)
		return err
	}
	if !s.namespace { // so that the death of this process ends at least that one
		attr.Sys.Pdeathsig = unix.SIGKILL
	}
	r.pid, err = syscall.ForkExec(o.path, o.argv, attr)
	return err
}

// startConfined starts the command from a thread that nothing else runs on, and
// that ends with the goroutine because it stays locked to it. The command cannot
// ask for a signal at that thread's death.
func (s *supervisor) startConfined(o *order, attr *syscall.ProcAttr) (pid int, err error) {
	if s.confine == nil {
		return 0, &confineError{errors.ErrUnsupported}
	}
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread()
		if err = unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil); err != nil {
			return
		}
		pid, err = s.confine(o.confine, o.path, o.argv, attr)
		if _, exec := err.(syscall.Errno); err != nil && !exec {
			err = &confineError{err}
		}
	}()
	<-started
	return pid, err
}

// bound chooses what keeps the bounds of the command.
func (r *watch) bound(b Bounds) error {
	switch {
	case b == (Bounds{}):
	case r.cgroup:
		r.counters = newCounters(b)
		r.keeper = r.counters
	case r.proc == nil:
		return errNotWatched
	default:
		r.keeper = newGuard(b, r.proc)
	}
	return nil
}

var errNotWatched error = &confineError{errors.New("there is no /proc to watch its bounds by")}

// A confineError is what kept a command from being confined.
type confineError struct{ err error }

func (e *confineError) Error() string { return e.err.Error() }
func (e *confineError) Unwrap() error { return e.err }

// failure is a frame that carries what the server needs to say why: a number and
// for a failed confinement the text.
func failure(err error) []byte {
	errno := syscall.EINVAL
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		errno = e
	}
	confinement := ""
	if ce, ok := errors.AsType[*confineError](err); ok {
		confinement = ce.Error()
	}
	payload := binary.LittleEndian.AppendUint32(nil, uint32(errno))
	return appendFrame(nil, frameFailed, append(payload, confinement...))
}
