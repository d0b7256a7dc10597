// Package cli is the program: it reads flags and configuration, puts the server
// together and runs what was asked for. Only main packages import it: that of
// the product, and those of test servers, which are the product with more
// tools.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"toolserver/domain"
)

// Program says which program runs: the product, or a test server with more to
// offer.
type Program struct {
	Version   string
	Tools     []domain.Tool          // besides the built-in ones
	Sources   []domain.Source        // likewise, of items that may change while it runs
	Resources []domain.Resource      // likewise
	Prompts   []domain.Prompt        // likewise
	Ready     func(*domain.Executor) // called once everything is put together; may be nil
}

// Streams are what the program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the tool reports an error, or something is off
	exitUsage  = 2 // the command line or the arguments are wrong
)

// exitError is an error with the exit code it leads to.
type exitError struct {
	code int
	err  error // nil if everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// gcPercent trades a few megabytes for a good part of the time calls take. It is
// set first of all: what packages allocate when they are initialised would
// otherwise bring on a collection in the middle of the start.
const gcPercent = 400

// memoryLimit is from where on the garbage collector works harder instead: a
// burst of long messages would otherwise leave five times the memory it needs.
const memoryLimit = 256 << 20

// Run runs the program and returns its exit code. Commands are started by this
// same program, run again: its main calls runner.Supervise before anything
// else if it is one of those.
func Run(ctx context.Context, args []string, std Streams, p Program) int {
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
