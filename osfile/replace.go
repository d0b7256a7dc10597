package osfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanging says that somebody else is changing a file. Whoever reads it again can try again.
var ErrChanging = errors.New("is being changed by somebody else; try again")

// Replace replaces the content of a file as a whole, unless it is not what it was: before is nil if
// it was not there. The owner stays; a temporary file beside it keeps others from replacing it at the
// same time.
func Replace(file string, before, after []byte, mode fs.FileMode) error {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(file)
	temp := "." + name + ".new"
	err = Write(dir, temp, after, mode, func() error {
		if err := errors.Join(dir.Chmod(temp, mode), keepOwner(dir, name, temp)); err != nil {
			return err
		}
		now, failed := dir.ReadFile(name)
		if (before == nil) != errors.Is(failed, fs.ErrNotExist) || !bytes.Equal(now, before) {
			return fmt.Errorf("%s %w", file, ErrChanging)
		}
		return dir.Rename(temp, name)
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %w; if nobody is, remove %s", file, ErrChanging, filepath.Join(filepath.Dir(file), temp))
	case err != nil:
		return err
	}
	return SyncDir(dir)
}

// Write gives content to a new file with a temporary name, and its own name to that with place. If it
// fails nothing is left.
func Write(dir Dir, temp string, content []byte, perm fs.FileMode, place func() error) error {
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place()
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// keepOwner gives a new file the owner of the one that it replaces, if there is one.
func keepOwner(dir *os.Root, name, temp string) error {
	old, err := dir.Stat(name)
	if err != nil {
		return nil
	}
	info, err := dir.Stat(temp)
	if err != nil {
		return err
	}
	if was, is := Of(old), Of(info); was.UID != is.UID || was.GID != is.GID {
		return dir.Chown(temp, was.UID, was.GID)
	}
	return nil
}
