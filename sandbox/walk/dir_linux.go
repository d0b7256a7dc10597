//go:build linux && !portablewalk

package walk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/osfile"
)

// A dir is an open directory, closed with its last reference.
type dir struct {
	fd   int
	refs atomic.Int32
}

// An identity tells two directories apart.
type identity struct{ dev, ino uint64 }

// openRoot opens the directory of f anew, so that the walk has its own read
// position and f may be closed or reused meanwhile.
func openRoot(f *os.File, _ string) (*dir, error) {
	defer runtime.KeepAlive(f)
	return openDir(int(f.Fd()), ".")
}

func openDir(at int, name string) (*dir, error) {
	fd, err := openAt(at, name, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := &dir{fd: fd}
	d.refs.Store(1)
	return d, nil
}

// openAt opens name for reading. It does not follow links and does not wait.
func openAt(at int, name string, flags int) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(at, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

func (d *dir) retain() { d.refs.Add(1) }

func (d *dir) release() {
	if d.refs.Add(-1) == 0 {
		unix.Close(d.fd)
	}
}

func (d *dir) open(name string) (*dir, error) { return openDir(d.fd, name) }

// reopenParent opens the directory that d is in, which must be the one that id
// was taken of. The root and the path are for systems without "..".
func (d *dir) reopenParent(id identity, _ *dir, _ []byte) (*dir, error) {
	p, err := openDir(d.fd, "..")
	if err != nil {
		return nil, err
	}
	if got, err := p.id(); err != nil || got != id {
		p.release()
		return nil, osfile.ErrMoved
	}
	return p, nil
}

func (d *dir) id() (identity, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(d.fd, &st) })
	return identity{uint64(st.Dev), st.Ino}, err
}

// read appends the next part of the directory to list; more is false at its end.
// See getdents64(2) for the layout.
func (d *dir) read(scratch []byte, list []child) (longer []child, more bool, err error) {
	var n int
	err = retry(func() (err error) { n, err = unix.Getdents(d.fd, scratch); return })
	if err != nil || n <= 0 {
		return list, false, err
	}
	for b := scratch[:n]; len(b) > direntName; {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= direntName || size > len(b) {
			return list, false, errors.New("malformed directory entry")
		}
		name := b[direntName:size]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if !isDots(name) && binary.NativeEndian.Uint64(b) != 0 {
			list = append(list, child{name: string(name), kind: kindOf(b[18])})
		}
		b = b[size:]
	}
	return list, true, nil
}

// direntName is the offset of the name in struct linux_dirent64: d_ino 8,
// d_off 8, d_reclen 2, d_type 1.
const direntName = 19

func isDots(name []byte) bool {
	return len(name) <= 2 && name[0] == '.' && (len(name) == 1 || name[1] == '.')
}

func kindOf(t byte) fs.FileMode {
	switch t {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_UNKNOWN:
		return kindUnknown
	}
	return fs.ModeDevice // or the like
}

func (d *dir) info(name string) (osfile.Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return osfile.OfStat(&st), err
}

func (d *dir) readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// File is a regular file opened for reading. It is cheaper than an os.File,
// which matters for a hundred thousand of them. It must be closed, once.
type File struct {
	fd   int
	info osfile.Info
}

func (d *dir) openFile(name string) (File, error) {
	fd, err := openAt(d.fd, name, unix.O_NOCTTY)
	if err != nil {
		return File{}, err
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		unix.Close(fd)
		return File{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return File{}, ErrNotRegular
	}
	return File{fd: fd, info: osfile.OfStat(&st)}, nil
}

// Read reads the next bytes of the file, as io.Reader says.
func (f File) Read(p []byte) (n int, err error) {
	err = retry(func() (err error) { n, err = unix.Read(f.fd, p); return })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

// Close closes the file.
func (f File) Close() error { return unix.Close(f.fd) }

// Seek is that of an [os.File].
func (f File) Seek(offset int64, whence int) (int64, error) { return unix.Seek(f.fd, offset, whence) }

// Info returns what was known of the file when it was opened.
func (f File) Info() osfile.Info { return f.info }
