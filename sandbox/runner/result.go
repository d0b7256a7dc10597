package runner

import (
	"errors"
	"time"
)

// A Result is how a command ended and what it wrote.
type Result struct {
	// ExitCode is that of the main process; 128 plus the number of the signal
	// when one ended it, as a shell says it; -1 when it did not end (Unkillable).
	ExitCode int
	// Signal is the name of the signal that ended the main process, such as
	// SIGKILL, or empty.
	Signal string
	// TimedOut says that the command was ended because its time was up.
	TimedOut bool
	// Canceled says that it was ended because the call's context or the Runner
	// was.
	Canceled bool
	// Exceeded says which of [Bounds] the command passed, so that it was killed, as
	// [ExceededProcesses] or [ExceededMemory]; empty when none. The main process may
	// have ended well before that.
	Exceeded string
	// Waited is how long other commands kept this one from starting, which is part
	// of its timeout.
	Waited time.Duration
	// Duration is from the start until no process was left, CPU what the main
	// process and the children it waited for used.
	Duration, CPU time.Duration
	// Leftovers is how many processes outlived the main one and were killed. It
	// is not known, and zero, with [MethodGroup] and [MethodJobObject].
	Leftovers int
	// Unkillable says that some process did not end within seconds of being
	// killed, as one waiting for a dead disk or belonging to another user does.
	Unkillable bool
	// Dropped is how many bytes of output OnOutput was too slow for.
	Dropped int64

	// Output holds both streams as they came, Stdout and Stderr each its own; see
	// [Capture] for which are filled.
	Output, Stdout, Stderr Output
}

// Close frees the temporary files of the output. The text stays readable.
func (r *Result) Close() error {
	return errors.Join(r.Output.close(), r.Stdout.close(), r.Stderr.close())
}
