package osfile

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

var types = map[uint32]fs.FileMode{
	unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe, unix.S_IFSOCK: fs.ModeSocket,
	unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice, unix.S_IFBLK: fs.ModeDevice,
}

// OfStat returns what a system call says of a file.
func OfStat(st *unix.Stat_t) Info {
	mode := fs.FileMode(st.Mode & 0o777)
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG {
		mode |= types[kind]
	}
	return Info{
		Mode: mode, Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), Links: uint64(st.Nlink),
		UID: int(st.Uid), GID: int(st.Gid), ID: ID{uint64(st.Dev), st.Ino},
	}
}
