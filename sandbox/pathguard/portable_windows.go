package pathguard

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait has no counterpart here: named pipes are not files of a directory.
const noWait = 0

func describe(info fs.FileInfo) Info {
	return Info{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), Links: 1, uid: -1, gid: -1}
}

func linksOf(f *os.File, _ fs.FileInfo) uint64 {
	var data syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &data); err != nil {
		return 1
	}
	return uint64(data.NumberOfLinks)
}

// syncDirectory does nothing: directories cannot be flushed on Windows.
func syncDirectory(*os.File) error { return nil }
