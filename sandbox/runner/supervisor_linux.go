package runner

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// Descriptors of a supervisor, the last two with a cgroup only.
	supervisorSocket = 3
	pidsEvents       = 4
	memoryEvents     = 5

	roleNamespace = "namespace"
	roleSubreaper = "subreaper"
	withCgroup    = "+cgroup" // appended to the role
)

// Supervise is the life of a supervisor: it runs the commands the server sends
// until the server is gone, and leaves no process behind. It returns the exit
// status for main. confine, which may be nil, serves requests with Confine.
func Supervise(confine Confiner) int {
	// Children ask for a signal at the death of the thread that started them.
	runtime.LockOSThread()
	role, cgroup := strings.CutSuffix(os.Args[1], withCgroup)
	s := &supervisor{namespace: role == roleNamespace, cgroup: cgroup, confine: confine}
	if err := s.prepare(); err != nil {
		return 1
	}
	for {
		kind, payload, files, err := receive(supervisorSocket)
		if err != nil {
			return 0 // the server is gone, and nothing runs
		}
		if kind != frameRun {
			continue // an order to kill what has ended meanwhile
		}
		o, err := decodeRunOrder(payload)
		if err != nil || len(files) < 1 || len(files) > 3 || o.stdin && len(files) < 2 {
			return 1 // the two ends do not speak the same language
		}
		s.run(&order{runOrder: *o, files: files})
	}
}

// A supervisor does all on one thread: what it is asked while a command runs, it
// learns from the same poll(2) that tells it of the end of the command.
type supervisor struct {
	namespace bool
	cgroup    bool // it is in one that keeps the bounds of commands
	confine   Confiner
	null      *os.File
	proc      *procfs // nil where there is none
}

// An order is a runOrder with its descriptors.
type order struct {
	runOrder
	files []int
}

func (s *supervisor) prepare() error {
	debug.SetMemoryLimit(64 << 20)
	// What the server inherited without close-on-exec stops here.
	if err := unix.CloseRange(supervisorSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExecAll()
	}
	// No process of the same user may look into this one or trace it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// A signal with a handler here is at its default in the command, even if the
	// server was started with it ignored.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTERM,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	s.null = null
	if s.namespace {
		if os.Getpid() != 1 {
			return errors.New("not init of a PID namespace")
		}
		mountProc()
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	s.proc = openProcfs()
	goFirst()
	return s.send(appendFrame(nil, frameHello, []byte{flag(s.namespace), flag(s.proc != nil)}))
}

// goFirst has this thread run before all that are not of a real-time policy, where
// that is permitted, so that it gets to end a command whatever number of processes
// compete with it. What it starts is as it would be without.
func goFirst() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0)
}

// mountProc gives the namespace a /proc that shows its own processes, and drops
// the capability that took. Where the mount is refused the one of the host stays.
func mountProc() {
	if unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "") == nil {
		_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	dropCapabilities()
}

// dropCapabilities takes from the calling thread, and so from the commands it
// starts, what a supervisor without root was given to mount /proc.
func dropCapabilities() {
	if os.Geteuid() == 0 {
		return
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_ = unix.Capset(&header, &none[0])
}

func closeOnExecAll() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= supervisorSocket {
			unix.CloseOnExec(fd)
		}
	}
}

func (s *supervisor) send(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(supervisorSocket, b)
		if err != nil && err != unix.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}
