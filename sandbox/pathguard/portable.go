package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"toolserver/sandbox/osfile"
)

// portableDir is a directory beneath which nothing is followed: each name is
// looked at (Lstat), opened, and compared with what was looked at, so a link
// that is swapped in between the two is noticed. It serves where openat2 does
// not exist or may not be used.
type portableDir struct {
	*os.Root
	real string
}

// openPortable walks from the root of the file system to real.
func openPortable(real string) (dir, error) {
	volume := filepath.VolumeName(real)
	root, err := os.OpenRoot(volume + separator)
	if err != nil {
		return nil, err
	}
	return descend(&portableDir{root, volume + separator}, splitPath(real[len(volume):]), false)
}

func (d *portableDir) child(name string) (dir, error) {
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
		err = errElsewhere
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return &portableDir{sub, filepath.Join(d.real, name)}, nil
}

// open leaves requests that may follow links to the caller, who resolves them
// and comes back with a canonical path.
func (d *portableDir) open(rel string, w want, follow bool, s *snapshot) (File, error) {
	if follow {
		return File{}, errors.ErrUnsupported
	}
	real := filepath.Join(d.real, rel)
	if !s.permits(real) {
		return File{}, errElsewhere
	}
	if rel == "." {
		return d.openName(".", real, w, s)
	}
	start, err := d.child(".")
	if err != nil {
		return File{}, err
	}
	parent, err := descend(start, splitPath(filepath.Dir(rel)), false)
	if err != nil {
		return File{}, err
	}
	defer parent.Close()
	return parent.(*portableDir).openName(filepath.Base(rel), real, w, s)
}

func (d *portableDir) openName(name, real string, w want, s *snapshot) (File, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return File{}, err
	}
	info := Info{real, osfile.Of(before)}
	if before.Mode()&fs.ModeSymlink != 0 {
		return File{}, errElsewhere
	}
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
		err = errElsewhere
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

func (d *portableDir) writable(name string) error {
	f, err := d.OpenFile(name, os.O_WRONLY|osfile.NoWait, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *portableDir) at(real string) bool {
	here, err := d.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Lstat(real)
	return err == nil && os.SameFile(here, there)
}

func (d *portableDir) anonymous(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// publish links, because only link decides without a race whether the name is
// free, and fails where the file system has no hard links.
func (d *portableDir) publish(_ *os.File, temp, name string) error {
	if err := d.Link(temp, name); err != nil {
		return err
	}
	return d.Remove(temp)
}
