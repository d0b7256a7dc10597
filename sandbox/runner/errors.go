package runner

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrClosed is the error of a call to a [Runner] that was closed.
	ErrClosed = errors.New("the command runner is closed")
	// ErrBusy is the error of a command that was not started because too many others
	// are running. Its text says which limit was reached.
	ErrBusy = errors.New("the command was not started")
	// ErrSupervisorLost is the error of a call whose supervisor died while the
	// command ran. The result holds the output up to then.
	ErrSupervisorLost = errors.New("the command's supervisor ended before the command did; the command was killed")
	// ErrNoConfinement is the error of a request with Confine where nothing could
	// apply it. The command was not started.
	ErrNoConfinement = errors.New("the command was not started: it must be confined, and the process that starts it cannot do that")

	errNotDirectory = errors.New("not a directory")
)

// A StartError is the error of a command that was never started.
type StartError struct {
	Op   string // what was tried, such as "start"
	Path string // the program or directory it was tried on
	Err  error  // why it failed; [fs.ErrNotExist] and the like can be tested for
}

func (e *StartError) Error() string {
	return fmt.Sprintf("cannot %s %q: %v", e.Op, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// startError leaves out what a PathError repeats of the path.
func startError(op, path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &StartError{Op: op, Path: path, Err: err}
}
