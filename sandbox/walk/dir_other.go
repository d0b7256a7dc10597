//go:build !linux || portablewalk

package walk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/toolserver/toolserver/osfile"
)

// A dir is an open directory, closed with its last reference. This is the form
// for systems other than Linux: an os.Root per directory cannot be left, and a
// directory is compared with what was there before it was opened, so that a
// link put in its place is noticed.
type dir struct {
	root *os.Root
	list *os.File // the open listing, nil before the first read
	refs atomic.Int32
}

type identity struct{ fs.FileInfo }

func newDir(r *os.Root, err error) (*dir, error) {
	if err != nil {
		return nil, err
	}
	d := &dir{root: r}
	d.refs.Store(1)
	return d, nil
}

func openRoot(f *os.File, path string) (*dir, error) {
	want, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newDir(osfile.SameRoot(r, want))
}

func (d *dir) retain() { d.refs.Add(1) }

func (d *dir) release() {
	if d.refs.Add(-1) == 0 {
		d.closeList()
		d.root.Close()
	}
}

func (d *dir) closeList() {
	if d.list != nil {
		d.list.Close()
		d.list = nil
	}
}

func (d *dir) open(name string) (*dir, error) {
	return newDir(osfile.SubRoot(d.root, name))
}

// reopenParent opens the directory at path below root, which must be the one
// that id was taken of.
func (d *dir) reopenParent(id identity, root *dir, path []byte) (*dir, error) {
	r, err := root.root.OpenRoot(strings.TrimSuffix(string(path), "/"))
	if err != nil {
		return nil, err
	}
	return newDir(osfile.SameRoot(r, id.FileInfo))
}

func (d *dir) id() (identity, error) {
	st, err := d.root.Stat(".")
	return identity{st}, err
}

func (d *dir) read(_ []byte, list []child) (longer []child, more bool, err error) {
	if d.list == nil {
		if d.list, err = d.root.Open("."); err != nil {
			return list, false, err
		}
	}
	entries, err := d.list.ReadDir(512)
	for _, e := range entries {
		list = append(list, child{name: e.Name(), kind: e.Type()})
	}
	if err != nil {
		d.closeList()
	}
	if errors.Is(err, io.EOF) {
		return list, false, nil
	}
	return list, err == nil, err
}

func (d *dir) info(name string) (osfile.Info, error) {
	st, err := d.root.Lstat(name)
	if err != nil {
		return osfile.Info{}, err
	}
	return osfile.Of(st), nil
}

func (d *dir) readlink(name string) (string, error) { return d.root.Readlink(name) }

// File is a regular file opened for reading. It must be closed, once.
type File struct {
	*os.File
	info osfile.Info
}

func (d *dir) openFile(name string) (File, error) {
	want, err := d.root.Lstat(name)
	if err != nil {
		return File{}, err
	}
	if !want.Mode().IsRegular() {
		return File{}, ErrNotRegular
	}
	f, info, err := osfile.OpenSame(d.root, name, os.O_RDONLY, want)
	return File{f, info}, err
}

// Info returns what was known of the file when it was opened.
func (f File) Info() osfile.Info { return f.info }
