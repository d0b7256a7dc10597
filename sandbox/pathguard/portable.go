package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"toolserver/sandbox/osfile"
)

// portable opens files where openat2 does not exist or may not be used. It walks over
// [os.Root]: each name is looked at (Lstat), opened, and compared with what was looked
// at, so that a link that is swapped in between the two is noticed.
type portable struct{}

// portableDir is a directory beneath which nothing is followed.
type portableDir struct{ *os.Root }

func (portable) openDir(real string) (dir, error) {
	volume := filepath.VolumeName(real)
	root, err := os.OpenRoot(volume + separator)
	if err != nil {
		return nil, err
	}
	var d dir = portableDir{root}
	for _, name := range splitPath(real[len(volume):]) {
		if name == "" {
			continue
		}
		next, err := d.child(name)
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func (d portableDir) child(name string) (dir, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, syscall.ELOOP
	}
	if !before.IsDir() {
		return nil, syscall.ENOTDIR
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := sub.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return portableDir{sub}, nil
}

func (d portableDir) Stat() (fs.FileInfo, error) { return d.Root.Stat(".") }

func (p portable) open(real string, w want, s *snapshot) (File, error) {
	name := filepath.Base(real)
	if name == separator {
		name = "."
	}
	d, err := p.openDir(filepath.Dir(real))
	if err != nil {
		return File{}, err
	}
	defer d.Close()
	before, err := d.Lstat(name)
	if err != nil {
		return File{}, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return File{}, errMoved
	}
	info := Info{real, osfile.Of(before)}
	if err := s.suits(w, info); err != nil || w == wantInfo {
		return File{Info: info}, err
	}
	flags := os.O_RDONLY
	if w == wantAppend {
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := d.OpenFile(name, flags|osfile.NoWait, 0)
	if err != nil {
		return File{}, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err == nil {
		info.Info = osfile.OfOpen(f, after)
		err = s.suits(w, info)
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

// publish links, because only link decides without a race whether the name is
// free, and fails where the file system has no hard links.
func (d portableDir) publish(temp, name string) error {
	if err := d.Link(temp, name); err != nil {
		return err
	}
	return d.Remove(temp)
}
