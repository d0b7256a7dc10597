// Package appender adds bytes to the end of an open file, all of them or none.
//
// The bytes are written in place, at the end, by one system call: readers that
// follow the file, its hard links, and appends of other processes keep working.
// A write that fails midway is taken back by truncating the file.
//
// Taking back is no help when the process itself is killed during the system
// call, because the kernel ends a write between two pages once SIGKILL is
// pending. Only a write within one page is safe from that. All others are done
// by a child, the same program in a hidden mode ([IsChild], [RunChild]): it
// collects all bytes before it writes any, it is in a session of its own, and
// it completes the write, or takes it back, whether or not its parent lives.
//
// The child cannot help where it is killed too: when all processes of a
// container, cgroup or machine end at once. Where no child can be started only
// failures are taken back, and on Windows not even those, because a handle that
// appends may not truncate; the error says so then.
package appender

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// pageBytes is the smallest page of any machine; in a larger one, what is
	// within a block of this size is within a page all the more.
	pageBytes = 4096
	// maxChildBytes bounds what a child collects in memory. More is written by
	// the process itself.
	maxChildBytes = 64 << 20
)

// Unknown is the Left of an [Error] that cannot tell.
const Unknown = -1

var (
	errChanged = errors.New("another process wrote to the file at the same time")
	errKilled  = errors.New("the process that was to append was killed")
	errSlow    = errors.New("the file system did not complete the write in time")
)

// Error says that an append failed. Its message goes on behind the path.
type Error struct {
	Err   error // why not all was written
	Bytes int   // how many were to be appended
	// Left is how many of them are in the file now: 0 if it is as it was, or
	// [Unknown].
	Left int
	// Kept is why they were not taken back, unless Left is 0.
	Kept error
}

// Error returns what failed, why, and what is in the file.
func (e *Error) Error() string {
	switch e.Left {
	case 0:
		return fmt.Sprintf("was not appended to and is unchanged: %v", e.Err)
	case Unknown:
		return fmt.Sprintf("may have been appended to: %v", e.Err)
	}
	return fmt.Sprintf("was appended to in part, the first %d of %d bytes: %v; they could not be removed again: %v", e.Left, e.Bytes, e.Err, e.Kept)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Append adds data to the end of the regular file f, which is open with
// O_APPEND for writing. Program is the path of a program whose main calls
// [RunChild] when [IsChild]; without one, or where it cannot be started, this
// process writes. The caller keeps its own other writers away from the file
// during the call. An error is an [*Error].
func Append(f *os.File, data []byte, program string) error {
	before, err := f.Stat()
	if err != nil {
		return &Error{Err: bare(err), Bytes: len(data)}
	}
	withinPage := before.Size()%pageBytes+int64(len(data)) <= pageBytes
	if program != "" && len(data) <= maxChildBytes && !withinPage {
		if begun, err := byChild(f, before.Size(), data, program); begun {
			return err
		}
	}
	return write(f, data)
}

// write appends data in this process, and takes back a part if it fails.
func write(f *os.File, data []byte) error {
	before, err := f.Stat()
	if err != nil {
		return &Error{Err: bare(err), Bytes: len(data)}
	}
	n, err := f.Write(data)
	if err == nil {
		return nil
	}
	e := &Error{Err: bare(err), Bytes: len(data)}
	if n > 0 {
		if e.Kept = takeBack(f, before.Size(), n); e.Kept != nil {
			e.Left = n
		}
	}
	return e
}

// takeBack truncates f to its size before n bytes were appended, unless others
// have appended since.
func takeBack(f *os.File, size int64, n int) error {
	now, err := f.Stat()
	if err != nil {
		return bare(err)
	}
	if now.Size() != size+int64(n) {
		return errChanged
	}
	return bare(f.Truncate(size))
}

// bare returns err without the name of the file, which need not be the one that
// the caller of the tool knows.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// childName is argv[0] of a child; its one argument is the number of bytes.
const childName = "toolserver: append"

// IsChild says whether this process was started to append. Then main calls
// [RunChild] and nothing else.
func IsChild() bool { return len(os.Args) == 2 && os.Args[0] == childName }
