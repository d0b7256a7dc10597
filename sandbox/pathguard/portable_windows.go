package pathguard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// trueName returns the path of a file or directory that is reached without links as the file
// system has it: with long names in the case they were made in, and on the drive that a
// substituted one stands for.
func trueName(path string) string {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return path // is it one that [isNamed] finds to have another name, it is not opened
	}
	defer windows.CloseHandle(h)
	if final := finalName(h); final != "" {
		return final
	}
	return path
}

// isNamed reports whether an open file has the canonical path real. It is false of one that
// got another file's short name meanwhile.
func isNamed(f *os.File, real string) bool {
	final := finalName(windows.Handle(f.Fd()))
	return final == "" || foldPath(final) == foldPath(real)
}

// finalName returns the path of an open file; empty if that has none with a drive. A network
// drive is one only for its user: the server's name for it is none that cmd.exe starts in.
func finalName(h windows.Handle) string {
	for size := uint32(windows.MAX_PATH); size <= windows.MAX_LONG_PATH; {
		buf := make([]uint16, size)
		n, err := windows.GetFinalPathNameByHandle(h, &buf[0], size, 0)
		if err != nil || n == 0 {
			return ""
		}
		if n >= size {
			size = n + 1
			continue
		}
		path := strings.TrimPrefix(windows.UTF16ToString(buf[:n]), `\\?\`)
		if len(path) > 1 && path[1] == ':' {
			return path
		}
		return ""
	}
	return ""
}
