package sandbox

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// private accepts every directory: those below the user's profile are the user's.
func private(string, fs.FileInfo) error { return nil }

// tryLock locks a file until it is closed, unless somebody else has locked it.
func tryLock(f *os.File) (locked bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncDir does nothing: directories cannot be synced.
func syncDir(*os.Root) error { return nil }
