package broker

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
)

// maxRefusals is how many refusals of a command are recorded.
const maxRefusals = 16

// A session serves one command, on one thread.
type session struct {
	*Broker
	*caller
	replies
	lock    int  // negative if there is none
	entered bool // this has it
	refused []process.Refusal
	made    *atomic.Int64
	sockets map[socket]int // descriptors of those that the command made
	temp    string         // the /tmp of the commands alone, if there is one
	usual   status         // of this thread, with the umask that it has now
}

// Serve makes calls for the command whose filter has the listener, on the calling
// thread, until the descriptor stop is readable. It returns what was refused, and
// closes the listener. Lock is the descriptor of confine.Spec.Lock. Temp is a directory of a
// mount that only commands see, or empty. User is the one by whose ID the command runs, if
// that is not the one of this process: what they may not open is not opened for them. Made counts the files and names that came to be.
func (r *Broker) Serve(listener, stop, lock, user int, temp string, made *atomic.Int64) []process.Refusal {
	b := &session{
		Broker: r, caller: newCaller(), replies: replies{listener: listener}, lock: lock, made: made, sockets: map[socket]int{}, temp: temp,
	}
	b.usual = status{0o022, os.Geteuid(), os.Getegid(), &b.usual}
	umask := unix.Umask(b.usual.umask)
	if server := b.usual; user != 0 {
		b.usual.uid, b.usual.gid = user, user
		theirs := status{uid: user, gid: user, own: &server}
		theirs.take(user, user)
		defer theirs.restore()
	}
	// The command goes on on the processor that it waited on, which halves the cost.
	// Kernels before 6.6 do not know of it.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
	for {
		next := b.tryWaiting(b.interrupted)
		fds = fds[:2]
		for _, w := range b.waiting {
			fds = append(fds, unix.PollFd{Fd: int32(w.fd), Events: unix.POLLOUT}) // negative ones are left out
		}
		if _, err := unix.Poll(fds, next); err != nil && err != unix.EINTR || fds[1].Revents != 0 {
			break
		}
		for i, w := range b.waiting {
			if fds[2+i].Revents != 0 {
				w.at = time.Time{}
			}
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			continue
		}
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if errno == 0 { // else its thread was killed
			b.serve(&n)
		}
	}
	for _, w := range b.waiting {
		w.done()
	}
	for _, fd := range b.sockets {
		unix.Close(fd)
	}
	unix.Close(listener)
	unix.Umask(umask)
	return b.refused
}

func (b *session) serve(n *notification) {
	err := error(unix.ENOSYS)
	for i := range served {
		if served[i].Number == uint32(n.Number) {
			var r *request
			if r, err = b.read(n, &served[i]); err == nil {
				err = b.do(r)
			}
			if err == errWaits { // all of it is done again: by then something else may be there
				b.await(r, none, func() error { return b.do(r) }, func() {})
				return
			}
			break
		}
	}
	if err != errAnswered {
		b.answer(n.ID, 0, err)
	}
}

var served = slices.Concat(Calls, Sockets)

// record notes a refusal, by what the kernel returned if no rule is given.
func (b *session) record(o op, path, rule string, err error) {
	if rule == "" && err != unix.EACCES && err != unix.EPERM && err != unix.EROFS {
		return
	}
	r := process.Refusal{Path: path, Call: string(o), Rule: rule}
	for _, earlier := range b.refused {
		if earlier == r {
			return
		}
	}
	if len(b.refused) < maxRefusals {
		b.refused = append(b.refused, r)
	}
}

// count counts a file or name, unless it was not made.
func (b *session) count(err error) {
	if err == nil {
		b.made.Add(1)
	}
}

// do makes the call.
func (b *session) do(r *request) error {
	switch r.op {
	case opOpen:
		return b.doOpen(r)
	case opTruncate:
		p, err := b.locate(r.tid, r.dirs[0], r.paths[0], true)
		if err != nil {
			return err
		}
		defer p.close()
		if err := b.permit(r.op, &p, false); err != nil {
			return err
		}
		fd, err := b.open(p.dir, p.name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err == nil {
			if err = b.settled(&p, false); err == nil {
				err = unix.Ftruncate(fd, int64(r.device))
			}
			unix.Close(fd)
		}
		if err == unix.EAGAIN { // somebody has a lease
			return errWaits
		}
		b.record(r.op, p.path, "", err)
		return err
	case opLink, opRename:
		return b.doTwo(r)
	case opBind:
		return b.doBind(r)
	case opConnect:
		return b.doConnect(r)
	case opPair:
		return b.doPair(r)
	case opSocket:
		return b.refuseSocket(r)
	}
	dir, name := r.dirs[0], r.paths[0]
	if r.op == opSymlink {
		dir, name = r.dirs[1], r.paths[1]
	}
	plain := strings.TrimRight(name, "/") // a link there is not followed
	if plain == "" {
		plain = name
	}
	p, err := b.locate(r.tid, dir, plain, false)
	if err != nil {
		return err
	}
	defer p.close()
	if !b.enter(&p) {
		return errWaits
	}
	defer b.leave()
	if strings.HasSuffix(name, "/") && p.name != "." {
		p.as = p.name + "/"
	}
	if err := b.permit(r.op, &p, r.op == opMkdir); err != nil {
		return err
	}
	s, err := b.become(r.tid)
	if err != nil {
		return err
	}
	switch r.op {
	case opMkdir:
		err = b.call(unix.SYS_MKDIRAT, uintptr(p.dir), b.text(0, p.as), uintptr(r.mode), 0, 0)
	case opMknod:
		err = b.call(unix.SYS_MKNODAT, uintptr(p.dir), b.text(0, p.as), uintptr(r.mode), uintptr(r.device), 0)
	case opSymlink:
		err = b.call(unix.SYS_SYMLINKAT, b.text(1, r.paths[0]), uintptr(p.dir), b.text(0, p.as), 0, 0)
	}
	s.restore()
	b.count(err)
	if err == nil {
		if err = b.settled(&p, true); err != nil {
			_ = b.unlink(p.dir, p.name, r.op == opMkdir)
			return err
		}
	}
	b.record(r.op, p.path, "", err)
	return err
}

// doTwo links or renames.
func (b *session) doTwo(r *request) error {
	follow := r.op == opLink && r.flags&unix.AT_SYMLINK_FOLLOW != 0
	if r.op == opLink && r.flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	from, err := place{}, error(nil)
	if r.op == opLink && r.flags&unix.AT_EMPTY_PATH != 0 && r.paths[0] == "" {
		from, err = b.locate(r.tid, unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(r.dirs[0]), false)
		follow = true
	} else {
		from, err = b.locate(r.tid, r.dirs[0], r.paths[0], follow)
	}
	if err != nil {
		return err
	}
	defer from.close()
	to, err := b.locate(r.tid, r.dirs[1], r.paths[1], false)
	if err != nil {
		return err
	}
	defer to.close()
	if !b.enter(&to) || r.op == opRename && !b.enter(&from) {
		return errWaits
	}
	defer b.leave()
	if r.op == opLink {
		return b.doLink(r, &from, &to, follow)
	}
	return b.doRename(r, &from, &to)
}

func (b *session) doLink(r *request, from, to *place, follow bool) error {
	dir, name, flags := from.dir, from.as, 0
	if from.link && follow { // a file without a name, as a rule
		fd, err := b.open(from.dir, from.name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if from.path, err = b.descriptorPath(fd); err != nil {
			return err
		}
		dir, name, flags = unix.AT_FDCWD, descriptorLink(fd), unix.AT_SYMLINK_FOLLOW
	}
	if b.private(from.path) != b.private(to.path) {
		return unix.EXDEV
	}
	// A second name of a protected file would not be protected.
	if err := b.permit(r.op, from, false); err != nil {
		return err
	}
	if err := b.permit(asOp(from, opLink), to, false); err != nil {
		return err
	}
	err := b.call(unix.SYS_LINKAT, uintptr(dir), b.text(0, name), uintptr(to.dir), b.text(1, to.as), uintptr(flags))
	b.count(err)
	if err == nil {
		if err = b.settled(to, true); err != nil {
			_ = b.unlink(to.dir, to.name, false)
			return err
		}
	}
	b.record(r.op, to.path, "", err)
	return err
}

// asOp returns what a place is checked for as a new name: another name of a symlink
// leads where a new symlink would.
func asOp(p *place, o op) op {
	var st unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return opSymlink
	}
	return o
}

func (b *session) doRename(r *request, from, to *place) error {
	if r.flags&unix.RENAME_WHITEOUT != 0 {
		return unix.EINVAL
	}
	var st unix.Stat_t
	if err := unix.Fstatat(from.dir, from.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	directory := st.Mode&unix.S_IFMT == unix.S_IFDIR
	// What was made where names are not checked is not moved to where they are: a
	// program then copies it, file by file.
	if b.exempt(from.path) != b.exempt(to.path) || b.private(from.path) != b.private(to.path) {
		return unix.EXDEV
	}
	again := func() error { return nil }
	if directory {
		tree, err := b.permitTree(from, to)
		if err != nil {
			return err
		}
		again = tree
	}
	if err := b.permit(r.op, from, directory); err != nil {
		return err
	}
	exchange := r.flags&unix.RENAME_EXCHANGE != 0
	if exchange {
		if _, err := b.permitTree(to, from); err != nil {
			return err
		}
		if err := b.permit(asOp(to, r.op), from, false); err != nil {
			return err
		}
	} else if !directory && b.gitConfig(to) {
		if rule, refused := b.listed(to.path); refused {
			b.record(r.op, to.path, rule, nil)
			return unix.EACCES
		}
		return b.replaceConfig(from, to)
	}
	if err := b.permit(asOp(from, r.op), to, directory); err != nil {
		return err
	}
	err := b.call(unix.SYS_RENAMEAT2, uintptr(from.dir), b.text(0, from.as), uintptr(to.dir), b.text(1, to.as), uintptr(r.flags))
	if err == nil {
		if err = cmp.Or(b.settled(to, true), again()); exchange {
			err = cmp.Or(err, b.settled(from, true))
		}
		if err != nil {
			back := b.call(unix.SYS_RENAMEAT2, uintptr(to.dir), b.text(0, to.name), uintptr(from.dir), b.text(1, from.name), uintptr(r.flags&unix.RENAME_EXCHANGE))
			if back != nil { // somebody has taken the name
				_ = b.unlink(to.dir, to.name, directory)
			}
			return err
		}
	}
	b.record(r.op, to.path, "", err)
	return err
}
