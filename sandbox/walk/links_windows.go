package walk

import (
	"io/fs"
	"os"
	"syscall"
)

// linksOf returns how many names an open file has.
func linksOf(f *os.File, _ fs.FileInfo) uint64 {
	var data syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &data); err != nil {
		return 1
	}
	return uint64(data.NumberOfLinks)
}
