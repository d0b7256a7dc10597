package app

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// protectStdout redirects what libraries print to standard error. Only what it
// returns still writes to standard output.
func protectStdout(out io.Writer) (io.Writer, error) {
	if out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return out, nil
}

// parent returns what reports whether the process that started this one still runs. One
// that cannot be watched is taken to run: the end of the input then shows its end. forget
// frees what that takes.
func parent() (runs func() bool, forget func()) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(os.Getppid()))
	if err != nil {
		return func() bool { return true }, func() {}
	}
	forget = func() { windows.CloseHandle(h) }
	// A number is used again, and the one of a parent that has ended may be that of a
	// process that started later than this one.
	its, itsErr := startTime(h)
	ours, oursErr := startTime(windows.CurrentProcess())
	if itsErr != nil || oursErr != nil || its > ours {
		return func() bool { return true }, forget
	}
	return func() bool {
		event, err := windows.WaitForSingleObject(h, 0)
		return err != nil || event != windows.WAIT_OBJECT_0
	}, forget
}

// startTime returns when a process started, in nanoseconds.
func startTime(process windows.Handle) (int64, error) {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user)
	return created.Nanoseconds(), err
}
