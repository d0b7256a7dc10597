//go:build unix

package osfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Flags for opening files.
const (
	NoWait    = syscall.O_NONBLOCK | syscall.O_NOCTTY // does not wait for the other end of a FIFO
	Directory = syscall.O_DIRECTORY | syscall.O_NOFOLLOW
)

// Of returns what is known of a file.
func Of(info fs.FileInfo) Info {
	i := Info{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), Links: 1, UID: -1, GID: -1}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		i.Used, i.Links, i.UID, i.GID = st.Blocks*512, uint64(st.Nlink), int(st.Uid), int(st.Gid)
		i.ID = ID{uint64(st.Dev), uint64(st.Ino)}
	}
	return i
}

// OfOpen is Of for an open file, of which more may be known.
func OfOpen(_ *os.File, info fs.FileInfo) Info { return Of(info) }

// SyncDir makes the names in a directory durable, except in one that is not
// readable: that cannot be opened for it.
func SyncDir(dir Dir) error {
	f, err := dir.OpenFile(".", os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// TryLock locks a file until it is closed, and reports whether that
// succeeded: not while another process has it locked.
func TryLock(f *os.File) (locked bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// Descriptors returns how many this process may have open.
func Descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > manyDescriptors {
		return manyDescriptors
	}
	return int(limit.Cur)
}

// Writable reports whether this process may make files in a directory.
func Writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// Unnamed returns a temporary file without a name: it is gone with its descriptor,
// even when the server is killed. It is in a directory, or with "" in that for temporary files.
func Unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
