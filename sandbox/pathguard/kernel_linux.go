package pathguard

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"toolserver/sandbox/osfile"
)

// openedProc returns the one /proc/self/fd that all guards of the process use, so
// that a Guard that is closed leaves no descriptor open.
var openedProc = sync.OnceValues(openProc)

// platformAnchor returns how allowed directories are opened: through openat2,
// or through [os.Root] where a seccomp filter refuses openat2, the kernel is
// older than 5.6, or /proc is not mounted.
func platformAnchor() func(real string) (dir, error) {
	proc, err := openedProc()
	if err != nil {
		return openPortable
	}
	return func(real string) (dir, error) { return openKernel(proc, real) }
}

// kernelDir is a directory whose names the kernel resolves; see openat2(2).
type kernelDir struct {
	f    *os.File // O_PATH
	proc *os.File // /proc/self/fd, through which descriptors are asked and reopened
}

// openProc opens /proc/self/fd. It fails if that is not procfs or if openat2
// cannot be used.
func openProc() (*os.File, error) {
	fd, err := openat2(unix.AT_FDCWD, "/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "/proc/self/fd")
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Type != unix.PROC_SUPER_MAGIC {
		return nil, errors.Join(errors.ErrUnsupported, err, f.Close())
	}
	return f, nil
}

// openat2 repeats the call while the kernel cannot rule out that a rename moved
// the path out from under it (EAGAIN), which it asks callers to bound.
func openat2(at int, path string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(at, path, &how)
		if (err != unix.EAGAIN && err != unix.EINTR) || try == 64 {
			return fd, err
		}
	}
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS

func openKernel(proc *os.File, real string) (dir, error) {
	fd, err := openat2(unix.AT_FDCWD, real, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return &kernelDir{os.NewFile(uintptr(fd), real), proc}, nil
}

func (d *kernelDir) fd() int { return int(d.f.Fd()) }

// open looks the file up without opening it (O_PATH), so that the path and the
// kind are known before a device or FIFO could notice, and then opens that very
// file through its descriptor. To read what looks like a regular file it opens
// at once, which is cheaper; should that be a FIFO by now, it is not waited for.
func (d *kernelDir) open(rel string, w want, follow bool, s *snapshot) (File, error) {
	resolve := uint64(beneath)
	if !follow {
		resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	flags := uint64(unix.O_PATH)
	if w == wantFile && d.isPlain(rel) {
		flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	}
	fd, err := openat2(d.fd(), rel, flags, resolve)
	if err != nil {
		return File{}, err
	}
	info, err := d.inspect(fd, w, s)
	if err == nil && w != wantInfo && flags == unix.O_PATH {
		fd, err = d.reopen(fd, w)
	}
	if err != nil || w == wantInfo {
		unix.Close(fd)
		return File{Info: info}, err
	}
	if w != wantDir {
		// A regular file needs no poller, to which a non-blocking one
		// would be offered. The access mode is not changed by this.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, statusFlags(w))
	}
	return File{os.NewFile(uintptr(fd), info.Real), info}, err
}

func (d *kernelDir) isPlain(rel string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd(), rel, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// inspect says whether what fd refers to may be used, and describes it.
func (d *kernelDir) inspect(fd int, w want, s *snapshot) (Info, error) {
	real, err := d.realPath(fd)
	if err != nil {
		return Info{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	if !s.permits(real) || (st.Nlink == 0 && strings.HasSuffix(real, deletedMark)) {
		return Info{}, errElsewhere
	}
	info := Info{real, osfile.OfStat(&st)}
	return info, s.suits(w, info)
}

// realPath returns the path of an open descriptor: absolute, without links, and
// as this process sees it; see proc_pid_fd(5).
func (d *kernelDir) realPath(fd int) (string, error) {
	var short [256]byte // clearing a long one costs more than the call
	path, err := d.readPath(fd, short[:])
	if err == unix.ENAMETOOLONG {
		path, err = d.readPath(fd, make([]byte, maxPath+len(deletedMark)))
	}
	return path, err
}

func (d *kernelDir) readPath(fd int, buf []byte) (string, error) {
	n, err := unix.Readlinkat(int(d.proc.Fd()), strconv.Itoa(fd), buf)
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// reopen replaces an O_PATH descriptor by one for w and returns the one that is
// open in the end. Not waiting matters even for a regular file: a lease of
// another process (F_SETLEASE) would hold the open up.
func (d *kernelDir) reopen(fd int, w want) (int, error) {
	flags := unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	switch w {
	case wantAppend:
		flags |= unix.O_WRONLY | unix.O_APPEND
	case wantDir:
		flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	}
	again, err := unix.Openat(int(d.proc.Fd()), strconv.Itoa(fd), flags, 0)
	if err != nil {
		return fd, err
	}
	unix.Close(fd)
	return again, nil
}

// statusFlags are those that a descriptor for w keeps once it is open.
func statusFlags(w want) int {
	if w == wantAppend {
		return unix.O_APPEND
	}
	return 0
}

func (d *kernelDir) child(name string) (dir, error) {
	fd, err := openat2(d.fd(), name, unix.O_PATH|unix.O_DIRECTORY, beneath|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return &kernelDir{os.NewFile(uintptr(fd), name), d.proc}, nil
}

func (d *kernelDir) writable(name string) error {
	return unix.Faccessat(d.fd(), name, unix.W_OK, unix.AT_EACCESS)
}

func (d *kernelDir) at(real string) bool {
	now, err := d.realPath(d.fd())
	return err == nil && now == real
}

// path returns a path of name that goes through the descriptor, which needs no
// permission to read the directory.
func (d *kernelDir) path(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(d.fd()) + "/" + name
}

func (d *kernelDir) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.path(name), flag|unix.O_NOFOLLOW, perm)
}

func (d *kernelDir) Lstat(name string) (fs.FileInfo, error)    { return os.Lstat(d.path(name)) }
func (d *kernelDir) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(d.path(name), perm) }
func (d *kernelDir) Rename(old, name string) error             { return os.Rename(d.path(old), d.path(name)) }
func (d *kernelDir) Remove(name string) error                  { return os.Remove(d.path(name)) }
func (d *kernelDir) Close() error                              { return d.f.Close() }

// anonymous creates a file that vanishes with the process until it is
// published (O_TMPFILE). Not every file system can.
func (d *kernelDir) anonymous(perm fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd(), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), d.f.Name()), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS:
		return nil, errors.ErrUnsupported
	}
	return nil, err
}

func (d *kernelDir) publish(f *os.File, temp, name string) error {
	if temp == "" {
		return unix.Linkat(int(d.proc.Fd()), strconv.Itoa(int(f.Fd())), d.fd(), name, unix.AT_SYMLINK_FOLLOW)
	}
	err := unix.Renameat2(d.fd(), temp, d.fd(), name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err := unix.Linkat(d.fd(), temp, d.fd(), name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd(), temp, 0)
}

// copyAttributes copies what belongs to the user: user.* and the access control
// list. What the file system or the kernel refuses is left out.
func copyAttributes(toFile, fromFile *os.File) {
	to, from := int(toFile.Fd()), int(fromFile.Fd())
	size, err := unix.Flistxattr(from, nil)
	if err != nil || size == 0 {
		return
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(from, list); err != nil {
		return
	}
	for _, raw := range bytes.Split(list[:size], []byte{0}) {
		name := string(raw)
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" {
			continue
		}
		value := make([]byte, 64<<10) // XATTR_SIZE_MAX
		if n, err := unix.Fgetxattr(from, name, value); err == nil {
			_ = unix.Fsetxattr(to, name, value[:n], 0)
		}
	}
}
