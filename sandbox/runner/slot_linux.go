package runner

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	helloWait = 10 * time.Second // for a supervisor to be ready, on a busy machine
	sendWait  = 5 * time.Second  // for a supervisor to take an order
)

// A slot is a supervisor, seen from the server. It runs one command at a time.
type slot struct {
	how     Method
	proc    *os.Process
	conn    *net.UnixConn
	frames  *bufio.Reader
	cgroup  *cgroup       // nil where there is none; the supervisor is in it
	watches bool          // it can keep bounds
	dead    chan struct{} // closed when the supervisor is gone and reaped

	mu      sync.Mutex
	current *supervised // what runs in it
	bounds  Bounds      // of that
	lost    bool
}

// startSlot starts a supervisor in the cgroup g, unless that is nil, and waits until
// it is ready. The caller then runs [slot.read]. The slot removes the cgroup.
func startSlot(executable string, how Method, l *launcher, g *cgroup) (s *slot, err error) {
	defer func() {
		if err != nil && g != nil {
			g.remove()
		}
	}()
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
	s = &slot{how: how, cgroup: g, conn: conn.(*net.UnixConn), dead: make(chan struct{})}
	if err := s.spawn(executable, theirs, l); err != nil {
		s.conn.Close()
		return nil, err
	}
	theirs.Close()
	s.frames = bufio.NewReaderSize(s.conn, 512)
	_ = s.conn.SetReadDeadline(time.Now().Add(helloWait))
	kind, payload, err := readFrame(s.frames)
	_ = s.conn.SetReadDeadline(time.Time{})
	if err != nil || kind != frameHello || len(payload) != 2 || payload[0] != flag(how == MethodNamespace) {
		_ = s.proc.Kill()
		s.conn.Close()
		_, _ = s.proc.Wait()
		return nil, fmt.Errorf("the supervisor %q did not get ready: it must be a program whose main calls Supervise: %w", executable, errors.Join(err, errFrame))
	}
	s.watches = payload[1] == 1
	return s, nil
}

func (s *slot) spawn(executable string, socket *os.File, l *launcher) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	role := roleSubreaper
	sys := &syscall.SysProcAttr{Setsid: true} // a signal at our death would keep a subreaper from its work
	if s.how == MethodNamespace {
		role = roleNamespace
		sys.Pdeathsig = unix.SIGKILL
		sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
			sys.Cloneflags |= unix.CLONE_NEWUSER
			sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
			// To mount /proc, and for a Confiner to make mounts and networks of a command's own.
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
		}
	}
	files := []*os.File{null, null, null, socket}
	if s.cgroup != nil {
		role += withCgroup
		sys.UseCgroupFD, sys.CgroupFD = true, int(s.cgroup.dir.Fd())
		files = append(files, s.cgroup.events...)
	}
	l.do(func() {
		s.proc, err = os.StartProcess(executable, []string{supervisorName, role}, &os.ProcAttr{
			Dir:   "/",
			Env:   []string{"GOMAXPROCS=2"},
			Files: files,
			Sys:   sys,
		})
	})
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	return nil
}

// read takes what the supervisor says until it is gone, and reaps it.
func (s *slot) read() {
	defer close(s.dead)
	for {
		kind, payload, err := readFrame(s.frames)
		if err == nil {
			err = s.dispatch(kind, payload)
		}
		if err != nil {
			break
		}
	}
	s.mu.Lock()
	s.lost = true
	cmd, bounds := s.current, s.bounds
	s.mu.Unlock()
	s.conn.Close()
	if s.how == MethodNamespace {
		_ = s.proc.Kill()
	}
	_, _ = s.proc.Wait() // a subreaper first ends what is below it
	ranOut := s.cgroup != nil && bounds.Memory > 0 && s.cgroup.ranOut()
	if s.cgroup != nil {
		s.cgroup.remove() // and what is left in it
	}
	if cmd != nil {
		cmd.lose(ranOut)
	}
}

func (s *slot) dispatch(kind frameKind, payload []byte) error {
	s.mu.Lock()
	cmd := s.current
	if kind == frameGone {
		s.current = nil
	}
	s.mu.Unlock()
	if cmd == nil {
		return errFrame
	}
	switch kind {
	case frameStarted:
		n, err := numbers(payload, 1)
		if err != nil {
			return err
		}
		cmd.begin(int(n[0]))
	case frameFailed:
		if len(payload) < 4 {
			return errFrame
		}
		cmd.fail(syscall.Errno(binary.LittleEndian.Uint32(payload)), string(payload[4:]))
	case frameExited:
		n, err := numbers(payload, 2)
		if err != nil {
			return err
		}
		cmd.exit(exitOf(syscall.WaitStatus(n[0]), time.Duration(n[1])*time.Microsecond))
	case frameExceeded:
		n, err := numbers(payload, 1)
		if err != nil {
			return err
		}
		cmd.excess.Store(n[0])
	case frameGone:
		n, err := numbers(payload, 1)
		if err != nil {
			return err
		}
		cmd.vanish(int(n[0]))
	default:
		return errFrame
	}
	return nil
}

// run hands a command to the supervisor.
func (s *slot) run(l launch, cmd *supervised) error {
	o := runOrder{path: l.path, dir: l.dir, stdin: l.stdin != nil, announce: l.announce || s.how == MethodSubreaper, confine: l.confine, confined: l.confine != nil, bounds: l.bounds, argv: l.argv, env: l.env}
	var fds []int
	for _, f := range []*os.File{l.stdin, l.stdout, l.stderr} {
		if f != nil {
			fds = append(fds, int(f.Fd()))
		}
	}
	msg := appendFrame(nil, frameRun, o.encode())
	if len(msg) > maxFrame {
		return &StartError{Op: "start", Path: l.path, Err: syscall.E2BIG}
	}
	s.mu.Lock()
	if s.lost {
		s.mu.Unlock()
		return ErrSupervisorLost
	}
	if s.cgroup != nil {
		if err := s.cgroup.limit(l.bounds); err != nil {
			s.mu.Unlock()
			return &StartError{Op: "bound", Path: l.path, Err: err}
		}
	}
	s.current, s.bounds = cmd, l.bounds
	s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendWait))
	n, _, err := s.conn.WriteMsgUnix(msg, unix.UnixRights(fds...), nil)
	if err == nil && n < len(msg) {
		_, err = s.conn.Write(msg[n:])
	}
	if err != nil {
		return fmt.Errorf("hand the command to its supervisor: %w", err)
	}
	return nil
}

func (s *slot) order(kind frameKind) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendWait))
	_, _ = s.conn.Write(appendFrame(nil, kind, nil)) // a lost supervisor is seen by read
}

// giveUp ends a supervisor that nothing reads from yet.
func (s *slot) giveUp() {
	s.end()
	_, _ = s.proc.Wait()
}

// end gives the supervisor up: it ends what runs in it and then itself. It does
// not wait; dead is closed when that is done.
func (s *slot) end() {
	s.conn.Close()
	if s.how == MethodNamespace {
		_ = s.proc.Kill()
	}
}
