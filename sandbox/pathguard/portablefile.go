package pathguard

import (
	"errors"
	"io/fs"
	"os"
)

func (d *portableDir) anonymous(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func (d *portableDir) publish(*os.File, string) error { return errors.ErrUnsupported }

func (d *portableDir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
}

func (d *portableDir) rename(old, name string) error { return d.root.Rename(old, name) }

// renameNew links, because only link decides without a race whether the name is
// free, and fails where the file system has no hard links.
func (d *portableDir) renameNew(old, name string) error {
	if err := d.root.Link(old, name); err != nil {
		return err
	}
	return d.root.Remove(old)
}

func (d *portableDir) remove(name string) error { return d.root.Remove(name) }

// keep gives f the mode of the file it replaces, and its owner as far as the
// process may set it. Setuid and setgid are not kept.
func (d *portableDir) keep(f *os.File, _ string, old Info) error {
	if old.uid >= 0 {
		if f.Chown(old.uid, old.gid) != nil {
			_ = f.Chown(-1, old.gid) // a file of another owner: its group is better than nothing
		}
	}
	return f.Chmod(old.Mode.Perm())
}

// sync makes the names in the directory durable where the platform can.
func (d *portableDir) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return nil // not readable, so it cannot be synced
	}
	defer f.Close()
	return syncDirectory(f)
}
