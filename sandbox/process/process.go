package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A Spec is a process to start. Exactly one of Shell and Argv is set.
type Spec struct {
	// Shell is a text for the shell: bash if installed, else sh; on Windows cmd.exe.
	Shell string
	// Argv is a program and its arguments, started without a shell. A program named
	// without a slash is looked up in the PATH of Env; a relative path starts at Dir.
	Argv []string
	// Program is the file of the program of Argv, for who has looked it up.
	Program string
	// Dir is the working directory; empty means that of the server.
	Dir string
	// Env is the complete environment, as NAME=value; only PWD is added. [MinimalEnv]
	// makes one that holds no secret of the server.
	Env []string
	// Stdin, Stdout and Stderr are the standard streams; nil means the null device.
	// The caller closes them once Start has returned.
	Stdin, Stdout, Stderr *os.File
	// Bounds limit all processes of the tree together.
	Bounds Bounds
	// Confine is passed to the [Confiner] of the supervisor, which restricts the
	// process before it starts. A spec with Confine fails where there is none.
	Confine []byte
	// User is by whose ID and group of the same number the process runs, without root's rights; zero for those of the server. It takes a
	// supervisor that is root.
	User int
	// Serve, when set, is given the listening socket that the [Confiner] made for the
	// process, if it did. ctx ends when no process is left, and Serve must return then.
	Serve func(ctx context.Context, l net.Listener)
	// OnStart, when set, is called once the program runs. It must not block.
	OnStart func()
}

// Bounds limit a process tree. A tree that passes one is killed, and
// [Exit.Exceeded] says which. Zero fields limit nothing.
//
// With [BoundsWatched] a tree can pass one for some milliseconds, and of what is in
// memory but not mapped only memfd_create(2) counts. Disk is always watched.
type Bounds struct {
	// Processes is how many there may be at once, counting threads and zombies.
	Processes int
	// Memory is how many bytes they may use, in memory or swapped out. Shared memory
	// counts once, and files mapped from a disk not at all.
	Memory int64
	// Disk is how many bytes they may write to disks altogether, whatever they remove
	// again.
	Disk int64
}

// Values of [Exit.Exceeded].
const (
	ExceededProcesses = "processes"
	ExceededMemory    = "memory"
	ExceededDisk      = "disk"
)

// Values of [Launcher.BoundsMethod].
const (
	BoundsCgroup  = "cgroup"                    // by the kernel, at once
	BoundsWatched = "watched by the supervisor" // within some milliseconds
)

// An Exit is how a process tree ended.
type Exit struct {
	// Code is the exit status of the main process; 128 plus the number of the signal
	// if one ended it, as a shell reports it; -1 if it has not ended.
	Code int
	// Signal is the name of the signal that ended the main process, such as SIGKILL.
	Signal string
	// Exceeded is [ExceededProcesses] or the like if the tree was killed because it
	// passed one of its [Bounds]. The main process may have ended before.
	Exceeded string
	// LeftOver is how many processes outlived the main one and were killed, as far as
	// a supervisor counted them.
	LeftOver int
	// Refused is what the tree was refused, as far as its [Confiner] knows: the first
	// refusals.
	Refused []Refusal
}

// killWait bounds how long [Process.Close] waits for processes that were killed.
const killWait = 5 * time.Second

// A Process is a started program with all processes that come of it. It is safe for
// concurrent use.
type Process struct {
	launch launch
	tree   tree
	exited chan struct{}
	done   chan struct{}

	mu   sync.Mutex
	exit Exit
	err  error
}

// A tree reaches the processes of a [Process] until it is done.
type tree interface {
	signal(*Process, syscall.Signal) // SIGKILL also ends what is started meanwhile
	abandon()                        // frees the tree; what is left is still being killed
}

func newProcess(l launch, t tree) *Process {
	return &Process{launch: l, tree: t, exited: make(chan struct{}), done: make(chan struct{}), exit: Exit{Code: -1}}
}

// Exited is closed when the main process has ended, or could not be started.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when no process of the tree is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the process ended, which is final once [Process.Done] is closed.
// The error is a [*StartError] or [ErrSupervisorLost].
func (p *Process) Exit() (Exit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// Wait waits until no process of the tree is left, and returns [Process.Exit].
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.Exit()
}

// Signal sends a signal to every process of the tree, if some are left. On Windows any
// but SIGKILL is a Ctrl+Break, for those that share the console of this process.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		p.tree.signal(p, sig)
	}
}

// Kill kills every process of the tree, including those that start meanwhile.
func (p *Process) Kill() { p.Signal(syscall.SIGKILL) }

// Close kills the tree and waits until no process is left. It returns false if that
// takes more than seconds, as for a process that waits for a dead disk.
func (p *Process) Close() bool {
	p.Kill()
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		p.tree.abandon()
		return false
	}
}

// exceeded, gone and ended record what is known of the process.
func (p *Process) exceeded(bound string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit.Exceeded = bound
}

func (p *Process) gone(refused []Refusal, leftOver int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit.Refused, p.exit.LeftOver = refused, leftOver
}

func (p *Process) ended(code int, signal string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
	default:
		p.exit.Code, p.exit.Signal, p.err = code, signal, err
		close(p.exited)
	}
}

// Start starts a process, which is killed with its tree when ctx ends. It does not
// wait until the program runs: that it could not be started may be the error of
// [Process.Exit].
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Process, error) {
	resolved, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := l.enter()
	if s == nil {
		return nil, &StartError{Op: "start", Path: resolved.path, Err: err}
	}
	p, err := s.start(resolved)
	if err != nil {
		l.inUse.Done()
		return nil, err
	}
	go func() {
		defer l.inUse.Done()
		select {
		case <-p.done:
		case <-ctx.Done():
			p.Close()
		case <-l.closed.Done():
			p.Close()
		}
	}()
	return p, nil
}

// A launch is a [Spec] with everything decided.
type launch struct {
	Spec             // its Dir is absolute, its Env complete
	path    string   // of the program, absolute
	argv    []string // of the program
	cmdLine string   // in place of argv, on Windows
}

// resolve validates the spec and finds its program.
func (s Spec) resolve() (l launch, err error) {
	if err := s.check(); err != nil {
		return l, err
	}
	if s.Dir, err = workingDirectory(s.Dir); err != nil {
		return l, err
	}
	l.Spec = s
	if err := l.find(); err != nil {
		return l, err
	}
	if LookupEnv(s.Env, "PWD") == "" { // tells a program the name its directory was reached by
		l.Env = append(s.Env[:len(s.Env):len(s.Env)], "PWD="+s.Dir)
	}
	return l, nil
}

// A Method is how the processes of a tree are kept together and killed.
type Method string

const (
	// MethodNamespace is a PID namespace for each tree (Linux).
	MethodNamespace Method = "pid namespace"
	// MethodSubreaper is a supervising process that inherits orphans (Linux).
	MethodSubreaper Method = "subreaper"
	// MethodGroup is the process group: processes that leave it are not killed.
	MethodGroup Method = "process group"
	// MethodJobObject is a job object (Windows).
	MethodJobObject Method = "job object"
)

// Options are the settings of a [Launcher]. The zero value works.
type Options struct {
	// Supervisor is a program whose main calls [Supervise] when [IsSupervisor] says
	// so, as a rule [Self]. Empty means none, and [MethodGroup] is used.
	Supervisor string
	// Wrap turns a program and its arguments into those of a program that confines
	// it, for specs with Confine without a supervisor. If nil these fail.
	Wrap func(spec []byte, path string, argv []string) (program string, wrapped []string, err error)
	// Method is the one method to use; empty means the best that works.
	Method Method
}

// A Launcher starts processes. It is safe for concurrent use. The first start takes
// some milliseconds more, for the start of a supervisor.
type Launcher struct {
	options Options

	choose  sync.Once // sets starter and refused
	starter starter
	refused error // why a better method, or any, is not used

	mu     sync.Mutex
	closed context.Context
	close  context.CancelFunc
	inUse  sync.WaitGroup // the starter is; added to under mu while not closed
}

// A starter starts processes by one [Method].
type starter interface {
	start(launch) (*Process, error)
	method() Method
	boundsMethod() string
	ownProc() bool
	close() // frees what it holds, when no process is left
}

// NewLauncher returns a Launcher. It starts nothing before it is used.
func NewLauncher(o Options) *Launcher {
	l := &Launcher{options: o}
	l.closed, l.close = context.WithCancel(context.Background())
	return l
}

// Method returns how process trees are kept together. The error says why a better
// method is not used or, if method is empty, why no process can be started.
func (l *Launcher) Method() (Method, error) {
	s, err := l.enter()
	if s == nil {
		return "", err
	}
	defer l.inUse.Done()
	return s.method(), l.refused
}

// BoundsMethod returns how [Bounds] are kept; empty means that they are not.
func (l *Launcher) BoundsMethod() string {
	s, _ := l.enter()
	if s == nil {
		return ""
	}
	defer l.inUse.Done()
	return s.boundsMethod()
}

// OwnProc reports whether supervisors find their processes in /proc by number: not where parts of /proc are masked, without root.
func (l *Launcher) OwnProc() bool {
	s, _ := l.enter()
	if s != nil {
		defer l.inUse.Done()
	}
	return s != nil && s.ownProc()
}

// Close kills every process and frees what the Launcher holds.
func (l *Launcher) Close() {
	l.mu.Lock()
	first := l.closed.Err() == nil
	l.close()
	l.mu.Unlock()
	l.inUse.Wait() // for each process within seconds: see [Process.Close]
	if first && l.starter != nil {
		l.starter.close()
	}
}

// enter returns what starts processes, which is in use until inUse.Done, or nil and
// why there is nothing.
func (l *Launcher) enter() (starter, error) {
	l.mu.Lock()
	if l.closed.Err() != nil {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	l.inUse.Add(1)
	l.mu.Unlock()
	if l.choose.Do(l.ready); l.starter == nil {
		l.inUse.Done()
		return nil, l.refused
	}
	return l.starter, nil
}

// ready finds out by trying which method works.
func (l *Launcher) ready() {
	o := l.options
	var refused []error
	for _, method := range supervisedMethods {
		if o.Supervisor == "" || o.Method != "" && o.Method != method {
			continue
		}
		s, err := newSupervisedStarter(o.Supervisor, method)
		if err == nil {
			l.starter = s
			break
		}
		refused = append(refused, fmt.Errorf("%s: %w", method, err))
	}
	if l.starter == nil && (o.Method == "" || o.Method == groupMethod) {
		l.starter = groupStarter{wrap: o.Wrap}
	}
	l.refused = errors.Join(refused...)
	if l.starter == nil && l.refused == nil {
		l.refused = fmt.Errorf("processes cannot be kept together by %q here", o.Method)
	}
}
