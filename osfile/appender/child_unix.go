//go:build unix

package appender

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	// targetFile is the descriptor of the file in a child. Its standard input
	// brings the bytes, its standard output takes the report.
	targetFile = 3
	// A child collects bytes for at most childWait. It has no time limit for the
	// write, which is one system call: to stop that is what tears.
	childWait = 30 * time.Second
	// parentWait bounds how long the parent waits for the report, and is long
	// enough that a child that has not begun by then never will.
	parentWait = 2 * childWait
	// reportBegun is the first byte of a report: all bytes are there, and the
	// write begins.
	reportBegun = 'w'
)

// byChild has a child append data to f, whose size is given. It returns begun
// false if no child has written or will write anything.
func byChild(f *os.File, size int64, data []byte, program string) (begun bool, err error) {
	var report bytes.Buffer
	cmd := &exec.Cmd{
		Path: program, Args: []string{childName, strconv.Itoa(len(data))}, Env: []string{}, Dir: "/",
		Stdin: bytes.NewReader(data), Stdout: &report, ExtraFiles: []*os.File{f},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // it is in no group that is killed with the parent
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // a child that does not get all bytes does not report a write
	}()
	select {
	case <-ended:
		return outcome(f, size, len(data), report.Bytes())
	case <-time.After(parentWait):
		return true, &Error{Err: errSlow, Bytes: len(data), Left: Unknown}
	}
}

// outcome is the meaning of the report of a child that was to append n bytes to f.
func outcome(f *os.File, size int64, n int, report []byte) (started bool, err error) {
	if len(report) == 0 {
		return false, nil
	}
	e := &Error{Bytes: n}
	var cause, kept syscall.Errno
	if _, err := fmt.Sscanf(string(report[1:]), "%d %d %d\n", &e.Left, &cause, &kept); err != nil {
		e.Err = errKilled
		if now, err := f.Stat(); err != nil || now.Size() != size {
			e.Left = Unknown // another may have appended as well
		}
		return true, e
	}
	if cause == 0 {
		return true, nil
	}
	e.Err = cause
	switch {
	case e.Left == 0:
	case kept == 0:
		e.Kept = errChanged
	default:
		e.Kept = kept
	}
	return true, e
}

// RunChild is the life of a child: it collects the bytes, appends them, reports
// and ends. It returns the exit status for main.
func RunChild() int {
	// A service manager terminates all processes of a service together.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 || n > maxChildBytes {
		return 1
	}
	late := time.AfterFunc(childWait, func() { os.Exit(1) })
	data := make([]byte, n)
	if _, err := io.ReadFull(os.Stdin, data); err != nil {
		return 1 // the parent is gone
	}
	if !late.Stop() {
		return 1
	}
	if _, err := os.Stdout.Write([]byte{reportBegun}); err != nil {
		return 1 // the same
	}
	err = write(os.NewFile(targetFile, "file to append to"), data)
	if _, err := os.Stdout.WriteString(reportOf(err)); err != nil {
		return 1
	}
	return 0
}

// reportOf returns what a child reports of a write, after reportBegun.
func reportOf(err error) string {
	e, failed := errors.AsType[*Error](err)
	if !failed {
		return "0 0 0\n"
	}
	cause, ok := errors.AsType[syscall.Errno](e.Err)
	if !ok {
		cause = syscall.EIO // a short write
	}
	kept, _ := errors.AsType[syscall.Errno](e.Kept)
	return fmt.Sprintf("%d %d %d\n", e.Left, cause, kept)
}
