//go:build !linux || portablewalk

package walk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
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

func newDir(r *os.Root) *dir {
	d := &dir{root: r}
	d.refs.Store(1)
	return d
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
	return verified(r, want)
}

// verified returns r as a dir if it is the directory that want describes.
func verified(r *os.Root, want fs.FileInfo) (*dir, error) {
	got, err := r.Stat(".")
	if err == nil && !os.SameFile(got, want) {
		err = errMoved
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return newDir(r), nil
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
	want, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !want.IsDir() {
		return nil, syscall.ENOTDIR
	}
	r, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return verified(r, want)
}

// reopenParent opens the directory at path below root, which must be the one
// that id was taken of.
func (d *dir) reopenParent(id identity, root *dir, path []byte) (*dir, error) {
	r, err := root.root.OpenRoot(strings.TrimSuffix(string(path), "/"))
	if err != nil {
		return nil, err
	}
	return verified(r, id.FileInfo)
}

func (d *dir) id() (identity, error) {
	st, err := d.root.Stat(".")
	return identity{st}, err
}

func (d *dir) read(_ []byte, list *nameList) (more bool, err error) {
	if d.list == nil {
		if d.list, err = d.root.Open("."); err != nil {
			return false, err
		}
	}
	entries, err := d.list.ReadDir(512)
	for _, e := range entries {
		list.add([]byte(e.Name()), kindOfMode(e.Type()))
	}
	if err != nil {
		d.closeList()
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (d *dir) info(name string) (Info, error) {
	st, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(st), nil
}

func (d *dir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func infoOf(st fs.FileInfo) Info {
	const kept = fs.ModePerm | fs.ModeType
	return Info{Size: st.Size(), Mode: st.Mode() & kept, ModTime: st.ModTime(), Links: 1}
}

// File is a regular file opened for reading. It must be closed, once.
type File struct {
	f    *os.File
	info Info
}

func (d *dir) openFile(name string) (File, error) {
	want, err := d.root.Lstat(name)
	if err != nil {
		return File{}, err
	}
	if !want.Mode().IsRegular() {
		return File{}, ErrNotRegular
	}
	flags := os.O_RDONLY
	if runtime.GOOS != "windows" {
		flags |= syscall.O_NONBLOCK // a FIFO put in its place must not be waited for
	}
	f, err := d.root.OpenFile(name, flags, 0)
	if err != nil {
		return File{}, err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(got, want) {
		err = errMoved
	}
	if err != nil {
		f.Close()
		return File{}, err
	}
	info := infoOf(got)
	info.Links = linksOf(f, got)
	return File{f: f, info: info}, nil
}

// Read reads the next bytes of the file, as io.Reader says.
func (f File) Read(p []byte) (int, error) { return f.f.Read(p) }

// Close closes the file.
func (f File) Close() error { return f.f.Close() }

// Info returns what was known of the file when it was opened.
func (f File) Info() Info { return f.info }
