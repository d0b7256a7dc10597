package confine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxIndex is how much of an index of git is searched; a larger one counts as one with all names.
const maxIndex = 4 << 20

// covers returns what is mounted over hidden files that git tracks, by the index of the
// mount: files without content of the same size and time, because git stops at devices.
// They are seen by the IDs of a user namespace in which their owner has none, so that
// root may not open them either. Where that cannot be, they are hidden as others are.
func (p *plan) covers() map[int]int {
	tree, trees, indexes := -1, map[int]int{}, map[string][]byte{}
	for i, m := range p.mounts {
		var st unix.Stat_t
		if m.kind != mountHidden || unix.Lstat(m.path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || !tracked(m.path, indexes) {
			continue
		}
		if tree < 0 {
			var err error
			if tree, err = newFileSystem("tmpfs", 0, [2]string{"mode", "711"}); err != nil {
				return nil
			}
			defer unix.Close(tree)
		}
		if fd, err := unix.Openat(tree, strconv.Itoa(i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, st.Mode&0o700); err == nil {
			trees[i] = -1
			_ = unix.Ftruncate(fd, st.Size)
			_ = unix.UtimesNanoAt(tree, strconv.Itoa(i), []unix.Timespec{st.Atim, st.Mtim}, 0)
			unix.Close(fd)
		}
	}
	if tree < 0 {
		return nil
	}
	on, err := openPath("/dev") // before Linux 6.15 only what is mounted somewhere can be copied
	if err != nil {
		return nil
	}
	defer unix.Close(on)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP | harmless, Userns_fd: uint64(p.nobody())}
	if unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr) != nil || p.attach(tree, on, "/dev") != nil {
		return nil
	}
	for i := range trees {
		if trees[i], err = unix.OpenTree(tree, strconv.Itoa(i), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err != nil {
			delete(trees, i)
		}
	}
	_ = unix.Unmount("/dev", unix.MNT_DETACH)
	p.covered = true
	return trees
}

// tracked reports whether a file is in the index of the repository around it. Indexes are
// those that were read so far.
func tracked(file string, indexes map[string][]byte) bool {
	for dir := filepath.Dir(file); dir != "/"; dir = filepath.Dir(dir) {
		index, known := indexes[dir]
		if !known {
			if f, err := os.OpenFile(dir+"/.git/index", os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
				if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
					index, _ = io.ReadAll(io.LimitReader(f, maxIndex))
				}
				f.Close()
			}
			indexes[dir] = index
		}
		if index != nil {
			return len(index) == maxIndex || bytes.Contains(index, []byte(strings.TrimPrefix(file, dir+"/")+"\x00"))
		}
	}
	return false
}

// nobody returns a user namespace in which this user has no ID as it is. It is that of a
// process that ends before its first instruction, at which its files in /proc are those
// of this user, unlike ours.
func nobody() int {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{""}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true, Cloneflags: unix.CLONE_NEWUSER}})
	if err != nil {
		return -1
	}
	_ = awaitStop(pid)
	next := func(id int) string { return fmt.Sprintf("%d %d 1", id+1, id) }
	for _, set := range [][2]string{{"uid_map", next(os.Geteuid())}, {"setgroups", "deny"}, {"gid_map", next(os.Getegid())}} {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, set[0]), []byte(set[1]), 0) // without, it is of no use, which the kernel says
	}
	fd, _ := unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	_ = unix.Kill(pid, unix.SIGKILL)
	_, _ = unix.Wait4(pid, nil, 0, nil)
	return fd
}
