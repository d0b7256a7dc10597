package process

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

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

// Supervise is the main function of a supervisor: it starts what the server orders
// until the server is gone, and leaves no process behind. It returns the exit status
// for main. confine, which may be nil, serves specs with Confine.
func Supervise(confine Confiner) int {
	// Children ask for a signal at the death of the thread that started them.
	runtime.LockOSThread()
	role, cgroup := strings.CutSuffix(os.Args[1], withCgroup)
	s := &supervisor{namespace: role == roleNamespace, cgroup: cgroup, confine: confine, socket: os.NewFile(supervisorSocket, "server")}
	if err := s.prepare(); err != nil {
		return 1
	}
	for {
		o, files, err := receive(s.socket)
		switch {
		case errors.Is(err, errWire):
			return 1
		case err != nil:
			return 0 // the server is gone, and nothing runs
		case o.Signal == 0: // else a signal to what has ended meanwhile
			s.run(o, files)
		}
	}
}

// A supervisor does everything on one thread: the poll(2) that reports the end of
// the process also reports orders that come while it runs.
type supervisor struct {
	namespace bool
	cgroup    bool // it is in one that keeps the bounds
	confine   Confiner
	thread    *thread // of confined processes; nil if there is none to use again
	stop      event   // ends what serves a confined process
	done      event   // a thread has started a process, or served it
	socket    *os.File
	null      *os.File
	proc      *procfs // nil where there is none, which only a namespace can do without
	disk      *diskGuard
}

func (s *supervisor) prepare() error {
	debug.SetMemoryLimit(64 << 20)
	// What the server inherited without close-on-exec stops here.
	if unix.CloseRange(supervisorSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil { // a kernel before 5.11
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= supervisorSocket {
				unix.CloseOnExec(fd)
			}
		}
	}
	s.disk = newDiskGuard()
	usualTimers()
	// No process of the same user may look into this one or trace it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// A signal with a handler here is at its default in the process, even if the
	// server was started with it ignored.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTERM,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return err
	}
	var err error
	if s.stop, err = newEvent(); err == nil {
		s.done, err = newEvent()
	}
	if err != nil {
		return err
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if s.namespace {
		if os.Getpid() != 1 {
			return errors.New("not init of a PID namespace")
		}
		mountProc()
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	s.proc, err = openProcfs()
	s.disk.proc = s.proc
	if !s.namespace {
		if err != nil {
			return err
		}
		if s.proc.self != strconv.Itoa(os.Getpid()) {
			return errors.New("/proc is that of another PID namespace")
		}
	}
	// This thread runs before all without a real-time policy, where that is permitted,
	// so that it gets to kill a tree however many processes compete with it.
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0)
	s.send(report{Ready: true, Namespace: s.namespace, Watches: s.proc != nil, OwnProc: s.proc != nil && s.proc.self == strconv.Itoa(os.Getpid())})
	return nil
}

// CheckUsers returns why [Spec.User] cannot be that of another user than this process's.
func CheckUsers() error {
	var data [2]unix.CapUserData
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_SYS_PTRACE
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	if err == nil && (os.Geteuid() != 0 || data[0].Effective&needed != needed) {
		err = errors.New("the server has to run as root, with the capabilities SETUID, SETGID and SYS_PTRACE")
	}
	return err
}

// usualTimers gives the timers of the calling thread, and of what it starts, their usual
// precision.
func usualTimers() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(usualSlack.Nanoseconds()), 0, 0, 0)
}

// mountProc gives the namespace a /proc that shows its own processes. Where the mount is
// refused the one of the host stays. It takes from the calling thread, and so from what
// it starts, the capabilities that a supervisor without root was given for that.
func mountProc() {
	if unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "") == nil {
		_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if os.Geteuid() != 0 {
		_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		_ = unix.Capset(&header, &make([]unix.CapUserData, 2)[0])
	}
}

// send sends a report. That the server is lost is seen by receive.
func (s *supervisor) send(r report) {
	b, _ := json.Marshal(r)
	_, _ = s.socket.Write(b)
}

var errNoProc = errors.New("there is no /proc to watch its bounds by")

// run starts one process and returns when nothing of its tree is left.
func (s *supervisor) run(o *order, files []int) {
	w, stuck := watch{supervisor: s, pidfd: -1}, false
	err := errNoProc
	if s.proc != nil || o.Bounds == (Bounds{}) || s.cgroup && o.Bounds.Disk == 0 {
		w.keepers = s.keepers(o.Bounds)
		err = s.start(o, files, &w)
	}
	closeAll(files)
	if errno, ok := err.(syscall.Errno); ok {
		w.last = report{Errno: int(errno)}
	} else if err != nil {
		w.last = report{Confining: err.Error()}
	} else {
		if o.Announce {
			s.send(report{Started: w.pid})
		}
		for w.reap() {
			w.await()
		}
		if w.cgroup { // the kernel may have killed all for a bound
			w.keepBounds()
		}
		if s.proc != nil && s.disk.end() && !w.killing {
			w.last.Exceeded = ExceededDisk
		}
		stuck = !w.endServing()
	}
	if w.pidfd >= 0 {
		unix.Close(w.pidfd)
	}
	w.last.Gone, w.last.Ends, w.last.LeftOver = true, stuck, w.leftOver
	s.send(w.last)
	if stuck { // which ends with the process, as soon as the kernel lets it
		os.Exit(1)
	}
}

func (s *supervisor) keepers(b Bounds) (list []keeper) {
	if s.cgroup {
		list = append(list, newCounters(b))
	} else if b.Processes > 0 || b.Memory > 0 {
		list = append(list, newGuard(b, s.proc, s.disk.grown))
	}
	if b.Disk > 0 {
		list = append(list, s.disk)
	}
	s.disk.begin(b.Disk)
	return list
}

// start starts the process. A bare number as the error is that of execve(2), see
// [Confiner].
func (s *supervisor) start(o *order, files []int, w *watch) (err error) {
	streams := make([]uintptr, maxStreams)
	for i, given := range o.Streams {
		if streams[i] = s.null.Fd(); given {
			streams[i], files = uintptr(files[0]), files[1:]
		}
	}
	path, argv := string(o.Path), convert[string](o.Argv)
	attr := &syscall.ProcAttr{
		Dir: string(o.Dir), Env: convert[string](o.Env), Files: streams,
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &w.pidfd},
	}
	if o.User != 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(o.User), Gid: uint32(o.User)}
	}
	if o.Confined {
		return w.startConfined(o.Confine, path, argv, attr)
	}
	if !s.namespace { // so that the death of this process ends at least that one
		attr.Sys.Pdeathsig = unix.SIGKILL
	}
	w.pid, err = syscall.ForkExec(path, argv, attr)
	return err
}

// startConfined starts the process from a thread that nothing else runs on. The
// process cannot ask for a signal at that thread's death.
func (w *watch) startConfined(spec []byte, path string, argv []string, attr *syscall.ProcAttr) (err error) {
	if w.confine == nil {
		return errors.ErrUnsupported
	}
	call := func() (again bool) {
		var c Confined
		if err = unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil); err == nil {
			c, err = w.confine(spec, path, argv, attr, handOver)
		}
		w.pid, w.served = c.Pid, err == nil && c.Serve != nil
		w.disk.started(c)
		serve := w.served
		w.done.set()
		if serve {
			w.refused, w.again = c.Serve(int(w.stop))
			again = w.again
			w.done.set()
		}
		return again
	}
	for used := true; used; used = used && errors.Is(err, ErrThreadUsed) {
		if used = w.thread != nil; !used {
			if w.thread, err = newThread(); err != nil {
				return err
			}
		}
		w.thread.call = call
		w.thread.called.set()
		if w.done.wait(); !w.served {
			w.thread = nil
		}
	}
	return err
}

// serveWait bounds how long a thread that serves may take to end. It hangs if it waits for a
// file system that does not answer.
const serveWait = 2 * time.Second

// endServing is called when nothing of the process is left. It returns false if the thread
// that served it hangs.
func (w *watch) endServing() bool {
	if w.served {
		w.stop.set()
		wait := unix.NsecToTimespec(serveWait.Nanoseconds())
		if n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(w.done), Events: unix.POLLIN}}, &wait, nil); n == 0 && err == nil {
			return false
		}
		w.done.wait()
		if w.last.Refused = w.refused; !w.again {
			w.thread = nil
		}
	}
	return true
}

// A thread calls functions until one returns false. It ends with its goroutine, which
// stays locked to it.
type thread struct {
	called event
	call   func() (again bool)
}

func newThread() (*thread, error) {
	called, err := newEvent()
	t := &thread{called: called}
	if err != nil {
		return nil, err
	}
	GoOnThread(func() {
		defer unix.Close(int(called))
		usualTimers()
		for again := true; again; {
			called.wait()
			again = t.call()
		}
	})
	return t, nil
}

// An event is an eventfd(2). Threads wait for each other by these, because channels wake
// others up too.
type event int

func newEvent() (event, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	return event(fd), os.NewSyscallError("eventfd", err)
}

func (e event) set() { _, _ = unix.Write(int(e), []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (e event) wait() {
	var b [8]byte
	for {
		if _, err := unix.Read(int(e), b[:]); err != unix.EINTR {
			return
		}
	}
}

// handOver sends a descriptor between two reports.
func handOver(fd int) error {
	return os.NewSyscallError("sendmsg", unix.Sendmsg(supervisorSocket, []byte("\n"), unix.UnixRights(fd), nil, 0))
}

const (
	// orphanTick is how often orphans are reaped while the main process runs;
	// only wait4(2) reports them.
	orphanTick = 20 * time.Millisecond
	// firstTick is the first pause while only others than the main process are
	// left; each is twice the one before, up to orphanTick.
	firstTick = 250 * time.Microsecond
)

// A watch follows a process tree to its end, in its supervisor.
type watch struct {
	*supervisor
	pid, pidfd int
	keepers    []keeper
	exited     bool          // the main process has
	last       report        // not sent yet
	killing    bool          // all of it is to be killed
	leftOver   int           // how many were killed after the main process had ended
	tick       time.Duration // the last pause

	// Of a confined process:
	served  bool // by its thread
	refused []Refusal
	again   bool // the thread can start another
}

// A keeper keeps the bounds of a tree. It returns the bound that is passed, if one
// is, and when to ask again.
type keeper interface {
	look() (exceeded string, again time.Duration)
}

// reap takes note of every child that ended and returns whether any is left. When
// nothing outlives the main process, both ends are one report.
func (w *watch) reap() (left bool) {
	for {
		var status syscall.WaitStatus
		p, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			return false
		case p == 0:
			if w.last.Exited != nil {
				w.send(w.last)
				w.last = report{}
			}
			return true
		case status.Stopped(): // one that traces itself, or is traced by its Confiner
		case p == w.pid:
			w.exited, w.tick = true, 0
			raw := int(status)
			w.last.Exited = &raw
		case w.exited && w.killing && status.Signal() == unix.SIGKILL:
			w.leftOver++
		}
	}
}

// await returns when the main process has ended, an order was carried out, or some
// time has passed.
func (w *watch) await() {
	look := maxLook
	if w.killing {
		w.killAll() // again: what was started meanwhile
	} else {
		look = w.keepBounds()
	}
	fds := append(make([]unix.PollFd, 0, 2), unix.PollFd{Fd: supervisorSocket, Events: unix.POLLIN})
	wait := orphanTick
	if !w.exited {
		fds = append(fds, unix.PollFd{Fd: int32(w.pidfd), Events: unix.POLLIN})
	}
	if w.exited || w.killing || w.pidfd < 0 { // no pidfd: a kernel before 5.3
		w.tick = min(max(2*w.tick, firstTick), orphanTick)
		wait = w.tick
	}
	timeout := unix.NsecToTimespec(min(wait, look).Nanoseconds())
	if _, err := unix.Ppoll(fds, &timeout, nil); err != nil || fds[0].Revents == 0 {
		return
	}
	o, files, err := receive(w.socket)
	switch {
	case err != nil || len(files) > 0 || o.Signal == 0: // the server is gone, or broken
		w.end()
	case o.Signal == int(unix.SIGKILL):
		w.startKilling()
	case w.namespace:
		_ = unix.Kill(-1, unix.Signal(o.Signal))
	default:
		for _, name := range w.proc.processes(math.MaxInt) {
			if pid, err := strconv.Atoi(name); err == nil {
				_ = unix.Kill(pid, unix.Signal(o.Signal))
			}
		}
	}
}

// keepBounds kills the tree if it passed a bound, and returns when to look again.
func (w *watch) keepBounds() time.Duration {
	wait := maxLook
	if w.killing {
		return wait
	}
	for _, k := range w.keepers {
		exceeded, again := k.look()
		wait = min(wait, again)
		if exceeded != "" {
			w.startKilling()
			w.send(report{Exceeded: exceeded})
			return firstTick
		}
	}
	return wait
}

// end kills every process below and then this one.
func (w *watch) end() {
	if w.namespace {
		os.Exit(0) // and the kernel kills the namespace
	}
	for wait := firstTick; w.reap(); wait = min(2*wait, orphanTick) {
		w.proc.kill()
		time.Sleep(wait)
	}
	os.Exit(0)
}

func (w *watch) startKilling() {
	w.killing, w.tick = true, 0
	w.killAll()
}

// killAll kills what there is. Processes of a namespace all get the signal of one
// kill(2), and none can fork any more. Without one the group comes first, because
// that takes no time even if it has thousands.
func (w *watch) killAll() {
	if w.namespace {
		_ = unix.Kill(-1, unix.SIGKILL)
		return
	}
	if !w.exited { // later the number may be another's
		_ = unix.Kill(-w.pid, unix.SIGKILL)
	}
	w.proc.kill()
}
