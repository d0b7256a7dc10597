package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var (
	// ErrClosed is the error of a start by a [Launcher] that was closed.
	ErrClosed = errors.New("the process launcher is closed")
	// ErrBusy is the error of a process that was not started because too many others
	// are running.
	ErrBusy = errors.New("the command was not started")
	// ErrSupervisorLost is the error of a process whose supervisor died first.
	ErrSupervisorLost = errors.New("the command's supervisor ended before the command did; the command was killed")
	// ErrNoConfinement is the error of a spec with Confine where nothing could apply
	// it. The process was not started.
	ErrNoConfinement = errors.New("the command was not started: it must be confined, and the process that starts it cannot do that")
)

// A StartError is the error of a process that was never started.
type StartError struct {
	Op   string // what failed, such as "start"
	Path string // the program or directory
	Err  error  // why; [fs.ErrNotExist] and the like can be tested for
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot %s %q: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// startError leaves out what a PathError repeats of the path.
func startError(op, path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &StartError{Op: op, Path: path, Err: err}
}

// An InvalidSpecError says which field of a [Spec] cannot be used and why.
type InvalidSpecError struct{ Field, Reason string }

func (e *InvalidSpecError) Error() string { return e.Field + ": " + e.Reason }

// check validates the fields that need no look at the file system.
func (s *Spec) check() error {
	invalid := func(field, format string, args ...any) error {
		return &InvalidSpecError{field, fmt.Sprintf(format, args...)}
	}
	switch {
	case s.Shell != "" && len(s.Argv) > 0:
		return invalid("command", "both a shell text and an argument list are given; give one")
	case s.Shell == "" && len(s.Argv) == 0:
		return invalid("command", "is empty")
	case len(s.Argv) > 0 && s.Argv[0] == "":
		return invalid("command", "the program's name is empty")
	case strings.Contains(s.Shell, "\x00"):
		return invalid("command", "holds a NUL byte, which no program can be given")
	case s.Bounds.Processes < 0 || s.Bounds.Memory < 0 || s.Bounds.Disk < 0:
		return invalid("bounds", "are %+v; they must not be negative", s.Bounds)
	}
	for i, arg := range s.Argv {
		if strings.Contains(arg, "\x00") {
			return invalid("command", "argument %d holds a NUL byte, which no program can be given", i)
		}
	}
	for _, v := range s.Env {
		// The value is not repeated: it may be a secret.
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return invalid("env", "an entry is not of the form NAME=value")
		} else if strings.Contains(v, "\x00") {
			return invalid("env", "the entry %q holds a NUL byte", name)
		}
	}
	return nil
}

// workingDirectory returns dir as an absolute path that exists.
func workingDirectory(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &StartError{Op: "find the working directory", Path: dir, Err: err}
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", startError("use the working directory", abs, err)
	}
	return abs, nil
}
