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
	root *os.Root
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
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, syscall.ELOOP
	}
	if !before.IsDir() {
		return nil, syscall.ENOTDIR
	}
	sub, err := d.root.OpenRoot(name)
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
func (d *portableDir) open(rel string, w want, follow bool, s *snapshot) (opened, error) {
	if follow {
		return opened{}, errors.ErrUnsupported
	}
	real := filepath.Join(d.real, rel)
	if !s.permits(real) {
		return opened{}, errElsewhere
	}
	if rel == "." {
		return d.openName(".", real, w, s)
	}
	start, err := d.child(".")
	if err != nil {
		return opened{}, err
	}
	parent, err := descend(start, splitPath(filepath.Dir(rel)), false)
	if err != nil {
		return opened{}, err
	}
	defer parent.close()
	return parent.(*portableDir).openName(filepath.Base(rel), real, w, s)
}

func (d *portableDir) openName(name, real string, w want, s *snapshot) (opened, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return opened{}, err
	}
	info := Info{real, osfile.Of(before)}
	if before.Mode()&fs.ModeSymlink != 0 {
		return opened{}, errElsewhere
	}
	if err := s.suits(w, info); err != nil || w == wantInfo {
		return opened{info: info}, err
	}
	flags := os.O_RDONLY
	if w == wantAppend {
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := d.root.OpenFile(name, flags|osfile.NoWait, 0)
	if err != nil {
		return opened{}, err
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
		return opened{}, errors.Join(err, f.Close())
	}
	return opened{f, info}, nil
}

func (d *portableDir) changes() (*os.Root, error) { return d.root.OpenRoot(".") }

func (d *portableDir) writable(name string) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|osfile.NoWait, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *portableDir) at(real string) bool {
	here, err := d.root.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Lstat(real)
	return err == nil && os.SameFile(here, there)
}

func (d *portableDir) close() error { return d.root.Close() }

func (d *portableDir) anonymous(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func (d *portableDir) publish(*os.File, string) error { return errors.ErrUnsupported }

// renameNew links, because only link decides without a race whether the name is
// free, and fails where the file system has no hard links.
func (d *portableDir) renameNew(old, name string) error {
	if err := d.root.Link(old, name); err != nil {
		return err
	}
	return d.root.Remove(old)
}
