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
	if r.killing {
		r.killAll() // again: what was started meanwhile
	}
	fds := []unix.PollFd{{Fd: supervisorSocket, Events: unix.POLLIN}, {Fd: int32(r.pidfd), Events: unix.POLLIN}}
	wait := orphanTick
	if r.exited || r.killing || r.pidfd < 0 { // no pidfd: a kernel before 5.3
		r.tick = min(max(2*r.tick, firstTick), orphanTick)
		wait = r.tick
	}
	if r.exited {
		fds = fds[:1]
	}
	timeout := unix.NsecToTimespec(wait.Nanoseconds())
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

// end kills every process below and then this one.
func (r *watch) end() {
	if r.namespace {
		os.Exit(0) // and the kernel kills the namespace
	}
	for wait := firstTick; r.reap(); wait = min(2*wait, orphanTick) {
		killDescendants()
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
	killDescendants()
}

func (s *supervisor) signalTree(sig unix.Signal) {
	if s.namespace {
		_ = unix.Kill(-1, sig)
	} else {
		signalAll(descendants(), sig)
	}
}
