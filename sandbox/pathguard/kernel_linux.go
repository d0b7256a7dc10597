package pathguard

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/osfile"
)

// platform returns how files are opened: through openat2(2), or through [os.Root]
// where a seccomp filter refuses openat2 or /proc is not mounted.
func platform(owner int) fileSystem {
	if usable() {
		return kernel{owner}
	}
	return portable{}
}

var usable = sync.OnceValue(func() bool {
	fd, err := openat2("/proc", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
})

// kernel has the kernel follow no symlinks, and make what is made for an owner, if that is not zero.
type kernel struct{ owner int }

// openat2 opens what is at a canonical path.
func openat2(real string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, real, &how)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// open looks at the kind of the file first, so that no device or FIFO notices. Not to
// wait matters even for a regular file, where a lease of another process (F_SETLEASE)
// would hold the open up, and if it is a FIFO by now.
func (kernel) open(real string, w want, s *snapshot) (File, error) {
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil {
		return File{}, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return File{}, osfile.ErrMoved
	}
	info := Info{real, osfile.OfStat(&st)}
	if err := s.suits(w, info); err != nil {
		return File{}, err
	}
	flags := [...]uint64{
		wantFile: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY, wantAppend: unix.O_WRONLY | unix.O_APPEND | unix.O_NONBLOCK | unix.O_NOCTTY,
		wantDir: unix.O_RDONLY | unix.O_DIRECTORY, wantInfo: unix.O_PATH,
	}[w]
	fd, err := openat2(real, flags)
	if err != nil {
		return File{}, err
	}
	err = unix.Fstat(fd, &st)
	if err == nil {
		info.Info = osfile.OfStat(&st)
		err = s.suits(w, info)
	}
	if err == nil && w != wantInfo {
		// A regular file needs no poller, to which a non-blocking one would be offered.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, int(flags&unix.O_APPEND))
	}
	if err != nil || w == wantInfo {
		unix.Close(fd)
		return File{Info: info}, err
	}
	return File{os.NewFile(uintptr(fd), real), info}, nil
}

func (k kernel) openDir(real string) (dir, error) {
	fd, err := openat2(real, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return &kernelDir{os.NewFile(uintptr(fd), real), k.owner}, nil
}

// kernelDir is a directory whose names are reached through its descriptor.
type kernelDir struct {
	f     *os.File // O_PATH
	owner int      // that of kernel
}

// as makes something on a thread that has the rights of the owner over files meanwhile, and no others.
func (d *kernelDir) as(make func() error) error {
	if d.owner == 0 {
		return make()
	}
	runtime.LockOSThread()
	err := error(unix.EPERM)
	if osfile.ActAs(d.owner, d.owner) {
		err = make()
	}
	if osfile.ActAs(unix.Geteuid(), unix.Getegid()) {
		runtime.UnlockOSThread() // else the thread ends with its goroutine
	}
	return err
}

func (d *kernelDir) fd() int { return int(d.f.Fd()) }

func (d *kernelDir) Stat() (fs.FileInfo, error) { return d.f.Stat() }

func (d *kernelDir) child(name string) (dir, error) {
	fd, err := unix.Openat(d.fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &kernelDir{os.NewFile(uintptr(fd), name), d.owner}, nil
}

func (d *kernelDir) writable(name string) error {
	return unix.Faccessat(d.fd(), name, unix.W_OK, unix.AT_EACCESS)
}

// path returns a path of name that goes through the descriptor, which needs no
// permission to read the directory.
func (d *kernelDir) path(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(d.fd()) + "/" + name
}

func (d *kernelDir) OpenFile(name string, flag int, perm fs.FileMode) (f *os.File, err error) {
	open := func() error {
		f, err = os.OpenFile(d.path(name), flag|unix.O_NOFOLLOW, perm)
		return err
	}
	if flag&os.O_CREATE == 0 {
		err = open()
	} else {
		err = d.as(open)
	}
	return f, err
}

func (d *kernelDir) Mkdir(name string, perm fs.FileMode) error {
	return d.as(func() error { return os.Mkdir(d.path(name), perm) })
}

func (d *kernelDir) Symlink(target, name string) error {
	return d.as(func() error { return os.Symlink(target, d.path(name)) })
}

func (d *kernelDir) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(d.path(name)) }
func (d *kernelDir) Remove(name string) error               { return os.Remove(d.path(name)) }
func (d *kernelDir) Close() error                           { return d.f.Close() }

func (d *kernelDir) anonymous(perm fs.FileMode) (*os.File, error) {
	fd := -1
	err := d.as(func() (err error) {
		fd, err = unix.Openat(d.fd(), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), d.f.Name()), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL:
		return nil, errors.ErrUnsupported
	}
	return nil, err
}

func (d *kernelDir) link(f *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), d.fd(), name, unix.AT_SYMLINK_FOLLOW)
}

func (d *kernelDir) move(name string, to dir, as string, replace bool) error {
	there := to.(*kernelDir).fd()
	if replace {
		return unix.Renameat(d.fd(), name, there, as)
	}
	err := unix.Renameat2(d.fd(), name, there, as, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	switch err = unix.Linkat(d.fd(), name, there, as, 0); err {
	case nil:
		return unix.Unlinkat(d.fd(), name, 0)
	case unix.EPERM: // a directory, which replaces no more than an empty one
		return unix.Renameat(d.fd(), name, there, as)
	}
	return err
}

// setTime sets the time of change of a file, if it can.
func setTime(f *os.File, modified time.Time) {
	_ = os.Chtimes("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), time.Time{}, modified)
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
	for raw := range bytes.SplitSeq(list[:size], []byte{0}) {
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

// StampOf returns what changes whenever a name in a directory does. It is not ok if that
// cannot be told, as of a directory that has just changed: the clock of a file system
// has steps.
func StampOf(dir string) (s Stamp, ok bool) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return s, false
	}
	return Stamp{st.Dev, st.Ino, st.Ctim.Nano()}, time.Since(time.Unix(0, st.Ctim.Nano())) > 20*time.Millisecond
}
