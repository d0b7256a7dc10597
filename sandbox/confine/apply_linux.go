package confine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/broker"
	"github.com/toolserver/toolserver/sandbox/process"
)

// Confiner returns a process.Confiner: it restricts the calling thread by what
// [Spec.Encode] returned and starts the one command that is to run so from it. The
// goroutine must be locked to its thread, and the thread must end with it. A thread
// that still has the capabilities of its supervisor gets the namespaces too; none is
// left to the command. A bare [syscall.Errno] means that the program could not be
// started, as from [syscall.ForkExec]; any other error is about the confinement.
func Confiner() process.Confiner { return (&starter{nobody: sync.OnceValue(nobody)}).start }

// A starter starts commands one after the other, mostly under the same spec.
type starter struct {
	nobody     func() int
	spec       []byte
	plan       *plan // that of spec
	restricted *plan // that of the thread, if it can be used again
}

func (s *starter) start(spec []byte, path string, argv []string, attr *syscall.ProcAttr, handOver func(fd int) error) (c process.Confined, err error) {
	p := s.restricted
	if s.restricted = nil; p != nil && (!bytes.Equal(spec, s.spec) || !p.notes.holds()) {
		p.release()
		return c, process.ErrThreadUsed
	}
	if !bytes.Equal(spec, s.spec) {
		p, err := decodePlan(spec)
		if err != nil {
			return c, err
		}
		s.spec, s.plan = spec, p
	}
	if p == nil {
		p = new(*s.plan) // apply changes it
		p.nobody = s.nobody
		p.notes.watch(p.mounts, p.grants)
		p.lock, _ = unix.Open(p.Lock, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if p.listener, err = p.apply(handOver); err != nil {
			p.release()
			return c, err
		}
		p.notes.group(p.mounts, p.grants)
	}
	listener := -1
	if p.broker != nil { // which closes it
		if listener, err = unix.FcntlInt(uintptr(p.listener), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			p.release()
			return c, os.NewSyscallError("fcntl", err)
		}
	}
	c.Made, c.InMemory = new(atomic.Int64), p.inMemory
	user := 0
	if attr.Sys != nil && attr.Sys.Credential != nil {
		user = int(attr.Sys.Credential.Uid)
	}
	c.Serve = func(stop int) (refused []process.Refusal, again bool) {
		return s.serve(p, listener, stop, user, c.Made)
	}
	if p.Limits == (Limits{}) {
		c.Pid, err = syscall.ForkExec(path, argv, attr)
	} else {
		if attr.Sys == nil {
			attr.Sys = new(syscall.SysProcAttr)
		}
		c.Pid, err = startLimited(path, argv, attr, p.Limits, user)
	}
	if err != nil {
		unix.Close(listener)
		p.release()
	}
	return c, err
}

// serve does for a command what that may not do itself, and says after its end whether
// the thread can be used again.
func (s *starter) serve(p *plan, listener, stop, user int, made *atomic.Int64) (refused []process.Refusal, again bool) {
	if p.broker != nil {
		temp := ""
		if p.Temp != "" {
			temp = temporary
		}
		refused = p.broker.Serve(listener, stop, p.lock, user, temp, made)
	}
	for err := unix.EINTR; err == unix.EINTR; { // until it is written to
		_, _, err = unix.Syscall(unix.SYS_READ, uintptr(stop), uintptr(unsafe.Pointer(new(uint64))), 8)
	}
	// A network would keep the addresses of connections for a while, and covers the times
	// of what they are over.
	if p.Network == Loopback || p.Network == Proxied || p.covered || p.notes.left(p.separated) {
		p.release()
		return refused, false
	}
	s.restricted = p
	return refused, true
}

// apply puts the layers on, each before what it needs is gone: mounts take
// capabilities and calls that seccomp refuses. Listener is for the broker, and negative
// if there is none.
func (p *plan) apply(handOver func(fd int) error) (listener int, err error) {
	missing := func(err error) error {
		if p.BestEffort && errors.Is(err, ErrUnsupported) {
			return nil
		}
		return err
	}
	mounted, err := p.separate()
	if err := missing(err); err != nil {
		return -1, err
	}
	if !mounted {
		p.Temp = ""
	}
	p.findInMemory()
	if p.Network == Loopback || p.Network == Proxied {
		err := enterNetNamespace()
		if err == nil && p.Network == Proxied {
			err = listen(handOver)
		}
		if err := missing(err); err != nil {
			return -1, err
		}
		if err != nil {
			p.Network = None
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl", err)
	}
	abi := 0
	if !p.WithoutLandlock {
		abi = landlockABI()
	}
	if abi > 0 {
		if err := p.landlock(abi); err != nil {
			return -1, fmt.Errorf("restrict files: %w", err)
		}
	} else if err := missing(fmt.Errorf("restrict files: %w: no Landlock", ErrUnsupported)); err != nil {
		return -1, err
	}
	if err := dropCapabilities(abi > 0); err != nil {
		return -1, err
	}
	if abi == 0 { // a broker takes calls by which commands could look into other processes
		p.broker = nil
	}
	if p.broker != nil {
		if listener, err = p.filter(mounted, abi).install(true); err == nil {
			return listener, nil
		}
		if err := missing(err); err != nil {
			return -1, err
		}
		p.broker = nil
	}
	_, err = p.filter(mounted, abi).install(false)
	return -1, missing(err)
}

// separate gives the thread mounts of its own where it may. Without, it fails if
// less would be enforced than [Spec.Missing] tells.
func (p *plan) separate() (mounted bool, err error) {
	switch {
	case p.WithoutMounts:
		err = fmt.Errorf("hide or protect files: %w without a mount namespace", ErrUnsupported)
	case !mayAdminister():
		err = fmt.Errorf("make a mount namespace: %w: the right to is missing", ErrUnsupported)
	default:
		if err = enterMountNamespace(); err == nil {
			p.separated = true
			return true, p.mount()
		}
	}
	if reported := p.WithoutMounts || !p.ExecList && !p.AllowMetadata; reported && !p.needsMounts() {
		err = nil
	}
	return false, err
}

// Wrap fails: on this system [Start] confines commands, from a supervisor.
func Wrap(spec []byte, path string, argv []string) (string, []string, error) {
	return "", nil, fmt.Errorf("confine a command: %w without a supervisor", ErrUnsupported)
}

// kept are the capabilities a command run by root keeps: those by which root
// uses files and processes of others. Landlock and mounts restrict these; nothing
// restricts the others.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes from the calling thread what its commands do not get, for good:
// no new privileges and the bounding set keep an exec by root from giving it back. What a
// broker needs besides, which has Landlock beside it, stays with the thread.
func dropCapabilities(brokered bool) error {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // kernels before 4.3 have none
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	commands := uint32(0)
	if unix.Geteuid() == 0 {
		commands = kept
	}
	for c := uintptr(0); ; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // there are no more
		}
		if has != 0 && (c >= 32 || commands&(1<<c) == 0) {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // see below
		}
	}
	// By this one a broker reads the arguments of calls. It opens everything that has the
	// same Landlock domain, the broker itself too, so that a command by root must lose it:
	// by the bounding set, which takes the right to change that.
	keep := commands
	if left, _ := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_PTRACE, 0, 0, 0); brokered && (commands == 0 || left == 0) {
		keep |= 1 << unix.CAP_SYS_PTRACE
	}
	data[0] = unix.CapUserData{Effective: data[0].Effective & keep, Permitted: data[0].Permitted & keep}
	data[1] = unix.CapUserData{}
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}

// mayAdminister says whether the calling thread may make namespaces and mounts.
func mayAdminister() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// startLimited starts the command stopped at its first instruction, sets its
// limits, and lets it go: nothing it starts can be without them. Limits cannot be
// set before, because they would be those of the calling process.
func startLimited(path string, argv []string, attr *syscall.ProcAttr, limits Limits, user int) (int, error) {
	attr.Sys.Ptrace = true
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, err // as it is: see Start
	}
	if err = awaitStop(pid); err == nil {
		if user != 0 { // whose process has its limits set by the same real user only
			const same = ^uintptr(0)
			_, _, _ = unix.RawSyscall(unix.SYS_SETRESGID, uintptr(user), same, same)
			_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), same, same)
			defer unix.RawSyscall(unix.SYS_SETRESGID, uintptr(unix.Getegid()), same, same)
			defer unix.RawSyscall(unix.SYS_SETRESUID, uintptr(unix.Geteuid()), same, same)
		}
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
			// A signal that came before the first instruction is lost, except
			// those that end the command, which do so when it goes on.
			if err := unix.PtraceCont(pid, int(status.StopSignal())); err != nil {
				return os.NewSyscallError("ptrace", err)
			}
		default:
			return unix.ECHILD // something killed it
		}
	}
}

// spareTasks is how many tasks a supervisor may have itself.
const spareTasks = 32

// processes returns how many tasks the kernel lets there be, above which nobody has to watch:
// in a user namespace of the supervisor's own, which from Linux 5.14 on has a count of its own.
func (l Limits) processes() uint64 {
	if l.Processes == 0 || unix.Geteuid() == 0 || unix.Getpid() != 1 || !ownCounts() {
		return 0
	}
	return l.Processes + spareTasks
}

// ownCounts reports whether this kernel counts tasks for each user namespace.
func ownCounts() bool {
	var name unix.Utsname
	var major, minor int
	_ = unix.Uname(&name)
	_, _ = fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major > 5 || major == 5 && minor >= 14
}

// set gives the limits to a process.
func (l Limits) set(pid int) error {
	for _, t := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_NOFILE, l.OpenFiles},
		{unix.RLIMIT_FSIZE, l.FileSize},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NPROC, l.processes()},
	} {
		if t.most == 0 && t.resource != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Prlimit(pid, t.resource, nil, &now); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
		most := min(t.most, now.Max)
		limit := unix.Rlimit{Cur: most, Max: most}
		_, _, errno := unix.Syscall6(unix.SYS_PRLIMIT64, uintptr(pid), uintptr(t.resource), uintptr(unsafe.Pointer(&limit)), 0, 0, uintptr(broker.Pass()))
		if errno != 0 {
			return os.NewSyscallError("prlimit", errno)
		}
	}
	return nil
}
