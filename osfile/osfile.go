// Package osfile has what package os does not tell of open files, or not on
// every platform.
package osfile

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Info describes a file.
type Info struct {
	Mode    fs.FileMode
	Size    int64 // bytes, of the link itself for a symbolic link
	Used    int64 // bytes on the disk, where the platform tells
	ModTime time.Time
	Links   uint64 // hard links; 1 where the platform does not tell
	UID     int    // -1 where the platform has none, as GID
	GID     int
	ID      ID // zero where the platform has none
}

// manyDescriptors are as many as matter.
const manyDescriptors = 1 << 20

// ID tells files apart, whatever their names.
type ID struct{ Dev, Ino uint64 }

// These bound what [Sweep] removes: what was last written long ago is certainly
// abandoned, and what is beyond the first names waits for the next time.
const (
	sweepAge   = time.Hour
	sweepNames = 10_000
)

// Dir is an open directory, such as an [os.Root].
type Dir interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Remove(name string) error
}

// Sweep has remove take away what killed processes left in a directory under temporary
// names: the files or, with [fs.ModeDir], the directories, as far as it can.
func Sweep(dir Dir, kind fs.FileMode, isTemp func(name string) bool, remove func(name string) error) {
	d, err := dir.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(sweepNames)
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		info, err := dir.Lstat(name)
		if err == nil && info.Mode().Type() == kind && time.Since(info.ModTime()) > sweepAge {
			_ = remove(name)
		}
	}
}

// ErrMoved says that something else has a name by now: a symlink or another file.
var ErrMoved = errors.New("the file was replaced or moved")

// SubRoot opens a directory below root, and no symlink to one.
func SubRoot(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, syscall.ELOOP
	case !before.IsDir():
		return nil, syscall.ENOTDIR
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return SameRoot(sub, before)
}

// SameRoot returns root if it is the directory that before describes, else it closes it.
func SameRoot(root *os.Root, before fs.FileInfo) (*os.Root, error) {
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = ErrMoved
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// OpenPrivate opens a directory and checks what was opened: it must be no symlink, belong to
// this user and be for nobody else. (On Windows, directories below the user's profile are.)
func OpenPrivate(path string) (*os.Root, error) {
	return openPrivate(path, path, os.OpenRoot, os.Lstat)
}

// SubPrivate is OpenPrivate of a directory in root.
func SubPrivate(root *os.Root, name string) (*os.Root, error) {
	return openPrivate(filepath.Join(root.Name(), name), name, root.OpenRoot, root.Lstat)
}

func openPrivate(path, name string, open func(string) (*os.Root, error), lstat func(string) (fs.FileInfo, error)) (*os.Root, error) {
	named, err := lstat(name)
	if err != nil {
		return nil, err
	}
	info := Of(named)
	switch mode := info.Mode.Perm(); {
	case !named.IsDir():
		return nil, fmt.Errorf("%s is a symlink or no directory: put a directory there", path)
	case info.UID < 0: // Windows
	case info.UID != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user: remove it", path)
	case mode&0o077 != 0:
		return nil, fmt.Errorf("%s is accessible to others (mode %#o), who may have read it: run chmod 700 %s once you know that what is in it is safe",
			path, mode, path)
	}
	dir, err := open(name)
	if err != nil {
		return nil, err
	}
	return SameRoot(dir, named)
}

// OpenSame opens the file in dir that before describes, and does not wait for what
// may have its name by now.
func OpenSame(dir Dir, name string, flags int, before fs.FileInfo) (*os.File, Info, error) {
	f, err := dir.OpenFile(name, flags|NoWait, 0)
	if err != nil {
		return nil, Info{}, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = ErrMoved
	}
	if err != nil {
		return nil, Info{}, errors.Join(err, f.Close())
	}
	return f, OfOpen(f, after), nil
}

// Runs reports whether a process runs, which may be another one that has the number now.
func Runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission) || runtime.GOOS == "windows"
}

// Authorities reads the certificates of a file in PEM, which vouch for others.
func Authorities(file string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	text, err := os.ReadFile(file)
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, err
}
