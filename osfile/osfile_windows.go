package osfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Flags that have no counterpart here: named pipes are not files of a directory.
const (
	NoWait    = 0
	Directory = 0
)

// Of returns what is known of a file.
func Of(info fs.FileInfo) Info {
	return Info{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), Links: 1, UID: -1, GID: -1}
}

// OfOpen is Of for an open file, of which more may be known.
func OfOpen(f *os.File, info fs.FileInfo) Info {
	i := Of(info)
	var data syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &data); err == nil {
		i.Links = uint64(data.NumberOfLinks)
	}
	return i
}

// SyncDir does nothing: directories cannot be flushed on Windows.
func SyncDir(Dir) error { return nil }

// TryLock locks a file until it is closed, and reports whether that
// succeeded: not while another process has it locked.
func TryLock(f *os.File) (locked bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Writable reports whether this process may make files in a directory, as far as that is known.
func Writable(string) bool { return true }

// Descriptors returns how many this process may have open.
func Descriptors() int { return manyDescriptors }

// Unnamed returns a temporary file that the system deletes with its last handle, in a directory or, with "", in that for such files.
func Unnamed(dir string) (*os.File, error) {
	path := filepath.Join(cmp.Or(dir, os.TempDir()), fmt.Sprintf("output-%d-%d.tmp", os.Getpid(), time.Now().UnixNano()))
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}
