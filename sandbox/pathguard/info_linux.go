package pathguard

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Mode: modeOf(st.Mode), Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()),
		Links: uint64(st.Nlink), uid: int(st.Uid), gid: int(st.Gid),
		id: fileID{uint64(st.Dev), st.Ino},
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
