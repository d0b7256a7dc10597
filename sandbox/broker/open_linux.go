package broker

import (
	"os"
	"path"
	"strconv"
	"strings"
	"time"

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
		again, err := b.openPlace(r, &p)
		p.close()
		if !again {
			return err
		}
	}
	return unix.ELOOP
}

// openPlace opens what is at the place. Again says that it is a link by now.
func (b *session) openPlace(r *request, p *place) (again bool, err error) {
	if p.link && r.flags&unix.O_NOFOLLOW == 0 {
		return false, b.reopen(r, p)
	}
	var st unix.Stat_t
	missing := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil
	unnamed := r.flags&unix.O_TMPFILE == unix.O_TMPFILE
	kind := st.Mode & unix.S_IFMT
	if !unnamed && kind != unix.S_IFCHR && kind != unix.S_IFDIR {
		if err := b.permit(r.op, p, false); err != nil {
			return false, err
		}
	}
	switch {
	case kind == unix.S_IFIFO && r.flags&(unix.O_NONBLOCK|unix.O_ACCMODE) == unix.O_WRONLY:
		fd, err := b.open(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		return false, b.openFIFO(r, fd)
	case kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(5, 0) && r.flags&unix.O_EXCL == 0 && !unnamed:
		return false, b.openTerminal(r)
	case kind == unix.S_IFLNK && r.flags&unix.O_NOFOLLOW == 0 && r.flags&unix.O_EXCL == 0:
		return true, nil
	}
	s, err := statusOf(r.tid)
	if err != nil {
		return false, err
	}
	s.become()
	fd, err := b.openNoLink(p.dir, p.as, r.flags|unix.O_NOCTTY|unix.O_CLOEXEC, r.mode)
	s.restore()
	if err == unix.ELOOP && r.flags&unix.O_NOFOLLOW == 0 {
		return true, nil
	}
	if err != nil {
		b.record(r.op, p.path, "", err)
		return false, err
	}
	if missing || unnamed {
		b.count(nil)
	}
	if !unnamed && b.moved(p) {
		unix.Close(fd)
		if missing {
			_ = b.call(unix.SYS_UNLINKAT, uintptr(p.dir), b.text(0, p.name), 0, 0, 0)
		}
		return false, unix.EACCES
	}
	if err = b.give(r.id, fd, r.flags); err != errAnswered && missing && !unnamed { // it has too many open
		_ = b.call(unix.SYS_UNLINKAT, uintptr(p.dir), b.text(0, p.name), 0, 0, 0)
	}
	return false, err
}

// reopen opens again what a process has open, by its magic link.
func (b *session) reopen(r *request, p *place) error {
	fd, err := b.open(p.dir, p.name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	to, err := descriptorPath(fd)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		dir, name := path.Split(strings.TrimSuffix(to, " (deleted)"))
		target := place{dir: none, name: name, path: path.Join(dir, name)}
		if target.dir, err = b.openat2(unix.AT_FDCWD, dir, unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}); err == nil {
			err = b.permit(r.op, &target, false)
			target.close()
		} else if err == unix.ENOENT {
			err = nil // its directory is gone
		}
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO && r.flags&(unix.O_NONBLOCK|unix.O_ACCMODE) == unix.O_WRONLY {
		return b.openFIFO(r, fd)
	}
	opened, err := b.open(unix.AT_FDCWD, descriptorLink(fd), r.flags&^unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, r.mode)
	unix.Close(fd)
	b.record(r.op, to, "", err)
	if err != nil {
		return err
	}
	return b.give(r.id, opened, r.flags)
}

// openFIFO opens a FIFO for writing, and closes fd, which is of it. That waits for a
// reader, as long as the thread waits for the answer.
func (b *session) openFIFO(r *request, fd int) error {
	if err := unix.Faccessat(unix.AT_FDCWD, descriptorLink(fd), unix.W_OK, 0); err != nil {
		unix.Close(fd)
		return err
	}
	id, flags := r.id, r.flags
	b.await(r, func(pause time.Duration) (again bool, err error) { // on a thread that has no filter, and nothing but the FIFO to open
		got, err := unix.Open(descriptorLink(fd), flags&^(unix.O_NOFOLLOW|unix.O_CREAT|unix.O_EXCL|unix.O_TRUNC)|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			_, err = unix.FcntlInt(uintptr(got), unix.F_SETFL, flags&^unix.O_NONBLOCK)
		case unix.ENXIO:
			time.Sleep(pause)
		}
		if err == nil {
			err = b.give(id, got, flags)
		}
		return err == unix.ENXIO, err
	}, func() { unix.Close(fd) })
	return errAnswered
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
