package confine

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// covers returns what is mounted instead of the files of mountShown, by their index:
// files without content of the same size and time. A user namespace in which their owner
// has no ID keeps all from opening them, root too. Where that cannot be made, those
// files are hidden as others are.
func (p *plan) covers() map[int]int {
	tree, trees := -1, map[int]int{}
	for i, m := range p.mounts {
		var st unix.Stat_t
		if m.kind != mountShown || p.nobody <= 0 || unix.Lstat(m.path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if tree < 0 {
			var err error
			if tree, err = newFileSystem("tmpfs", 0, [2]string{"mode", "711"}); err != nil {
				return nil
			}
			defer unix.Close(tree)
		}
		name := strconv.Itoa(i)
		fd, err := unix.Openat(tree, name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil
		}
		if unix.Ftruncate(fd, st.Size) == nil && unix.Fchmod(fd, st.Mode&0o700) == nil && unix.UtimesNanoAt(tree, name, []unix.Timespec{st.Atim, st.Mtim}, 0) == nil {
			trees[i] = -1
		}
		unix.Close(fd)
	}
	if tree < 0 {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP | harmless, Userns_fd: uint64(p.nobody)}
	on, err := openPath("/dev") // before Linux 6.15 only what is mounted somewhere can be copied
	if err != nil {
		return nil
	}
	defer unix.Close(on)
	if unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr) != nil || attach(tree, on, "/dev") != nil {
		return nil
	}
	for i := range trees {
		if trees[i], err = unix.OpenTree(tree, strconv.Itoa(i), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err != nil {
			delete(trees, i)
		}
	}
	_ = unix.Unmount("/dev", unix.MNT_DETACH)
	return trees
}

// nobody returns a user namespace in which this user has no ID as it is, zero if there is
// none. It is that of a process that ends before its first instruction, at which its files
// in /proc are those of this user, unlike ours.
func nobody() int {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{""}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL, Cloneflags: unix.CLONE_NEWUSER}})
	if err != nil {
		return 0
	}
	defer func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}()
	err = awaitStop(pid)
	for _, set := range [][2]string{{"uid_map", fmt.Sprintf("%d %d 1", os.Geteuid()+1, os.Geteuid())}, {"setgroups", "deny"}, {"gid_map", fmt.Sprintf("%d %d 1", os.Getegid()+1, os.Getegid())}} {
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, set[0]), []byte(set[1]), 0)
		}
	}
	if err != nil {
		return 0
	}
	fd, _ := unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return max(fd, 0)
}
