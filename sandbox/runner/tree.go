package runner

import (
	"os"
	"syscall"
	"time"
)

// A launch is a command with everything decided: what to start, and with what.
type launch struct {
	path     string // of the program, absolute
	argv     []string
	sys      *syscall.SysProcAttr // for a start in a group
	env      []string
	dir      string
	stdin    *os.File // nil is the null device
	stdout   *os.File
	stderr   *os.File
	confine  []byte
	bounds   Bounds
	announce bool // tell when it has started, which not every method does unasked
}

// An exit is how the main process of a command ended.
type exit struct {
	code   int
	signal string // its name, such as SIGKILL, when a signal ended the process
	cpu    time.Duration
	err    error // it was not started, or its supervisor is lost
}

// A starter starts commands in one of the ways [Method] names.
type starter interface {
	start(launch) (tree, error)
	method() Method
	// boundsMethod says how bounds are kept; empty means that they are not.
	boundsMethod() string
	close()
}

// A tree is a started command with all processes that came of it.
type tree interface {
	// started is closed when the command runs, if its launch has announce.
	started() <-chan struct{}
	// exited delivers how the main process ended, once.
	exited() <-chan exit
	// gone is closed when no process of the tree is left.
	gone() <-chan struct{}
	// terminate asks every process to end (SIGTERM).
	terminate()
	// kill ends every process, and those that come meanwhile.
	kill()
	// leftovers is how many processes outlived the main one and were killed, as
	// far as that is known. It is final once gone is closed.
	leftovers() int
	// exceeded says for which of its bounds the tree was killed, if for one.
	exceeded() excess
	// close frees what the tree holds; a tree that is not gone is given up, its
	// processes are still being killed.
	close()
}

// Method names how the processes of a command are kept together and ended.
type Method string

const (
	// MethodNamespace is a PID namespace for each command (Linux).
	MethodNamespace Method = "pid namespace"
	// MethodSubreaper is a supervising process that inherits orphans (Linux).
	MethodSubreaper Method = "subreaper"
	// MethodGroup is the process group: processes that leave it are not ended.
	MethodGroup Method = "process group"
	// MethodJobObject is a job object (Windows).
	MethodJobObject Method = "job object"
)
