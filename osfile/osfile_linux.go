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
	return Info{
		Mode: fs.FileMode(st.Mode&0o777) | types[st.Mode&unix.S_IFMT], Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), Links: uint64(st.Nlink),
		UID: int(st.Uid), GID: int(st.Gid), ID: ID{uint64(st.Dev), st.Ino},
	}
}

// ActAs gives the calling thread the rights of a user and a group over files, and no others over them, until it is called again. It reports
// whether the thread has them.
func ActAs(uid, gid int) bool {
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(gid), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0) // a change can open the process to others (fs.suid_dumpable)
	now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)    // changes nothing
	return int(now) == uid
}
