package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
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
		if m.kind != mountWrite && m.kind != mountData {
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
	if !p.WritableRoot {
		if err := unix.MountSetattr(-1, "/", recursive, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make all read-only: %w", os.NewSyscallError("mount_setattr", err))
		}
	}
	if err := p.mountSharedMemory(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, m := range p.mounts {
		if err := m.mount(writable[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sharedMemory is where shm_open(3) and sem_open(3) keep files.
const sharedMemory = "/dev/shm"

// mountSharedMemory gives the command some of its own, which libraries for
// parallel work need, unless the plan says something of that directory.
func (p *plan) mountSharedMemory() error {
	for _, m := range p.mounts {
		if beneath(m.path, sharedMemory) || beneath(sharedMemory, m.path) {
			return nil
		}
	}
	at, err := openPath(sharedMemory)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := newTmpfs(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, [2]string{"mode", "1777"}, [2]string{"size", "256m"})
	if err != nil {
		return fmt.Errorf("make shared memory: %w", err)
	}
	defer unix.Close(tree)
	p.grants = append(p.grants, grant{canLook | canWrite, sharedMemory})
	return attach(tree, at, sharedMemory)
}

// attributes are what is changed of the mounts below a path.
var attributes = map[mountKind]unix.MountAttr{
	mountData:     {Attr_set: unix.MOUNT_ATTR_NOEXEC},
	mountExec:     {Attr_clr: unix.MOUNT_ATTR_NOEXEC},
	mountReadOnly: {Attr_set: unix.MOUNT_ATTR_RDONLY},
	mountHidden:   {Attr_set: harmless},
}

// mount mounts the tree on the path, or what belongs there if it is -1.
func (m mount) mount(tree int) error {
	at, err := openPath(m.path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if tree < 0 {
		switch m.kind {
		case mountWrite, mountData:
			return nil // it came to exist just now, and is read-only
		case mountHidden:
			if tree, err = nothing(at); err != nil {
				err = fmt.Errorf("hide %s: %w", m.path, err)
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
	return attach(tree, at, m.path)
}

// nothing returns what is mounted over a hidden path: over a directory an empty one
// that nobody may use, and over a file a device that cannot be opened, which fails with
// EACCES for root too.
func nothing(at int) (tree int, err error) {
	directory, err := isDirectory(at)
	switch {
	case err != nil:
		return -1, err
	case directory:
		return newTmpfs(harmless, [2]string{"mode", "0"}, [2]string{"size", "4k"}, [2]string{"nr_inodes", "1"})
	}
	return cloneTree(os.DevNull)
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

func attach(tree, at int, path string) error {
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|moveToEmptyPath); err != nil {
		return fmt.Errorf("mount on %s: %w", path, os.NewSyscallError("move_mount", err))
	}
	return nil
}

func newTmpfs(attr int, options ...[2]string) (int, error) {
	fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
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

// openPath returns a descriptor of a resolved path. No link is followed: what a
// command put in the place of a directory gives it no rights elsewhere. Nothing
// there is fs.ErrNotExist, and so is a link.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
			// Where this process may not even go, its commands cannot either.
			return -1, &fs.PathError{Op: "open", Path: path, Err: errors.Join(fs.ErrNotExist, err)}
		}
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

func isDirectory(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}
