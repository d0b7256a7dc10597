package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisedMethods are those with supervisors, the best first.
var supervisedMethods = [...]Method{MethodNamespace, MethodSubreaper}

const (
	readyWait = 10 * time.Second // for a supervisor to be ready, on a busy machine
	sendWait  = 5 * time.Second  // for a supervisor to take an order
	closeWait = 5 * time.Second  // for an idle supervisor to end
	maxIdle   = time.Minute      // a supervisor not needed for as long ends

	// supervisorSlack is how late the timers of a supervisor's threads may be, see
	// prctl(2). One of them, the runtime's, else wakes up every 70 µs while a command runs.
	supervisorSlack = time.Millisecond
	usualSlack      = 50 * time.Microsecond // of what the kernel starts
)

// workers are supervisors, kept for use again. It is the [starter] of Linux.
type workers struct {
	executable string
	how        Method
	thread     *startThread
	watches    bool          // its supervisors can watch bounds
	own        bool          // see [Launcher.OwnProc]
	delegation *delegation   // nil where there is none
	starting   chan struct{} // has a place for each supervisor that gets ready

	mu   sync.Mutex
	idle []*worker // the one used last is at the end
}

// newSupervisedStarter starts a first supervisor, to see whether the method works.
func newSupervisedStarter(executable string, how Method) (starter, error) {
	ws := &workers{executable: executable, how: how, thread: newStartThread(), starting: make(chan struct{}, runtime.NumCPU())}
	ws.delegation, _ = findDelegation()
	w, err := ws.add()
	if err != nil && ws.delegation != nil { // without, bounds are watched
		ws.delegation.close()
		ws.delegation = nil
		w, err = ws.add()
	}
	if err != nil {
		close(ws.thread.calls)
		return nil, err
	}
	ws.watches, ws.own = w.watches, w.own
	ws.put(w)
	return ws, nil
}

func (ws *workers) method() Method { return ws.how }
func (ws *workers) ownProc() bool  { return ws.own }

func (ws *workers) boundsMethod() string {
	switch {
	case ws.delegation != nil:
		return BoundsCgroup
	case ws.watches:
		return BoundsWatched
	}
	return ""
}

func (ws *workers) start(l launch) (*Process, error) {
	for {
		w, fresh, err := ws.obtain()
		if err != nil {
			return nil, err
		}
		p := newProcess(l, w)
		err = w.run(l, p)
		if err == nil {
			return p, nil
		}
		w.end()
		// One that died while it was idle is no reason to fail.
		if _, ok := errors.AsType[*StartError](err); ok || fresh {
			return nil, err
		}
	}
}

// obtain returns an idle worker, or else a fresh one. As many start at once as there
// are processors: more take no less time, and meanwhile the server gets no turn, and
// one that a command leaves is found by who still waits.
func (ws *workers) obtain() (w *worker, fresh bool, err error) {
	if w = ws.take(); w != nil {
		return w, false, nil
	}
	ws.starting <- struct{}{} // each is over within readyWait
	defer func() { <-ws.starting }()
	if w = ws.take(); w != nil {
		return w, false, nil
	}
	w, err = ws.add()
	return w, true, err
}

// take returns an idle worker, or nil if there is none.
func (ws *workers) take() (w *worker) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if n := len(ws.idle); n > 0 {
		w, ws.idle = ws.idle[n-1], ws.idle[:n-1]
		w.expiry.Stop()
	}
	return w
}

// add starts a worker, in a cgroup of its own if there is a delegation.
func (ws *workers) add() (w *worker, err error) {
	var g *cgroup
	if ws.delegation != nil {
		if g, err = ws.delegation.cgroup(); err != nil {
			return nil, fmt.Errorf("make a cgroup: %w", err)
		}
	}
	if w, err = ws.startWorker(g); err == nil {
		go w.read()
	} else if g != nil {
		g.remove()
	}
	return w, err
}

// put makes a worker idle, until it expires.
func (ws *workers) put(w *worker) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.idle = append(ws.idle, w)
	w.expiry = time.AfterFunc(maxIdle, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if i := slices.Index(ws.idle, w); i >= 0 {
			ws.idle = slices.Delete(ws.idle, i, i+1)
			w.end()
		}
	})
}

// close is called when no process runs.
func (ws *workers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.idle {
		w.expiry.Stop()
		w.end()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, w := range ws.idle {
		select {
		case <-w.dead:
		case <-ctx.Done():
		}
	}
	close(ws.thread.calls)
	ws.delegation.close()
}

// A startThread starts processes from one operating system thread that lives as
// long as it does: a process that asked for a signal at the death of its parent
// gets it at the death of the thread that started it (PR_SET_PDEATHSIG, prctl(2)),
// and the runtime ends idle threads as it likes.
type startThread struct{ calls chan func() }

func newStartThread() *startThread {
	t := &startThread{make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(supervisorSlack.Nanoseconds()), 0, 0, 0)
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// do runs f on the thread and waits for it.
func (t *startThread) do(f func()) {
	done := make(chan struct{})
	t.calls <- func() { defer close(done); f() }
	<-done
}

// A worker is a supervisor, seen from the server. It runs one process at a time.
type worker struct {
	pool    *workers
	proc    *os.Process
	conn    *net.UnixConn
	reports *json.Decoder
	cgroup  *cgroup       // nil where there is none; the supervisor is in it
	watches bool          // it can watch bounds
	own     bool          // see [Launcher.OwnProc]
	dead    chan struct{} // closed when the supervisor is gone and reaped
	expiry  *time.Timer   // guarded by pool.mu

	mu      sync.Mutex
	current *Process // what runs in it
	pid     int      // of that, if it is a PID of the server's namespace
	bounds  Bounds   // of that
	lost    bool
}

// startWorker starts a supervisor in the cgroup g, unless that is nil, and waits
// until it is ready. The caller then runs [worker.read].
func (ws *workers) startWorker(g *cgroup) (*worker, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket for the supervisor: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "supervisor")
	defer theirs.Close()
	ours := os.NewFile(uintptr(fds[0]), "supervisor")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("use the socket of the supervisor: %w", err)
	}
	w := &worker{pool: ws, cgroup: g, conn: conn.(*net.UnixConn), dead: make(chan struct{})}
	w.reports = json.NewDecoder(w)
	if err := w.spawn(theirs); err != nil {
		conn.Close()
		return nil, err
	}
	theirs.Close()
	var r report
	_ = conn.SetReadDeadline(time.Now().Add(readyWait))
	err = w.reports.Decode(&r)
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil || !r.Ready || r.Namespace != (ws.how == MethodNamespace) {
		_ = w.proc.Kill()
		conn.Close()
		_, _ = w.proc.Wait()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("no process to start programs with got ready within %v: the machine is overloaded, or does not let %s run", readyWait, ws.executable)
		}
		return nil, fmt.Errorf("the process to start programs with (%s) ended before it was ready; "+
			"a program that uses this package must call Supervise: %w", ws.executable, errors.Join(err, errWire))
	}
	w.watches, w.own = r.Watches, r.OwnProc
	return w, nil
}

func (w *worker) spawn(socket *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	role := roleSubreaper
	sys := &syscall.SysProcAttr{Setsid: true} // a signal at our death would keep a subreaper from its work
	if w.pool.how == MethodNamespace {
		role = roleNamespace
		sys.Pdeathsig = unix.SIGKILL
		sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
			sys.Cloneflags |= unix.CLONE_NEWUSER
			sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
			// To mount /proc, and for a Confiner to make mounts and networks of a process's own,
			// to read the arguments of its calls and to take all of these from it.
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETPCAP}
		}
	}
	files := []*os.File{null, null, null, socket}
	if w.cgroup != nil {
		role += withCgroup
		sys.UseCgroupFD, sys.CgroupFD = true, int(w.cgroup.dir.Fd())
		files = append(files, w.cgroup.events...)
	}
	env := []string{"GOMAXPROCS=2"}
	if dir, set := os.LookupEnv("GOCOVERDIR"); set { // of a program that counts what it runs
		env = append(env, "GOCOVERDIR="+dir)
	}
	w.pool.thread.do(func() {
		w.proc, err = os.StartProcess(w.pool.executable, []string{supervisorName, role}, &os.ProcAttr{Dir: "/", Env: env, Files: files, Sys: sys})
	})
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	return nil
}

// run orders the supervisor to start a process.
func (w *worker) run(l launch, p *Process) error {
	o := order{
		Announce: l.OnStart != nil || w.pool.how == MethodSubreaper, Bounds: l.Bounds, User: l.User, Confined: l.Confine != nil, Confine: l.Confine,
		Path: []byte(l.path), Dir: []byte(l.Dir), Argv: convert[[]byte](l.argv), Env: convert[[]byte](l.Env),
	}
	var fds []int
	for i, f := range []*os.File{l.Stdin, l.Stdout, l.Stderr} {
		if o.Streams[i] = f != nil; f != nil {
			fds = append(fds, int(f.Fd()))
			if info, err := f.Stat(); l.User != 0 && err == nil && info.Mode()&os.ModeNamedPipe != 0 {
				_ = f.Chown(l.User, -1) // or /dev/stdout could not be opened
			}
		}
	}
	msg := o.encode()
	if len(msg) > maxOrder {
		return &StartError{Op: "start", Path: l.path, Err: explain(syscall.E2BIG)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost {
		return ErrSupervisorLost
	}
	if w.cgroup != nil {
		if err := w.cgroup.limit(l.Bounds); err != nil {
			return &StartError{Op: "bound", Path: l.path, Err: err}
		}
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(sendWait))
	n, _, err := w.conn.WriteMsgUnix(msg, unix.UnixRights(fds...), nil)
	if err == nil && n < len(msg) {
		_, err = w.conn.Write(msg[n:])
	}
	if err != nil {
		return fmt.Errorf("send the command to its supervisor: %w", err)
	}
	w.current, w.pid, w.bounds = p, 0, l.Bounds
	return nil
}

// signal and abandon make a worker the [tree] of what runs in it.
func (w *worker) signal(p *Process, sig syscall.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == p { // else it is gone, and the worker may run another
		_ = w.conn.SetWriteDeadline(time.Now().Add(sendWait))
		_, _ = w.conn.Write((&order{Signal: int(sig)}).encode()) // a lost supervisor is seen by read
	}
}

func (w *worker) abandon() { w.end() }

// end has the supervisor kill what runs in it and end, and does not wait for that.
func (w *worker) end() {
	w.conn.Close()
	if w.pool.how == MethodNamespace {
		_ = w.proc.Kill()
	}
}

// read takes the reports of the supervisor until it is gone, and reaps it.
func (w *worker) read() {
	defer close(w.dead)
	for {
		var r report
		if w.reports.Decode(&r) != nil || !w.take(r) {
			break
		}
	}
	w.end()
	_, _ = w.proc.Wait() // a subreaper first kills what is below it
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
	outOfMemory := w.cgroup != nil && w.bounds.Memory > 0 && w.cgroup.ranOut()
	if w.cgroup != nil {
		w.cgroup.remove() // and what is left in it
	}
	if w.current == nil {
		return
	}
	// What a subreaper leaves is out of reach, except for a cgroup and the process group.
	if w.pid > 1 {
		_ = syscall.Kill(-w.pid, syscall.SIGKILL)
	}
	err := ErrSupervisorLost
	if outOfMemory { // the kernel may have killed the supervisor for it
		w.current.exceeded(ExceededMemory)
		err = nil
	}
	w.current.ended(128+int(syscall.SIGKILL), "SIGKILL", err)
	close(w.current.done)
	w.current = nil
}

// Read reads the bytes of reports. A listening socket that comes with them is served.
func (w *worker) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := w.conn.ReadMsgUnix(b, oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return 0, err
	}
	messages, _ := unix.ParseSocketControlMessage(oob[:oobn]) // of what makes no sense there are none
	for i := range messages {
		files, _ := unix.ParseUnixRights(&messages[i])
		for _, fd := range files {
			f := os.NewFile(uintptr(fd), "handed over")
			if l, err := net.FileListener(f); err == nil { // it has a descriptor of its own
				w.serve(l)
			}
			f.Close()
		}
	}
	return n, nil
}

// serve has the holder of the process serve connections to l until the process is gone.
func (w *worker) serve(l net.Listener) {
	w.mu.Lock()
	p := w.current
	w.mu.Unlock()
	if p == nil || p.launch.Serve == nil {
		l.Close()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-p.done; cancel() }()
	go p.launch.Serve(ctx, l)
}

// take acts on a report, and returns false if it makes no sense.
func (w *worker) take(r report) bool {
	w.mu.Lock()
	p := w.current
	if r.Started > 0 && w.pool.how == MethodSubreaper {
		w.pid = r.Started
	}
	if r.Gone {
		w.current = nil
	}
	w.mu.Unlock()
	if p == nil {
		return false
	}
	if r.Started > 0 && p.launch.OnStart != nil {
		p.launch.OnStart()
	}
	if r.Confining != "" {
		p.ended(-1, "", &StartError{Op: "confine", Path: p.launch.path, Err: errors.Join(ErrNoConfinement, errors.New(r.Confining))})
	} else if r.Errno != 0 {
		p.ended(-1, "", &StartError{Op: "start", Path: p.launch.path, Err: explain(syscall.Errno(r.Errno))})
	}
	if r.Exited != nil {
		p.ended(exitOf(syscall.WaitStatus(*r.Exited)))
	}
	if r.Exceeded != "" {
		p.exceeded(r.Exceeded)
	}
	if r.Gone {
		p.gone(r.Refused, r.LeftOver)
		if !r.Ends {
			w.pool.put(w)
		}
		close(p.done)
	}
	return true
}

// explain adds what the number of an execve(2) error does not say.
func explain(errno syscall.Errno) error {
	switch errno {
	case syscall.E2BIG:
		return fmt.Errorf("%w: one argument may have 128 KiB, all with the environment 2 MiB; pass the rest on standard input or in a file", errno)
	case syscall.ENOEXEC:
		return fmt.Errorf("%w: it is neither a program for this machine nor a script with a #! line", errno)
	case syscall.ENOENT:
		return fmt.Errorf("%w: the file or the interpreter it names is missing", errno)
	}
	return os.NewSyscallError("execve", errno)
}
