//go:build unix

package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockScratch locks the open directory until it is closed. It is not free if
// another server holds the lock, and an error if it belongs to another user.
func lockScratch(dir *os.File) (free bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return false, err
	}
	if int(st.Uid) != os.Geteuid() {
		return false, os.ErrPermission
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
