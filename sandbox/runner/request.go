package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Request is one command to run. Exactly one of Shell and Argv is set.
type Request struct {
	// Owner is for whom the command runs, such as a principal. Owners share
	// [Options.MaxConcurrent] and each has [Options.MaxOwnerJobs].
	Owner string
	// Shell is a text for the shell: bash where there is one, else sh; on
	// Windows cmd.exe.
	Shell string
	// Argv is a program and its arguments, started without a shell. A program
	// named without a slash is looked for in the PATH of Env; a relative path
	// starts at Dir.
	Argv []string
	// Dir is the working directory; empty means that of the server.
	Dir string
	// Env is the complete environment, as NAME=value; nothing is added but PWD.
	// [MinimalEnv] makes one that holds no secret of the server.
	Env []string
	// Stdin is what the command reads. Nil means that it reads nothing: its
	// standard input is the null device and never the server's.
	Stdin []byte
	// Timeout is how long the command may run, and wait for others before; zero
	// means [Options.Timeout].
	Timeout time.Duration
	// Capture says which streams the result holds.
	Capture Capture
	// Limits bounds what is kept of the output. Zero fields mean the defaults of
	// the Runner.
	Limits Limits
	// OnOutput, when set, is called with the output as it comes, as valid UTF-8,
	// from one goroutine. It may be slow but must return: the command never waits
	// for it, what it is too slow for is dropped and counted in Result.Dropped.
	OnOutput func(text string)
	// Bounds limit all processes of the command together.
	Bounds Bounds
	// Confine is handed to the [Confiner] of the supervisor, which restricts the
	// command before it starts. A request with Confine fails where there is none.
	Confine []byte
}

// Capture selects the streams of a [Result].
type Capture int

const (
	// CaptureMerged gives the command one pipe for both streams, so that
	// Result.Output holds them in the order they were written in.
	CaptureMerged Capture = iota
	// CaptureSplit fills Result.Stdout and Result.Stderr.
	CaptureSplit
	// CaptureAll fills all three. Result.Output is then in the order of arrival,
	// which between the two streams may differ from the order of writing.
	CaptureAll
)

// Limits bounds what is kept of a stream. Output beyond it is still read, and
// counted, so that the command does not block.
type Limits struct {
	// Inline is how many bytes of a stream are kept in memory, half from its
	// beginning and half from its end.
	Inline int
	// Spill is how many bytes from the beginning of a stream can be read again
	// through [Output.ReadAt] once it is larger than Inline; they are kept in an
	// unnamed temporary file. Negative means none.
	Spill int64
}

func (l Limits) or(defaults Limits) Limits {
	if l.Inline <= 0 {
		l.Inline = defaults.Inline
	}
	if l.Spill == 0 {
		l.Spill = defaults.Spill
	}
	return l
}

// An InvalidRequestError says which field of a [Request] cannot be used and why.
type InvalidRequestError struct {
	Field  string
	Reason string
}

func (e *InvalidRequestError) Error() string { return e.Field + ": " + e.Reason }

func invalid(field, format string, args ...any) error {
	return &InvalidRequestError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// check returns the directory to run in, as an absolute path that exists.
func (r *Request) check() (dir string, err error) {
	switch {
	case r.Shell != "" && len(r.Argv) > 0:
		return "", invalid("command", "both a shell text and an argument list are given; give one")
	case r.Shell == "" && len(r.Argv) == 0:
		return "", invalid("command", "is empty")
	case len(r.Argv) > 0 && r.Argv[0] == "":
		return "", invalid("command", "the program's name is empty")
	case strings.IndexByte(r.Shell, 0) >= 0:
		return "", invalid("command", "holds a NUL byte, which no program can be given")
	case r.Timeout < 0:
		return "", invalid("timeout", "is %v; it must be positive", r.Timeout)
	}
	for i, arg := range r.Argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return "", invalid("command", "argument %d holds a NUL byte, which no program can be given", i)
		}
	}
	for _, v := range r.Env {
		// The value is not repeated: it may be a secret.
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return "", invalid("env", "an entry is not of the form NAME=value")
		} else if strings.IndexByte(v, 0) >= 0 {
			return "", invalid("env", "the entry %q holds a NUL byte", name)
		}
	}
	if err := r.Bounds.check(); err != nil {
		return "", err
	}
	return workingDirectory(r.Dir)
}

func workingDirectory(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &StartError{Op: "find the working directory", Path: dir, Err: err}
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", startError("use the working directory", abs, err)
	}
	if !info.IsDir() {
		return "", &StartError{Op: "use the working directory", Path: abs, Err: errNotDirectory}
	}
	return abs, nil
}
