//go:build unix

package app

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// parentCheck is how often the parent process is looked for.
const parentCheck = time.Second

// protectStdout returns a private descriptor of standard output and redirects the
// public one to standard error, so that nothing that a library or a child prints
// gets between the messages.
func protectStdout(out io.Writer) (io.Writer, error) {
	f, ok := out.(*os.File)
	if !ok || f.Fd() != 1 {
		return out, nil
	}
	private, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := dup(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(private), "stdout"), nil
}

// parentGone is closed when the process that started this one has ended. One
// that is started by init has no parent to lose.
func parentGone(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	if parent == 1 {
		return gone
	}
	go func() {
		tick := time.NewTicker(parentCheck)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if os.Getppid() != parent {
					close(gone)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return gone
}
