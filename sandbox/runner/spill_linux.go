package runner

import (
	"os"

	"golang.org/x/sys/unix"
)

// newSpillFile returns a file in the temporary directory that has no name: it is
// gone with its descriptor, even when the server is killed.
func newSpillFile() (*os.File, error) {
	dir := os.TempDir()
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	return newUnlinkedFile() // the file system does not know O_TMPFILE
}
