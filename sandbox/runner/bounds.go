package runner

// Bounds limit a whole command, all its processes taken together. A command that
// passes one is killed, and [Result.Exceeded] says which. A field that is zero
// bounds nothing.
//
// They are not kept where [Runner.BoundsMethod] is empty. Where the supervisor
// watches them a command can pass one for the moment until the next look, some
// milliseconds later, and memory is what its processes have mapped: a file on a
// tmpfs that none has mapped counts only in a cgroup.
type Bounds struct {
	// Processes is how many there may be at once, the threads of each counted, as
	// RLIMIT_NPROC and pids.max count them, and those that ended but were not
	// waited for.
	Processes int
	// Memory is how many bytes they may use, in memory or swapped out. What
	// several share counts once, and files mapped from a disk not at all.
	Memory int64
}

func (b Bounds) check() error {
	if b.Processes < 0 || b.Memory < 0 {
		return invalid("bounds", "are %d processes and %d bytes of memory; they must not be negative", b.Processes, b.Memory)
	}
	return nil
}

// What [Result.Exceeded] says.
const (
	ExceededProcesses = "processes"
	ExceededMemory    = "memory"
)

// What [Runner.BoundsMethod] says.
const (
	BoundsCgroup  = "cgroup"                    // by the kernel, at once
	BoundsWatched = "watched by the supervisor" // within some milliseconds
)

// BoundsMethod says how the bounds of commands are kept here; empty means that
// they are not.
func (r *Runner) BoundsMethod() string {
	if !r.enter() {
		return ""
	}
	defer r.calls.Done()
	r.ready()
	if r.starter == nil {
		return ""
	}
	return r.starter.boundsMethod()
}

// An excess is a bound that was passed, as supervisor and server tell it.
type excess uint64

const (
	noExcess excess = iota
	tooManyProcesses
	tooMuchMemory
)

func (e excess) String() string {
	switch e {
	case tooManyProcesses:
		return ExceededProcesses
	case tooMuchMemory:
		return ExceededMemory
	}
	return ""
}
