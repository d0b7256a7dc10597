package confine

import (
	"errors"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file says whether a thread can start another command: as long as all that its plan
// names is what it was, and no command left anything in what is the command's own.

// A mark tells what is at a path from what was there. The zero mark is nothing.
type mark struct {
	major, minor uint32
	inode, mount uint64
	kind         uint16 // S_IFDIR or another
}

// A directory has paths that were granted and are no mounts: they are what they were as
// long as it did not change.
type directory struct {
	paths map[string]mark
	was   unix.Statx_t
}

// settled is how long ago a directory changed for the last time if a change that follows
// has another time.
const settled = 100 * time.Millisecond

// A root is that of a file system of the command's own, or a device in it.
type root struct {
	fd    int
	empty unix.Statx_t
}

// Notes are what a thread that was restricted found at the paths of its plan.
type notes struct {
	table       int // of the mounts of its supervisor
	own         []root
	marks       map[string]mark // of all paths but those in directories; nil if nobody asks
	directories map[string]*directory
}

// look returns what is at a path, or at itself if that is empty, and does not change by
// being used.
func look(at int, path string) (st unix.Statx_t, m mark, err error) {
	err = unix.Statx(at, path, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st)
	st.Atime, st.Mtime = unix.StatxTimestamp{}, unix.StatxTimestamp{}
	return st, mark{st.Dev_major, st.Dev_minor, st.Ino, st.Mnt_id, st.Mode & unix.S_IFMT}, err
}

// watch begins to take notes, in the namespace of the supervisor.
func (n *notes) watch(mounts []mount, grants []grant) {
	n.marks = map[string]mark{}
	for _, m := range mounts {
		n.marks[m.path] = mark{}
	}
	for _, g := range grants {
		n.marks[g.path] = mark{}
	}
	n.table, _ = unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// note notes what fd is open on as what was used at path.
func (n *notes) note(path string, fd int) (m mark, err error) {
	if _, m, err = look(fd, ""); n.marks != nil {
		n.marks[path] = m
	}
	return m, err
}

// keep notes what is new in a file system of the command's own, if this kernel has that.
func (n *notes) keep(fd int, err error) {
	if !errors.Is(err, unix.ENODEV) {
		empty, _, _ := look(fd, "")
		n.own = append(n.own, root{fd, empty})
	}
}

// findInMemory finds the file systems in memory where the command may write.
func (p *plan) findInMemory() {
	known := map[unix.Fsid]bool{}
	for _, g := range p.grants {
		if g.rights&canWrite == 0 {
			continue
		}
		fd, err := openPath(g.path)
		if err != nil {
			continue
		}
		var st unix.Statfs_t
		_, m, _ := look(fd, "") // devices are on one, too
		if err = unix.Fstatfs(fd, &st); err == nil && m.kind == unix.S_IFDIR && (st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC) && !known[st.Fsid] {
			known[st.Fsid] = true
			p.inMemory = append(p.inMemory, fd)
		} else {
			unix.Close(fd)
		}
	}
}

// group puts the notes about what is granted to those of its directories.
func (n *notes) group(mounts []mount, grants []grant) {
	n.directories = map[string]*directory{}
	for _, g := range grants {
		dir := filepath.Dir(g.path)
		if dir == g.path || slices.ContainsFunc(mounts, func(m mount) bool { return m.path == g.path }) {
			continue
		}
		if n.directories[dir] == nil {
			n.directories[dir] = &directory{paths: map[string]mark{}}
		}
		n.directories[dir].paths[g.path] = n.marks[g.path]
		delete(n.marks, g.path)
	}
}

// holds reports whether all paths of the plan are what they were, and nothing else was
// mounted on the machine.
func (n *notes) holds() bool {
	changed, err := unix.Poll([]unix.PollFd{{Fd: int32(n.table), Events: unix.POLLPRI}}, 0)
	if n.table < 0 || changed != 0 || err != nil || !same(n.marks) {
		return false
	}
	for path, d := range n.directories {
		now, _, err := look(unix.AT_FDCWD, path)
		if err == nil && now == d.was {
			continue
		}
		if !same(d.paths) {
			return false
		}
		if d.was = now; time.Since(time.Unix(now.Ctime.Sec, int64(now.Ctime.Nsec))) < settled {
			d.was = unix.Statx_t{}
		}
	}
	return true
}

func same(marks map[string]mark) bool {
	for path, was := range marks {
		if _, now, _ := look(unix.AT_FDCWD, path); now != was {
			return false
		}
	}
	return true
}

// left reports whether commands left anything for the next one, after their end, of which a thread
// that is separated has mounts, and with them shared memory and queues, of its own.
func (n *notes) left(separated bool) bool {
	for _, r := range n.own {
		if now, _, err := look(r.fd, ""); now != r.empty || err != nil {
			return true
		}
	}
	const (
		msgInfo, shmInfo, semInfo = 12, 14, 19
		inUse                     = 7 // of struct seminfo
	)
	var shm, sem, msg [32]int32
	_, _, err1 := unix.Syscall(unix.SYS_SHMCTL, 0, shmInfo, uintptr(unsafe.Pointer(&shm)))
	_, _, err2 := unix.Syscall6(unix.SYS_SEMCTL, 0, 0, semInfo, uintptr(unsafe.Pointer(&sem)), 0, 0)
	_, _, err3 := unix.Syscall(unix.SYS_MSGCTL, 0, msgInfo, uintptr(unsafe.Pointer(&msg)))
	known := func(err unix.Errno) bool { return err == 0 || err == unix.ENOSYS }
	return separated && !(known(err1) && known(err2) && known(err3) && shm[0]+sem[inUse]+msg[0] == 0)
}

// release closes what is kept for another command.
func (p *plan) release() {
	for _, r := range p.notes.own {
		unix.Close(r.fd)
	}
	for _, fd := range p.inMemory {
		unix.Close(fd)
	}
	unix.Close(p.notes.table)
	unix.Close(p.listener)
	unix.Close(p.lock)
}
