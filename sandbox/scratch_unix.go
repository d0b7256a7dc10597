//go:build unix

package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockScratch locks a directory of this user until what it returns is closed. That
// is nil if another server holds the lock.
func lockScratch(path string) (*os.File, error) {
	// Others may put anything where temporary files are.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && int(st.Uid) != os.Geteuid() {
		err = os.ErrPermission
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		return dir, nil
	}
	dir.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}
