//go:build unix

package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noWait keeps an open from waiting for the other end of a FIFO.
const noWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

func describe(info fs.FileInfo) Info {
	i := Info{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), Links: 1, uid: -1, gid: -1}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		i.Links, i.uid, i.gid = uint64(st.Nlink), int(st.Uid), int(st.Gid)
		i.id = fileID{uint64(st.Dev), uint64(st.Ino)}
	}
	return i
}

func linksOf(_ *os.File, info fs.FileInfo) uint64 {
	if info == nil {
		return 1
	}
	return describe(info).Links
}

func syncDirectory(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
