package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// supervised is the [tree] of a command in a slot.
type supervised struct {
	path string
	slot *slot
	pool *pool

	group  atomic.Int64 // process group of the command, where the server can reach it
	once   sync.Once    // the exit is delivered once
	exitC  chan exit
	goneC  chan struct{}
	startC chan struct{}
	killed int // set before goneC is closed
	excess atomic.Uint64
}

func newSupervised(path string, s *slot, p *pool) *supervised {
	return &supervised{path: path, slot: s, pool: p, exitC: make(chan exit, 1), goneC: make(chan struct{}), startC: make(chan struct{})}
}

func (t *supervised) started() <-chan struct{} { return t.startC }
func (t *supervised) exited() <-chan exit      { return t.exitC }
func (t *supervised) gone() <-chan struct{}    { return t.goneC }
func (t *supervised) terminate()               { t.slot.order(frameTerminate) }
func (t *supervised) kill()                    { t.slot.order(frameKill) }
func (t *supervised) leftovers() int           { return t.killed }
func (t *supervised) exceeded() excess         { return excess(t.excess.Load()) }

func (t *supervised) close() {
	select {
	case <-t.goneC:
		t.pool.put(t.slot)
	default:
		t.slot.end()
	}
}

// begin notes that the command runs. The number of its process is the server's
// too where there is no namespace.
func (t *supervised) begin(pid int) {
	if t.slot.how == MethodSubreaper {
		t.group.Store(int64(pid))
	}
	close(t.startC)
}

func (t *supervised) exit(e exit) { t.once.Do(func() { t.exitC <- e }) }

func (t *supervised) vanish(killed int) {
	t.killed = killed
	close(t.goneC)
}

func (t *supervised) fail(errno syscall.Errno, confinement string) {
	var err error = &StartError{Op: "start", Path: t.path, Err: explain(errno)}
	if confinement != "" {
		err = &StartError{Op: "confine", Path: t.path, Err: errors.Join(ErrNoConfinement, errors.New(confinement))}
	}
	t.exit(exit{err: err})
}

// lose is called when the supervisor is gone. One that died before the command
// did took its namespace along; what a subreaper leaves is out of reach but for
// the process group, or a cgroup. It may have been killed itself for the memory of
// the command.
func (t *supervised) lose(ranOut bool) {
	if pid := t.group.Load(); pid > 1 {
		_ = syscall.Kill(-int(pid), syscall.SIGKILL)
	}
	lost := exit{code: 128 + int(syscall.SIGKILL), signal: "SIGKILL", err: ErrSupervisorLost}
	if ranOut {
		lost.err = nil
		t.excess.Store(uint64(tooMuchMemory))
	}
	t.exit(lost)
	close(t.goneC)
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
