package runner

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// orphanTick is how often orphans are reaped while the main process runs;
	// nothing but wait4(2) tells of them.
	orphanTick = 20 * time.Millisecond
	// firstTick is the first pause while only others than the main process are
	// left; each is twice the one before, up to orphanTick.
	firstTick = 250 * time.Microsecond
)

// A watch sees a command through, in its supervisor.
type watch struct {
	*supervisor
	pid, pidfd int
	counters   counters      // of its cgroup, where there is one
	keeper     keeper        // nil without bounds
	exited     bool          // the main process has
	untold     []byte        // what the server is to be told of that
	killing    bool          // all of it is to be killed
	killed     int           // how many outlived the main process and were killed
	tick       time.Duration // the last pause
}

// reap takes note of every child that ended and says whether any is left. When
// nothing outlives the main process the server is told of both ends at once.
func (r *watch) reap() (left bool) {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		p, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			return false
		case p == 0:
			_ = r.send(r.untold)
			r.untold = nil
			return true
		case status.Stopped(): // one that traces itself, or is traced by its Confiner
		case p == r.pid:
			r.exited, r.tick = true, 0
			cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			r.untold = appendNumbers(nil, frameExited, uint64(status), uint64(cpu.Microseconds()))
		case r.exited && status.Signaled() && status.Signal() == syscall.SIGKILL:
			r.killed++
		}
	}
}

// await returns when the main process has ended, the server has had its say, or
// some time has passed.
func (r *watch) await() {
	look := maxLook
	if r.killing {
		r.killAll() // again: what was started meanwhile
	} else {
		look = r.keepBounds()
	}
	fds := make([]unix.PollFd, 0, 4)
	fds = append(fds, unix.PollFd{Fd: supervisorSocket, Events: unix.POLLIN})
	if !r.exited && r.pidfd >= 0 {
		fds = append(fds, unix.PollFd{Fd: int32(r.pidfd), Events: unix.POLLIN})
	}
	if !r.killing {
		fds = r.counters.poll(fds)
	}
	wait := orphanTick
	if r.exited || r.killing || r.pidfd < 0 { // no pidfd: a kernel before 5.3
		r.tick = min(max(2*r.tick, firstTick), orphanTick)
		wait = r.tick
	}
	timeout := unix.NsecToTimespec(min(wait, look).Nanoseconds())
	if _, err := unix.Ppoll(fds, &timeout, nil); err != nil || fds[0].Revents == 0 {
		return
	}
	kind, _, _, err := receive(supervisorSocket)
	switch {
	case err != nil || kind == frameRun: // gone, or out of its mind
		r.end()
	case kind == frameTerminate:
		r.signalTree(unix.SIGTERM)
	case kind == frameKill:
		r.killing, r.tick = true, 0
		r.killAll()
	}
}

// A keeper keeps the bounds of a command. It says whether one is passed, and when
// to ask again.
type keeper interface {
	look() (excess, time.Duration)
}

// keepBounds kills the command if it passed a bound, and says when to look again.
func (r *watch) keepBounds() time.Duration {
	if r.keeper == nil || r.killing {
		return maxLook
	}
	excess, wait := r.keeper.look()
	if excess == noExcess {
		return wait
	}
	r.killing, r.tick = true, 0
	r.killAll()
	_ = r.send(appendNumbers(nil, frameExceeded, uint64(excess)))
	return firstTick
}

// end kills every process below and then this one.
func (r *watch) end() {
	if r.namespace {
		os.Exit(0) // and the kernel kills the namespace
	}
	for wait := firstTick; r.reap(); wait = min(2*wait, orphanTick) {
		r.proc.killDescendants()
		time.Sleep(wait)
	}
	os.Exit(0)
}

// killAll kills what there is. Processes of a namespace all get the signal of one
// kill(2), and none can fork any more. Without one the group comes first, because
// that takes no time even if it has thousands.
func (r *watch) killAll() {
	if r.namespace {
		_ = unix.Kill(-1, unix.SIGKILL)
		return
	}
	if !r.exited { // later the number may be another's
		_ = unix.Kill(-r.pid, unix.SIGKILL)
	}
	r.proc.killDescendants()
}

func (s *supervisor) signalTree(sig unix.Signal) {
	if s.namespace {
		_ = unix.Kill(-1, sig)
	} else {
		signalAll(descendants(), sig)
	}
}
