//go:build linux && !portablewalk

package walk

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"toolserver/osfile"
)

// A dir is an open directory, closed with its last reference.
type dir struct {
	f    *os.File
	refs atomic.Int32
}

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
	// By this name package os finds an entry of which the directory does not tell the kind.
	d := &dir{f: os.NewFile(uintptr(fd), "/proc/self/fd/"+strconv.Itoa(fd))}
	d.refs.Store(1)
	return d, nil
}

// openAt opens name for reading. It does not follow links, and does not wait for a directory.
func openAt(at int, name string, flags int) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(at, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

func (d *dir) retain() { d.refs.Add(1) }

func (d *dir) release() {
	if d.refs.Add(-1) == 0 {
		d.f.Close()
	}
}

func (d *dir) fd() int { return int(d.f.Fd()) }

func (d *dir) open(name string) (*dir, error) { return openDir(d.fd(), name) }

func (d *dir) read(list []child) ([]child, bool, error) { return readNames(d.f, list) }

func (d *dir) info(name string) (osfile.Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return osfile.OfStat(&st), err
}

func (d *dir) readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd(), name, buf)
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
	fd, err := openAt(d.fd(), name, unix.O_NOCTTY|unix.O_NONBLOCK)
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
