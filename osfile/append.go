package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

var errChanged = errors.New("another process wrote to the file at the same time")

// AppendError says that an append failed. Its message goes on behind the path.
type AppendError struct {
	Err   error // why not all was written
	Bytes int   // how many were to be appended
	Left  int   // how many of them are in the file now: 0 if it is as it was
	Kept  error // why they were not taken back, unless Left is 0
}

// Error returns what failed, why, and what is in the file.
func (e *AppendError) Error() string {
	if e.Left == 0 {
		return fmt.Sprintf("was not appended to and is unchanged: %v", e.Err)
	}
	return fmt.Sprintf("was appended to in part, the first %d of %d bytes: %v; they could not be removed again: %v", e.Left, e.Bytes, e.Err, e.Kept)
}

// Unwrap returns the cause.
func (e *AppendError) Unwrap() error { return e.Err }

// Append adds data to the end of the regular file f, which is open with O_APPEND for writing: in place, by one
// system call, so that readers that follow the file, its hard links and appends of other processes keep working.
// A write that fails midway is taken back by truncating the file, except on Windows, where a handle that appends may
// not do that. The caller keeps its own other writers away from the file during the call. The error is an
// [*AppendError].
func Append(f *os.File, data []byte) error {
	before, err := f.Stat()
	if err != nil {
		return &AppendError{Err: bare(err), Bytes: len(data)}
	}
	n, err := f.Write(data)
	if err == nil {
		return nil
	}
	e := &AppendError{Err: bare(err), Bytes: len(data)}
	if n > 0 {
		if e.Kept = takeBack(f, before.Size(), n); e.Kept != nil {
			e.Left = n
		}
	}
	return e
}

// takeBack truncates f to its size before n bytes were appended, unless others have appended since.
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

// bare returns err without the name of the file, which need not be the one that the caller of the tool knows.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
