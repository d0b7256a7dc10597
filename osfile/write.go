package osfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// ErrChanging says that somebody else is changing a file. Whoever reads it again can try again.
var ErrChanging = errors.New("is being changed by somebody else; try again")

// Replace replaces the content of a file as a whole, unless it is not what it was: before is nil if
// it was not there. The owner stays; a temporary file beside it keeps others from replacing it at the
// same time.
func Replace(file string, before, after []byte, mode fs.FileMode) error {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(file)
	temp := "." + name + ".new"
	err = Write(dir, temp, after, mode, func() error {
		if err := errors.Join(dir.Chmod(temp, mode), keepOwner(dir, name, temp)); err != nil {
			return err
		}
		now, failed := dir.ReadFile(name)
		if (before == nil) != errors.Is(failed, fs.ErrNotExist) || !bytes.Equal(now, before) {
			return fmt.Errorf("%s %w", file, ErrChanging)
		}
		return dir.Rename(temp, name)
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %w; if nobody is, remove %s", file, ErrChanging, filepath.Join(filepath.Dir(file), temp))
	case err != nil:
		return err
	}
	return SyncDir(dir)
}

// Write gives content to a new file with a temporary name, and its own name to that with place. If it
// fails nothing is left.
func Write(dir Dir, temp string, content []byte, perm fs.FileMode, place func() error) error {
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place()
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// keepOwner gives a new file the owner of the one that it replaces, if there is one.
func keepOwner(dir *os.Root, name, temp string) error {
	old, err := dir.Stat(name)
	if err != nil {
		return nil
	}
	info, err := dir.Stat(temp)
	if err != nil {
		return err
	}
	if was, is := Of(old), Of(info); was.UID != is.UID || was.GID != is.GID {
		return dir.Chown(temp, was.UID, was.GID)
	}
	return nil
}
