//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// change tries to change a file, given by its path, or the directory it is in.
func change(args []string) {
	file, dir := args[0], args[1]
	for _, way := range changes {
		report(way.name, way.try(file, dir))
	}
	for _, way := range inNamespaces {
		report(way.name, way.try(file, dir))
	}
}

type changing struct {
	name string
	try  func(file, dir string) error
}

// with opens a file as far as it may be opened and passes it on.
func with(path string, flags int, f func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(fd)
	return f(fd)
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kept [][]byte // what the kernel is given the addresses of

const here = ^uintptr(99) // AT_FDCWD

var past = []unix.Timespec{{Sec: 1}, {Sec: 1}}

var changes = []changing{
	{"chmod", func(f, _ string) error { return unix.Chmod(f, 0o777) }},
	{"fchmod", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o777) })
	}},
	{"fchmodat2", func(f, _ string) error {
		return call(unix.SYS_FCHMODAT2, here, text(f), 0o777, unix.AT_SYMLINK_NOFOLLOW)
	}},
	{"chmod by path descriptor", func(f, _ string) error {
		return with(f, unix.O_PATH, func(fd int) error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o777) })
	}},
	{"fchmodat2 by path descriptor", func(f, _ string) error {
		return with(f, unix.O_PATH, func(fd int) error {
			return call(unix.SYS_FCHMODAT2, uintptr(fd), text(""), 0o777, unix.AT_EMPTY_PATH)
		})
	}},
	{"chown", func(f, _ string) error { return unix.Chown(f, 12345, 12345) }},
	{"chown to itself", func(f, _ string) error { return unix.Chown(f, os.Getuid(), os.Getgid()) }},
	{"lchown", func(f, _ string) error { return unix.Lchown(f, 12345, -1) }},
	{"fchown", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error { return unix.Fchown(fd, 12345, -1) })
	}},
	{"fchownat by path descriptor", func(f, _ string) error {
		return with(f, unix.O_PATH, func(fd int) error { return unix.Fchownat(fd, "", 12345, -1, unix.AT_EMPTY_PATH) })
	}},
	{"utimensat", func(f, _ string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, f, past, 0) }},
	{"futimens", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error {
			return call(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&past[0])), 0)
		})
	}},
	{"utimensat of the directory", func(_, d string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, d, past, 0) }},
	{"setxattr", func(f, _ string) error { return unix.Setxattr(f, "user.probe", []byte("x"), 0) }},
	{"fsetxattr", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error { return unix.Fsetxattr(fd, "user.probe", []byte("x"), 0) })
	}},
	{"removexattr", func(f, _ string) error { return unix.Removexattr(f, "user.canary") }},
	{"removexattrat", func(f, _ string) error { return call(unix.SYS_REMOVEXATTRAT, here, text(f), 0, text("user.canary")) }},
	{"set an ACL", func(f, _ string) error {
		return unix.Setxattr(f, "system.posix_acl_access", []byte("\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x04\x00\x07\x00\xff\xff\xff\xff \x00\x07\x00\xff\xff\xff\xff"), 0)
	}},
	{"set capabilities", func(f, _ string) error {
		return unix.Setxattr(f, "security.capability", []byte("\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
	}},
	{"flags", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40 /* no dump */) })
	}},
	{"file_setattr", func(f, _ string) error {
		attr := make([]byte, 24)
		attr[0] = 0x80 // no dump
		return call(unix.SYS_FILE_SETATTR, here, text(f), uintptr(unsafe.Pointer(&attr[0])), 24, 0)
	}},

	{"truncate", func(f, _ string) error { return unix.Truncate(f, 0) }},
	{"open to write", func(f, _ string) error {
		return with(f, unix.O_WRONLY, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err })
	}},
	{"open to truncate", func(f, _ string) error {
		return with(f, unix.O_RDONLY|unix.O_TRUNC, func(int) error { return nil })
	}},
	{"open to append", func(f, _ string) error {
		return with(f, unix.O_WRONLY|unix.O_APPEND, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err })
	}},
	{"reopen a descriptor", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error {
			return with(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil })
		})
	}},
	{"through the root of itself", func(f, _ string) error {
		return with("/proc/self/root"+f, unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil })
	}},
	{"through the root of the first process", func(f, _ string) error {
		return with("/proc/1/root"+f, unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil })
	}},
	{"chmod through the root of the first process", func(f, _ string) error { return unix.Chmod("/proc/1/root"+f, 0o777) }},
	{"fallocate", func(f, _ string) error {
		return with(f, unix.O_RDWR, func(fd int) error { return unix.Fallocate(fd, 0, 0, 4096) })
	}},
	{"map to write", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error {
			_, err := unix.Mmap(fd, 0, 16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		})
	}},
	{"copy into", func(f, _ string) error {
		return with("/proc/self/exe", unix.O_RDONLY, func(from int) error {
			return with(f, unix.O_RDONLY, func(to int) error {
				_, err := unix.CopyFileRange(from, nil, to, nil, 16, 0)
				return err
			})
		})
	}},

	{"unlink", func(f, _ string) error { return unix.Unlink(f) }},
	{"link here", func(f, _ string) error { return unix.Link(f, fmt.Sprintf("hard-%d", os.Getpid())) }},
	{"link a descriptor here", func(f, _ string) error {
		return with(f, unix.O_RDONLY, func(fd int) error {
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, fmt.Sprintf("hard2-%d", os.Getpid()), unix.AT_SYMLINK_FOLLOW)
		})
	}},
	{"link a descriptor here without a path", func(f, _ string) error {
		return with(f, unix.O_PATH, func(fd int) error {
			return unix.Linkat(fd, "", unix.AT_FDCWD, fmt.Sprintf("hard3-%d", os.Getpid()), unix.AT_EMPTY_PATH)
		})
	}},
	{"link there", func(_, d string) error { return unix.Link("/proc/self/exe", d+"/link") }},
	{"rename away", func(f, _ string) error { return unix.Rename(f, fmt.Sprintf("away-%d", os.Getpid())) }},
	{"rename over", func(f, _ string) error {
		own := fmt.Sprintf("own-%d", os.Getpid())
		if err := os.WriteFile(own, nil, 0o600); err != nil {
			return err
		}
		return unix.Rename(own, f)
	}},
	{"exchange", func(f, _ string) error {
		own := fmt.Sprintf("own2-%d", os.Getpid())
		if err := os.WriteFile(own, nil, 0o600); err != nil {
			return err
		}
		return unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, f, unix.RENAME_EXCHANGE)
	}},
	{"rename with a whiteout", func(f, _ string) error {
		return unix.Renameat2(unix.AT_FDCWD, f, unix.AT_FDCWD, fmt.Sprintf("away2-%d", os.Getpid()), unix.RENAME_WHITEOUT)
	}},
	{"rename the directory", func(_, d string) error { return unix.Rename(d, d+"-renamed") }},
	{"rename the directory here", func(_, d string) error { return unix.Rename(d, fmt.Sprintf("moved-%d", os.Getpid())) }},
	{"make a file", func(_, d string) error {
		return with(d+"/made", unix.O_CREAT|unix.O_WRONLY, func(int) error { return nil })
	}},
	{"make a file without a name", func(_, d string) error {
		return with(d, unix.O_TMPFILE|unix.O_RDWR, func(int) error { return nil })
	}},
	{"make a directory", func(_, d string) error { return unix.Mkdir(d+"/dir", 0o700) }},
	{"make a link", func(_, d string) error { return unix.Symlink("x", d+"/symlink") }},
	{"make a pipe", func(_, d string) error { return unix.Mknod(d+"/fifo", unix.S_IFIFO|0o600, 0) }},
	{"make a disk", func(_, d string) error {
		return unix.Mknod(d+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
	}},
	{"make a disk here", func(string, string) error {
		return unix.Mknod(fmt.Sprintf("disk-%d", os.Getpid()), unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
	}},
	{"make a terminal here", func(string, string) error {
		return unix.Mknod(fmt.Sprintf("tty-%d", os.Getpid()), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
	}},
	{"make a socket", func(_, d string) error {
		l, err := net.Listen("unix", d+"/socket")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{"remove the directory", func(_, d string) error { return os.RemoveAll(d) }},
	{"accounting", func(f, _ string) error {
		err := unix.Acct(f)
		if err == nil {
			_ = call(unix.SYS_ACCT, 0) // nobody wants it
		}
		return err
	}},
	{"swap", func(f, _ string) error { return call(unix.SYS_SWAPON, text(f), 0) }},
	{"handle", func(f, d string) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, f, 0)
		if err != nil {
			return err
		}
		return with(d, unix.O_RDONLY|unix.O_DIRECTORY, func(dir int) error {
			fd, err := unix.OpenByHandleAt(dir, handle, unix.O_WRONLY|unix.O_TRUNC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		})
	}},
	{"io_uring", func(string, string) error { return ioURing() }},
	{"descriptor of the parent", func(string, string) error {
		pidfd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(pidfd, 1, 0)
		return err
	}},
	{"memory of the parent", func(string, string) error {
		return with(fmt.Sprintf("/proc/%d/mem", os.Getppid()), unix.O_RDWR, func(int) error { return nil })
	}},
	{"core pattern", func(string, string) error {
		return with("/proc/sys/kernel/core_pattern", unix.O_WRONLY, func(int) error { return nil })
	}},
	{"release agent", func(string, string) error {
		all, _ := filepath.Glob("/sys/fs/cgroup/*/release_agent")
		for _, path := range append(all, "/sys/fs/cgroup/release_agent", "/sys/kernel/uevent_helper") {
			if err := with(path, unix.O_WRONLY, func(int) error { return nil }); err == nil {
				return nil
			}
		}
		return errors.New("none can be written")
	}},
}

// inNamespaces change mounts, so they come last.
var inNamespaces = []changing{
	{"remount", func(_, d string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"writable again", func(_, d string) error {
		return unix.MountSetattr(-1, "/", 0x8000, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"mount over", func(_, d string) error { return unix.Mount("none", d, "tmpfs", 0, "") }},
	{"bind", func(f, _ string) error { return unix.Mount("/dev/null", f, "", unix.MS_BIND, "") }},
	{"unmount", func(_, _ string) error {
		var failed error
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(mounts)) {
			if failed = unix.Unmount(strings.Fields(line)[1], unix.MNT_DETACH); failed == nil {
				return nil
			}
		}
		return failed
	}},
	{"copy of a tree", func(_, d string) error { return with2(unix.OpenTree(unix.AT_FDCWD, d, unix.OPEN_TREE_CLONE)) }},
	{"file system", func(string, string) error { return with2(unix.Fsopen("tmpfs", 0)) }},
	{"chroot", func(_, d string) error { return unix.Chroot(d) }},
	{"pivot_root", func(_, d string) error { return unix.PivotRoot(d, d) }},
	{"mounts of the first process", func(string, string) error {
		return with("/proc/1/ns/mnt", unix.O_RDONLY, func(fd int) error { return unix.Setns(fd, unix.CLONE_NEWNS) })
	}},
	{"user namespace", func(string, string) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"mount namespace", func(string, string) error { return unix.Unshare(unix.CLONE_NEWNS) }},
}

func with2(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}
