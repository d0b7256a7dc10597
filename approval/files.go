package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/osfile"
)

// files are values in files of a directory that only this user can read. None is changed once it is there.
type files struct{ open func() (*os.Root, error) }

const temporary = ".tmp-"

// maxFiles bounds how many files are looked at.
const maxFiles = 8192

func (f files) names(context.Context) (names []string, err error) {
	dir, err := f.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	osfile.Sweep(dir, 0, func(name string) bool { return strings.HasPrefix(name, temporary) }, dir.Remove)
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if names, err = d.Readdirnames(maxFiles); err == io.EOF {
		err = nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") }), err
}

// get returns nil if there is no value.
func (f files) get(_ context.Context, name string) ([]byte, error) {
	dir, err := f.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSize:
		return []byte{}, nil // which is none of ours
	}
	data, err := dir.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, data...), err
}

// add adds a value, and reports whether there was none: of several at once, that is so for one.
func (f files) add(_ context.Context, name string, value []byte) (first bool, err error) {
	if err := fits(value); err != nil {
		return false, err
	}
	dir, err := f.open()
	if err != nil {
		return false, err
	}
	defer dir.Close()
	temp := temporary + strings.ToLower(rand.Text())
	err = osfile.Write(dir, temp, value, 0o600, func() error {
		if err := dir.Link(temp, name); err != nil { // which, unlike a rename, replaces nothing
			return err
		}
		return dir.Remove(temp)
	})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, errors.Join(err, osfile.SyncDir(dir))
}

// fits returns an error if a value is too long to be kept.
func fits(value []byte) error {
	if len(value) > maxSize {
		return fmt.Errorf("%d bytes are too many to be kept", len(value))
	}
	return nil
}

// remove removes a request and, after it, what belongs to it.
func (f files) remove(_ context.Context, id string) error {
	dir, err := f.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range []string{id, id + decided, id + used} {
		if failed := dir.Remove(name); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return errors.Join(err, osfile.SyncDir(dir))
}
