package osfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

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
