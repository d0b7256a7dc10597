// Package cli is the command line of the program. Only main packages import it:
// that of the product, and those of test servers, which are the product with
// more tools.
package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"toolserver/cmd/toolserver/app"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the tool reports an error, or a check fails
	exitUsage  = 2 // the command line or the arguments are wrong
)

// exitError is an error with the exit code it leads to.
type exitError struct {
	code int
	err  error // nil if everything is printed already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// gcPercent trades a few megabytes of memory for faster calls. It is set first: what
// packages allocate in their initialization would otherwise start a collection
// in the middle of the start.
const gcPercent = 400

// memoryLimit makes the garbage collector work harder above it: a burst of long
// messages would otherwise leave five times the memory it needs.
const memoryLimit = 256 << 20

// Run runs the program and returns its exit code. Commands are started by this
// same program, run again: its main calls process.Supervise before anything
// else if it is one of those.
func Run(ctx context.Context, args []string, std app.Streams, p app.Program) int {
	debug.SetGCPercent(gcPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	cmd := newRoot(std, p)
	cmd.SetArgs(args)
	cmd.SetIn(std.In)
	cmd.SetOut(std.Out)
	cmd.SetErr(std.Err)
	err := cmd.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(std.Err, "toolserver:", err)
	}
	return codeOf(err)
}
