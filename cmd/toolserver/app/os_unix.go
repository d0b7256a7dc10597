//go:build unix

package app

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

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
	if err := unix.Dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(private), "stdout"), nil
}

// parent returns what reports whether the process that started this one still runs: an
// orphan gets another parent. forget frees what that takes.
func parent() (runs func() bool, forget func()) {
	started := os.Getppid()
	return func() bool { return os.Getppid() == started }, func() {}
}
