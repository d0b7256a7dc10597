package pathguard

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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

func (d *kernelDir) publish(f *os.File, name string) error {
	return unix.Linkat(int(d.proc.Fd()), strconv.Itoa(int(f.Fd())), d.fd(), name, unix.AT_SYMLINK_FOLLOW)
}

func (d *kernelDir) create(name string, perm fs.FileMode) (*os.File, error) {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd(), name, flags, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *kernelDir) rename(old, name string) error {
	return unix.Renameat(d.fd(), old, d.fd(), name)
}

func (d *kernelDir) renameNew(old, name string) error {
	err := unix.Renameat2(d.fd(), old, d.fd(), name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err := unix.Linkat(d.fd(), old, d.fd(), name, 0); err != nil {
		return err
	}
	return d.remove(old)
}

func (d *kernelDir) remove(name string) error { return unix.Unlinkat(d.fd(), name, 0) }

// keep makes f look like the file name that it is going to replace. Owner and
// group are kept as far as the process may set them. Setuid and setgid are not
// kept, as the kernel clears them on any write. The access control list comes
// last because chmod changes its mask.
func (d *kernelDir) keep(f *os.File, name string, old Info) error {
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) != old.uid || int(st.Gid) != old.gid {
		if unix.Fchown(fd, old.uid, old.gid) != nil {
			_ = unix.Fchown(fd, -1, old.gid) // a file of another owner: its group is better than nothing
		}
	}
	if err := unix.Fchmod(fd, uint32(old.Mode.Perm())); err != nil {
		return err
	}
	from, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // not readable for us, so its attributes are not either
	}
	defer unix.Close(from)
	copyAttributes(fd, from)
	return nil
}

// copyAttributes copies what belongs to the user: user.* and the access control
// list. What the file system or the kernel refuses is left out.
func copyAttributes(to, from int) {
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
