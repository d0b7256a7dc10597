package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolserver/toolserver/osfile"
)

// portable opens files where openat2 does not exist or may not be used. It walks over
// [os.Root]: each name is looked at (Lstat), opened, and compared with what was looked
// at, so that a link that is swapped in between the two is noticed.
type portable struct{}

// portableDir is a directory beneath which nothing is followed.
type portableDir struct {
	*os.Root
	real string
}

func (p portable) openDir(real string) (dir, error) {
	root, err := p.openRoot(real)
	return portableDir{root, real}, err
}

func (portable) openRoot(real string) (*os.Root, error) {
	volume := filepath.VolumeName(real)
	root, err := os.OpenRoot(volume + separator)
	for _, name := range splitPath(real[len(volume):]) {
		if name == "" || err != nil {
			continue
		}
		above := root
		root, err = osfile.SubRoot(above, name)
		above.Close()
	}
	return root, err
}

func (d portableDir) child(name string) (dir, error) {
	sub, err := osfile.SubRoot(d.Root, name)
	return portableDir{sub, filepath.Join(d.real, name)}, err
}

func (d portableDir) Stat() (fs.FileInfo, error) { return d.Root.Stat(".") }

func (p portable) open(real string, w want, s *snapshot) (File, error) {
	name := filepath.Base(real)
	if name == separator {
		name = "."
	}
	d, err := p.openRoot(filepath.Dir(real))
	if err != nil {
		return File{}, err
	}
	defer d.Close()
	before, err := d.Lstat(name)
	if err != nil {
		return File{}, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return File{}, osfile.ErrMoved
	}
	info := Info{real, osfile.Of(before)}
	if err := s.suits(w, info); err != nil || w == wantInfo {
		return File{Info: info}, err
	}
	flags := os.O_RDONLY
	if w == wantAppend {
		flags = os.O_WRONLY | os.O_APPEND
	}
	var f *os.File
	if f, info.Info, err = osfile.OpenSame(d, name, flags, before); err != nil {
		return File{}, err
	}
	err = s.suits(w, info)
	if err == nil && !isNamed(f, real) {
		err = osfile.ErrMoved
	}
	if err != nil {
		return File{}, errors.Join(err, f.Close())
	}
	return File{f, info}, nil
}

func (d portableDir) writable(name string) error {
	f, err := d.OpenFile(name, os.O_WRONLY|osfile.NoWait, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (portableDir) anonymous(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
func (portableDir) link(*os.File, string) error             { return errors.ErrUnsupported }

// move links a file, because only link decides without a race whether a name is free; it
// fails where the file system has no hard links. A directory replaces no more than an
// empty one.
func (d portableDir) move(name string, to dir, as string, replace bool) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	there := to.(portableDir)
	if replace || info.IsDir() {
		if _, err := there.Lstat(as); !replace && err == nil {
			return fs.ErrExist
		}
		return renameBetween(d, name, there, as)
	}
	if err := linkBetween(d, name, there, as); err != nil {
		return err
	}
	if err := d.Remove(name); err != nil {
		return &twoNamesError{err}
	}
	return nil
}

// A twoNamesError says that a file was moved, but has its old name, too.
type twoNamesError struct{ err error }

func (e *twoNamesError) Error() string {
	return "the file has its new name, and its old one could not be removed: " + cause(e.err)
}

func (e *twoNamesError) Unwrap() error { return e.err }
