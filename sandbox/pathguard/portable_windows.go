package pathguard

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// renameBetween renames what has a name in one directory to a name in another one, by
// their paths: Windows has no other way for names of two directories.
func renameBetween(from portableDir, name string, to portableDir, as string) error {
	return acrossDevices(os.Rename(filepath.Join(from.real, name), filepath.Join(to.real, as)))
}

// linkBetween gives a file a second name.
func linkBetween(from portableDir, name string, to portableDir, as string) error {
	return acrossDevices(os.Link(filepath.Join(from.real, name), filepath.Join(to.real, as)))
}

func acrossDevices(err error) error {
	if errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) {
		return syscall.EXDEV
	}
	return err
}
