package confine

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// openPath returns a descriptor of a resolved path. No link is followed: what a
// command put in the place of a directory gives it no rights elsewhere. Nothing
// there is fs.ErrNotExist, and so is a link.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
			// Where this process may not even go, its commands cannot either.
			return -1, &fs.PathError{Op: "open", Path: path, Err: errors.Join(fs.ErrNotExist, err)}
		}
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

func isDirectory(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}
