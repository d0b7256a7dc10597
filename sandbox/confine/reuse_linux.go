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

// look returns what is at a path, or at itself if that is empty, and does not change by
// being used.
func look(at int, path string) (st unix.Statx_t, m mark, err error) {
	err = unix.Statx(at, path, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st)
	st.Atime, st.Mtime = unix.StatxTimestamp{}, unix.StatxTimestamp{}
	return st, mark{st.Dev_major, st.Dev_minor, st.Ino, st.Mnt_id, st.Mode & unix.S_IFMT}, err
}

// watch begins to take notes, in the namespace of the supervisor.
func (p *plan) watch() {
	p.marks = map[string]mark{}
	for _, m := range p.mounts {
		p.marks[m.path] = mark{}
	}
	for _, g := range p.grants {
		p.marks[g.path] = mark{}
	}
	p.table, _ = unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// note notes what fd is open on as what was used at path.
func (p *plan) note(path string, fd int) (m mark, err error) {
	if _, m, err = look(fd, ""); p.marks != nil {
		p.marks[path] = m
	}
	return m, err
}

// keep notes what is new in a file system of the command's own, if this kernel has that.
func (p *plan) keep(fd int, err error) {
	if !errors.Is(err, unix.ENODEV) {
		empty, _, _ := look(fd, "")
		p.own = append(p.own, root{fd, empty})
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
func (p *plan) group() {
	p.directories = map[string]*directory{}
	for _, g := range p.grants {
		dir := filepath.Dir(g.path)
		if dir == g.path || slices.ContainsFunc(p.mounts, func(m mount) bool { return m.path == g.path }) {
			continue
		}
		if p.directories[dir] == nil {
			p.directories[dir] = &directory{paths: map[string]mark{}}
		}
		p.directories[dir].paths[g.path] = p.marks[g.path]
		delete(p.marks, g.path)
	}
}

// holds reports whether all paths of the plan are what they were, and nothing else was
// mounted on the machine.
func (p *plan) holds() bool {
	changed, err := unix.Poll([]unix.PollFd{{Fd: int32(p.table), Events: unix.POLLPRI}}, 0)
	if p.table < 0 || changed != 0 || err != nil || !same(p.marks) {
		return false
	}
	for path, d := range p.directories {
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

// left reports whether commands left anything for the next one, after their end.
func (p *plan) left() bool {
	for _, r := range p.own {
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
	return p.separated && !(known(err1) && known(err2) && known(err3) && shm[0]+sem[inUse]+msg[0] == 0)
}

// release closes what is kept for another command.
func (p *plan) release() {
	for _, r := range p.own {
		unix.Close(r.fd)
	}
	for _, fd := range p.inMemory {
		unix.Close(fd)
	}
	unix.Close(p.table)
	unix.Close(p.listener)
	unix.Close(p.lock)
}
