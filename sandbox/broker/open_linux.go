package broker

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// doOpen opens a file to be written, or makes it.
func (b *session) doOpen(r *request) error {
	unnamed := r.flags&unix.O_TMPFILE == unix.O_TMPFILE
	if r.flags&unix.O_CREAT != 0 && !unnamed && strings.HasSuffix(r.paths[0], "/") {
		return unix.EISDIR
	}
	for range maxLinks {
		follow := r.flags&unix.O_NOFOLLOW == 0 && r.flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
		p, err := b.locate(r.tid, r.dirs[0], r.paths[0], follow)
		if err != nil {
			return err
		}
		err = b.openPlace(r, &p)
		if p.close(); err != errMoved {
			return err
		}
	}
	return unix.ELOOP
}

// errMoved says that something else has a name by now.
var errMoved error = unix.ESTALE

// openPlace opens what is at the place. It never waits.
func (b *session) openPlace(r *request, p *place) (err error) {
	if p.link && r.flags&unix.O_NOFOLLOW == 0 {
		return b.reopen(r, p)
	}
	if !b.enter(p) {
		return errWaits
	}
	defer b.leave()
	var st unix.Stat_t
	missing := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil
	unnamed := r.flags&unix.O_TMPFILE == unix.O_TMPFILE
	kind := st.Mode & unix.S_IFMT
	if !unnamed && kind != unix.S_IFCHR && kind != unix.S_IFDIR {
		if err := b.permit(r.op, p, false); err != nil {
			return err
		}
	}
	flags := r.flags
	switch {
	case unnamed || missing:
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return unix.EEXIST
	case kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(5, 0):
		return b.openTerminal(r)
	case kind == unix.S_IFLNK && flags&unix.O_NOFOLLOW == 0:
		return errMoved
	default: // what is there needs no umask
		if flags &^= unix.O_CREAT; kind == unix.S_IFDIR && r.flags&unix.O_CREAT != 0 {
			return unix.EISDIR
		}
	}
	guarded := !unnamed && p.concerned()
	if guarded { // nothing is lost before it is settled
		flags &^= unix.O_TRUNC
	}
	s := b.usual
	if flags&unix.O_CREAT != 0 || unnamed || s.uid == 0 {
		if s, err = b.become(r.tid); err != nil {
			return err
		}
	}
	fd, err := b.openNoLink(p.dir, p.as, flags|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, r.mode)
	s.restore()
	switch {
	case err == unix.ELOOP && flags&unix.O_NOFOLLOW == 0, err == unix.ENOENT && flags != r.flags && r.flags&unix.O_CREAT != 0:
		return errMoved
	case r.waits(kind, err):
		return errWaits
	case err != nil:
		b.record(r.op, p.path, "", err)
		return err
	}
	if missing || unnamed {
		b.count(nil)
	}
	if !unnamed {
		if err = b.settled(p, missing); err == nil && guarded && r.flags&unix.O_TRUNC != 0 {
			err = unix.Ftruncate(fd, 0)
		}
	}
	if err == nil {
		err = b.hand(r, fd, kind)
	} else {
		unix.Close(fd)
	}
	if err != nil && err != errAnswered && missing && !unnamed { // it has too many open, too
		_ = b.unlink(p.dir, p.name, false)
	}
	return err
}

// hand answers with what was opened so that it did not wait.
func (b *session) hand(r *request, fd int, kind uint32) error {
	give := func() error {
		if r.flags&unix.O_NONBLOCK == 0 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, r.flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_TRUNC|unix.O_NOCTTY)); err != nil {
				unix.Close(fd)
				return err
			}
		}
		return b.give(r.id, fd, r.flags)
	}
	if kind != unix.S_IFIFO || r.flags&(unix.O_NONBLOCK|unix.O_ACCMODE) != unix.O_RDONLY || hasWriter(fd) {
		return give()
	}
	b.await(r, none, func() error {
		if !hasWriter(fd) {
			return errWaits
		}
		err := give()
		fd = none
		return err
	}, func() { unix.Close(fd) })
	return errAnswered
}

// waits reports whether an open that does not wait failed because it would have to, for the
// reader of a FIFO or the holder of a lease.
func (r *request) waits(kind uint32, err error) bool {
	return r.flags&unix.O_NONBLOCK == 0 && (err == unix.ENXIO && kind == unix.S_IFIFO || err == unix.EAGAIN)
}

// hasWriter reports whether a FIFO is open for writing, or was since it has been open here.
func hasWriter(fifo int) bool {
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fifo), Events: unix.POLLIN}}, 0); n > 0 && err == nil {
		return true // there is something to read, or the writer has gone
	}
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		return true
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	n, err := unix.Tee(fifo, pipe[1], 1, unix.SPLICE_F_NONBLOCK) // which takes nothing out of it
	return n > 0 || err == unix.EAGAIN
}

// reopen opens again what a process has open, by its magic link.
func (b *session) reopen(r *request, p *place) error {
	fd, err := b.open(p.dir, p.name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to, err := b.descriptorPath(fd)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	kind := st.Mode & unix.S_IFMT
	target := place{dir: none}
	if err == nil && kind == unix.S_IFREG {
		dir, name := path.Split(strings.TrimSuffix(to, " (deleted)"))
		target.name, target.path = name, path.Join(dir, name)
		if target.dir, err = b.openat2(unix.AT_FDCWD, dir, unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}); err == nil {
			defer target.close()
			err = b.permit(r.op, &target, false)
		} else if err == unix.ENOENT {
			err = nil // its directory is gone
		}
	}
	if err != nil {
		return err
	}
	opened, err := b.open(unix.AT_FDCWD, descriptorLink(fd), r.flags&^unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, r.mode)
	if r.waits(kind, err) {
		return errWaits
	}
	b.record(r.op, to, "", err)
	if err == nil && target.dir != none {
		if err = b.settled(&target, false); err != nil {
			unix.Close(opened)
		}
	}
	if err != nil {
		return err
	}
	return b.hand(r, opened, kind)
}

// openTerminal opens the controlling terminal of the thread, which is not the broker's.
func (b *session) openTerminal(r *request) error {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(r.tid) + "/stat")
	if err != nil {
		return unix.ENXIO
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	words := strings.Fields(rest)
	const terminal = 4 // of the fields after the name
	if len(words) <= terminal {
		return unix.ENXIO
	}
	number, _ := strconv.ParseUint(words[terminal], 10, 64)
	major, minor := unix.Major(number), unix.Minor(number)
	if major < 136 || major > 143 { // of pseudo-terminals
		return unix.ENXIO
	}
	fd, err := b.open(unix.AT_FDCWD, "/dev/pts/"+strconv.Itoa(int(minor+(major-136)<<20)), r.flags|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return b.give(r.id, fd, r.flags)
}
