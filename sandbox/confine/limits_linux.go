package confine

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// startLimited starts the command stopped at its first instruction, sets its
// limits, and lets it go: nothing it starts can be without them. Limits cannot be
// set before, because they would be those of the calling process.
func startLimited(path string, argv []string, attr *syscall.ProcAttr, limits Limits) (int, error) {
	attr.Sys.Ptrace = true
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, err // as it is: see Start
	}
	if err = awaitStop(pid); err == nil {
		err = limits.set(pid)
	}
	if err == nil {
		err = os.NewSyscallError("ptrace", unix.PtraceDetach(pid))
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		return 0, fmt.Errorf("limit the command: %w", err)
	}
	return pid, nil
}

func awaitStop(pid int) error {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case status.Stopped() && status.StopSignal() == unix.SIGTRAP:
			return nil
		case status.Stopped():
			// A signal that came before the first instruction is lost, but for
			// those that end the command, which do so when it goes on.
			if err := unix.PtraceCont(pid, int(status.StopSignal())); err != nil {
				return os.NewSyscallError("ptrace", err)
			}
		default:
			return unix.ECHILD // something killed it
		}
	}
}

// set gives the limits to a process.
func (l Limits) set(pid int) error {
	for _, t := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_NOFILE, l.OpenFiles},
		{unix.RLIMIT_FSIZE, l.FileSize},
		{unix.RLIMIT_CPU, l.CPUSeconds},
		// Not RLIMIT_AS: runtimes reserve far more addresses than they use.
		{unix.RLIMIT_DATA, l.Memory},
		{unix.RLIMIT_CORE, 0},
	} {
		if t.most == 0 && t.resource != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Prlimit(pid, t.resource, nil, &now); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
		most := min(t.most, now.Max)
		if err := unix.Prlimit(pid, t.resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	return nil
}
