package process

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
)

// supervisorName is argv[0] of a supervisor. It is not an environment variable,
// which would reach the commands.
const supervisorName = "toolserver: supervisor"

// A Confiner starts a program within the limits in the Confine bytes of its spec.
// The others up to handOver are those of [syscall.ForkExec]; handOver gives the server a
// listening socket, for the Serve of the spec. It is called on an operating
// system thread that nothing else runs on, so that it may restrict
// the calling thread, for example with landlock_restrict_self(2); a new thread has
// the capabilities of the supervisor, which the program must not keep. A thread is used
// again as long as Serve says so, and ends with an error: with [ErrThreadUsed] the call is
// made again on a new one. A bare
// [syscall.Errno] means that the program could not be started; any other error is about
// its limits, and is reported in full.
type Confiner func(spec []byte, path string, argv []string, attr *syscall.ProcAttr, handOver func(fd int) error) (Confined, error)

// Confined is a program that a [Confiner] started.
type Confined struct {
	Pid int
	// Serve, if it is not nil, is called on the thread that the program was started
	// from. It does for the program what that may not do itself, until the eventfd stop can
	// be read, when nothing of the program is left. It reads that, and returns what
	// was refused, and whether the Confiner may be called on the thread again.
	Serve func(stop int) (refused []Refusal, again bool)
	// Made counts the files and names that the program makes; nil if nobody counts.
	Made *atomic.Int64
	// InMemory are descriptors of the file systems in memory that the program may write to,
	// which stay open as long as the program runs. What they hold more than at its start
	// counts as memory and as disk.
	InMemory []int
}

// ErrThreadUsed says that a [Confiner] needs a new thread.
var ErrThreadUsed = errors.New("the thread is restricted in another way")

// A Refusal is something that a program was refused, by a rule or by the kernel.
type Refusal struct {
	Call string // what was to be done: "open", "make the directory" ...
	Path string
	Rule string `json:",omitempty"` // empty if a layer of the kernel refused it
}

// IsSupervisor reports whether this process was started to be a supervisor. Then
// main calls [Supervise] and nothing else.
func IsSupervisor() bool { return len(os.Args) == 2 && os.Args[0] == supervisorName }

// Self returns the path of this program for [Options.Supervisor]. On Linux it stays
// right when the file is replaced or deleted while the program runs.
func Self() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil && runtime.GOOS == "linux" {
		return self, nil
	}
	return os.Executable()
}
