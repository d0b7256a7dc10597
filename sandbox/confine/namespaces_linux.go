package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

const (
	// The kernel has had these for longer than the package unix.
	moveToEmptyPath = 0x40   // MOVE_MOUNT_T_EMPTY_PATH
	recursive       = 0x8000 // AT_RECURSIVE

	harmless = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
)

// enterMountNamespace gives the calling thread mounts of its own, and with them
// System V and POSIX shared memory, semaphores and queues that no other process
// sees. It is ErrUnsupported where that is not allowed.
func enterMountNamespace() error {
	err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC)
	if err == nil {
		// First of all, so that nothing that follows shows outside.
		err = unix.MountSetattr(-1, "/", recursive, &unix.MountAttr{Propagation: unix.MS_PRIVATE})
	}
	if err != nil {
		return fmt.Errorf("make a mount namespace: %w: %w", ErrUnsupported, err)
	}
	return nil
}

// mount arranges the mounts of the plan in the namespace of the thread.
func (p *plan) mount() error {
	// Write paths are copied while they are still writable.
	writable := make([]int, len(p.mounts))
	for i, m := range p.mounts {
		writable[i] = -1
		if m.kind != mountWrite && m.kind != mountData && m.kind != mountRead {
			continue
		}
		tree, err := cloneTree(m.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		writable[i] = tree
	}
	for i, tree := range p.covers() {
		defer unix.Close(tree)
		writable[i] = tree
	}
	temp := -1
	if p.Temp != "" {
		tree, err := cloneTree(p.Temp)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		temp = tree
	}
	if !p.WritableRoot {
		if err := unix.MountSetattr(-1, "/", recursive, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make all read-only: %w", os.NewSyscallError("mount_setattr", err))
		}
	}
	if err := p.mountOwn(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if temp >= 0 {
		if err := p.mountTemp(temp); err != nil {
			return err
		}
	}
	p.notes.keep(newFileSystem("mqueue", harmless))
	for i, m := range p.mounts {
		if err := p.put(m, writable[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// own are file systems of the command's own: where shm_open(3) and sem_open(3) keep
// files, and pseudo-terminals.
var own = []struct {
	path, kind string
	rights     rights
	attributes int
	options    [][2]string
}{
	{"/dev/shm", "tmpfs", canLook | canWrite, unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC,
		[][2]string{{"mode", "1777"}, {"size", "256m"}}},
	{"/dev/pts", "devpts", canLook | canWrite | canDrive, unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, [][2]string{{"ptmxmode", "666"}, {"mode", "620"}}},
}

// mountOwn mounts those, unless the plan says something of their directories.
func (p *plan) mountOwn() error {
	for _, o := range own {
		if slices.ContainsFunc(p.mounts, func(m mount) bool { return pathguard.Within(o.path, m.path) || pathguard.Within(m.path, o.path) }) {
			continue
		}
		at, err := openPath(o.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer unix.Close(at)
		fd, err := newFileSystem(o.kind, o.attributes, o.options...)
		if err != nil {
			return fmt.Errorf("make %s: %w", o.path, err)
		}
		p.notes.keep(fd, nil)
		p.grants = append(p.grants, grant{o.rights, o.path})
		if o.kind == "devpts" { // the device finds the file system beside it
			p.notes.keep(unix.Openat(fd, "ptmx", unix.O_PATH|unix.O_CLOEXEC, 0))
			p.grants = append(p.grants, grant{canRead | canWrite | canDrive, "/dev/ptmx"})
		}
		if err := p.attach(fd, at, o.path); err != nil {
			return err
		}
	}
	return nil
}

// mountTemp mounts a tree on /tmp, and makes there what the mounts below it are on.
func (p *plan) mountTemp(tree int) error {
	at, err := openPath(temporary)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if p.ExecList {
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOEXEC}); err != nil {
			return os.NewSyscallError("mount_setattr", err)
		}
	}
	for _, m := range p.mounts {
		if m.kind == mountWrite || m.kind == mountData || m.kind == mountRead {
			if err := makePoint(tree, temporary, m.path); err != nil {
				return fmt.Errorf("make a mount point for %s: %w", m.path, err)
			}
		}
	}
	return p.attach(tree, at, temporary)
}

// temporary is the directory for temporary files of the system.
const temporary = "/tmp"

// makePoint makes what a path below another is mounted on, in the tree that will be
// there. Nothing that a command put in the way is followed.
func makePoint(tree int, top, path string) error {
	rest, below := strings.CutPrefix(path, top+"/")
	if !below {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil // nothing will be mounted
	}
	at, err := unix.Dup(tree)
	if err != nil {
		return err
	}
	defer func() { unix.Close(at) }()
	for {
		name, further, more := strings.Cut(rest, "/")
		if !more && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			err = unix.Mknodat(at, name, unix.S_IFREG|0o600, 0)
		} else {
			err = unix.Mkdirat(at, name, 0o755)
		}
		if err != nil && err != unix.EEXIST || !more {
			if err == unix.EEXIST {
				err = nil
			}
			return err
		}
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		unix.Close(at)
		at, rest = next, further
	}
}

// attributes are what is changed of the mounts below a path.
var attributes = map[mountKind]unix.MountAttr{
	mountData:     {Attr_set: unix.MOUNT_ATTR_NOEXEC},
	mountExec:     {Attr_clr: unix.MOUNT_ATTR_NOEXEC},
	mountRead:     {Attr_set: unix.MOUNT_ATTR_RDONLY},
	mountReadOnly: {Attr_set: unix.MOUNT_ATTR_RDONLY},
	mountHidden:   {Attr_set: harmless},
	mountApart:    {Attr_set: harmless},
}

// put mounts the tree on the path, or what belongs there if it is -1.
func (p *plan) put(m mount, tree int) error {
	at, err := openPath(m.path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if tree < 0 {
		switch m.kind {
		case mountWrite, mountData, mountRead:
			return nil // it came to exist just now, and is read-only
		case mountHidden:
			if tree, err = nothing(at); err != nil {
				err = fmt.Errorf("hide %s: %w", m.path, err)
			}
		case mountApart:
			if tree, err = p.apart(m.path); err != nil {
				err = fmt.Errorf("set %s apart: %w", m.path, err)
			}
		default:
			tree, err = cloneFd(at, m.path)
		}
		if err != nil {
			return err
		}
		defer unix.Close(tree)
	}
	if attr, ok := attributes[m.kind]; ok {
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|recursive, &attr); err != nil {
			return fmt.Errorf("restrict the mount of %s: %w", m.path, os.NewSyscallError("mount_setattr", err))
		}
	}
	return p.attach(tree, at, m.path)
}

// nothing returns what is mounted over a hidden path: over a directory an empty one
// that nobody may use, and over a file a device that cannot be opened, which fails with
// EACCES for root too.
func nothing(at int) (tree int, err error) {
	_, m, err := look(at, "")
	switch {
	case err != nil:
		return -1, err
	case m.kind == unix.S_IFDIR:
		return newFileSystem("tmpfs", harmless, [2]string{"mode", "0"}, [2]string{"size", "4k"}, [2]string{"nr_inodes", "1"})
	}
	return cloneTree(os.DevNull)
}

// apart returns a directory that has nothing but what is mounted below a path.
func (p *plan) apart(path string) (tree int, err error) {
	if tree, err = newFileSystem("tmpfs", harmless&^unix.MOUNT_ATTR_RDONLY, [2]string{"mode", "711"}, [2]string{"size", "64k"}); err != nil {
		return -1, err
	}
	for _, m := range p.mounts {
		if m.kind != mountHidden && m.kind != mountApart {
			if err := makePoint(tree, path, m.path); err != nil {
				unix.Close(tree)
				return -1, fmt.Errorf("make a mount point for %s: %w", m.path, err)
			}
		}
	}
	return tree, nil
}

func cloneTree(path string) (int, error) {
	fd, err := openPath(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return cloneFd(fd, path)
}

func cloneFd(fd int, path string) (int, error) {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|recursive)
	if err != nil {
		return -1, fmt.Errorf("copy the mount of %s: %w", path, os.NewSyscallError("open_tree", err))
	}
	return tree, nil
}

func (p *plan) attach(tree, at int, path string) error {
	err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|moveToEmptyPath)
	if err == nil {
		_, err = p.notes.note(path, tree)
	}
	if err != nil {
		return fmt.Errorf("mount on %s: %w", path, err)
	}
	return nil
}

func newFileSystem(kind string, attr int, options ...[2]string) (int, error) {
	fd, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fd)
	for _, option := range options {
		if err := unix.FsconfigSetString(fd, option[0], option[1]); err != nil {
			return -1, os.NewSyscallError("fsconfig", err)
		}
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return -1, os.NewSyscallError("fsconfig", err)
	}
	tree, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, attr)
	return tree, os.NewSyscallError("fsmount", err)
}

// enterNetNamespace gives the calling thread a network of its own, with nothing
// but a loopback interface. It is ErrUnsupported where that is not allowed.
func enterNetNamespace() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w: %w", ErrUnsupported, err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("start the loopback interface of a network namespace: %w: %w", ErrUnsupported, err)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("ioctl", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request))
}

// listen hands over a socket that listens at [ProxyAddress].
func listen(handOver func(fd int) error) error {
	l, err := net.Listen("tcp4", ProxyAddress)
	if err != nil {
		return err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer f.Close()
	return handOver(int(f.Fd()))
}

// openPath returns a descriptor of a resolved path. No link is followed: what a
// command put in the place of a directory gives it no rights elsewhere. Nothing
// there is fs.ErrNotExist, and so is a link.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := -1, error(unix.EINTR)
	for err == unix.EINTR || err == unix.EAGAIN {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
	}
	if err == unix.ENOSYS || err == unix.EPERM { // a kernel before 5.6, or an old seccomp profile of a container
		fd, err = openSteps(path)
	}
	switch err {
	case nil:
		return fd, nil
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		// Where this process may not even go, its commands cannot either.
		return -1, &fs.PathError{Op: "open", Path: path, Err: errors.Join(fs.ErrNotExist, err)}
	}
	return -1, &fs.PathError{Op: "open", Path: path, Err: err}
}

// openSteps opens a path one name after the other.
func openSteps(path string) (fd int, err error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err = unix.Open("/", flags, 0)
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' }) {
		if err == nil {
			dir := fd
			fd, err = unix.Openat(dir, name, flags, 0)
			unix.Close(dir)
		}
	}
	var st unix.Stat_t
	if err == nil && unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		unix.Close(fd)
		err = unix.ELOOP
	}
	return fd, err
}
