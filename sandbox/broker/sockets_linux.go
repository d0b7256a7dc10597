package broker

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

const (
	opBind    op = "listen at"
	opConnect op = "connect to"
	opPair    op = "make a pair of sockets"
	opSocket  op = "make a socket for"
)

// Sockets are the calls of commands that may use sockets of their own with names, and not
// those of the machine. The addresses of all are out of the filter's sight, and cannot
// be judged while the command may change them: so are connections to other hosts made here.
var Sockets = []Call{
	{Number: unix.SYS_BIND, op: opBind, Flags: none, dir: 0, path: none, flags: none, mode: none, address: 1},
	{Number: unix.SYS_CONNECT, op: opConnect, Flags: none, dir: 0, path: none, flags: none, mode: none, address: 1},
	// Of the filter's choice: they are only recorded.
	{Number: unix.SYS_SOCKET, op: opSocket, Flags: none, dir: none, path: none, flags: none, mode: 0},
	// Of datagrams: each could be sent to another socket by its name.
	{Number: unix.SYS_SOCKETPAIR, op: opPair, Flags: none, dir: none, path: none, flags: 1, mode: none, additional: 3},
}

// A socket is known by its file.
type socket struct{ device, inode uint64 }

// maxSockets is how many sockets of a command are known.
const maxSockets = 256

// own remembers a socket that the command made. An open descriptor of it keeps others
// from getting its number.
func (b *session) own(p *place) {
	fd, err := b.open(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	if len(b.sockets) >= maxSockets {
		maps.DeleteFunc(b.sockets, func(_ socket, fd int) bool {
			var st unix.Stat_t
			removed := unix.Fstat(fd, &st) == nil && st.Nlink == 0
			if removed {
				unix.Close(fd)
			}
			return removed
		})
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK || len(b.sockets) >= maxSockets {
		unix.Close(fd)
		return
	}
	b.sockets[socket{st.Dev, st.Ino}] = fd
}

const maxAddress = 128 // struct sockaddr_storage

// readAddress copies the address from the memory of a process.
func readAddress(pid int, address, size uint64) ([]byte, error) {
	if size > maxAddress {
		return nil, unix.EINVAL
	}
	buf := make([]byte, size)
	if size == 0 {
		return buf, nil
	}
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: size}}, []unix.RemoteIovec{{Base: uintptr(address), Len: int(size)}}, 0)
	if err == nil && n < len(buf) {
		err = unix.EFAULT
	}
	return buf, err
}

// named returns the path that an address has, if it is that of a socket with one.
func named(address []byte) (name string, ok bool) {
	const family = 2 // bytes
	if len(address) <= family || *(*uint16)(unsafe.Pointer(&address[0])) != unix.AF_UNIX || address[family] == 0 {
		return "", false
	}
	text, _, _ := bytes.Cut(address[family:], []byte{0})
	return string(text), true
}

// descriptorOf returns a copy of a thread's descriptor.
func (k *caller) descriptorOf(tid, fd int) (int, error) {
	pid := tid
	if err := k.eachField(tid, func(name string, value []byte) {
		if name == "Tgid" {
			pid = lastNumber(value)
		}
	}); err != nil {
		return -1, err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	return k.result(unix.SYS_PIDFD_GETFD, uintptr(process), uintptr(fd), 0, 0, 0)
}

// doBind gives a socket its address.
func (b *session) doBind(r *request) error {
	fd, err := b.descriptorOf(r.tid, r.dirs[0])
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	name, ok := named(r.address)
	if !ok {
		return b.addressed(unix.SYS_BIND, fd, r.address)
	}
	p, err := b.locate(r.tid, unix.AT_FDCWD, name, false)
	if err != nil {
		return err
	}
	defer p.close()
	if err := b.permit(r.op, &p, false); err != nil {
		return err
	}
	var st unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EADDRINUSE
	}
	// The socket tells its address as it was given here, so that must be the same text.
	if !path.IsAbs(name) {
		at, err := b.open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(r.tid)+"/cwd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Fchdir(at) // nothing else of this process uses its directory
			unix.Close(at)
		}
		if err != nil {
			return err
		}
	}
	s, err := b.become(r.tid)
	if err != nil {
		return err
	}
	err = b.addressed(unix.SYS_BIND, fd, r.address)
	s.restore()
	b.count(err)
	if err == nil {
		b.own(&p)
	}
	b.record(r.op, p.path, "", err)
	return err
}

// addressed makes a call about a socket and an address.
func (k *caller) addressed(call uintptr, fd int, address []byte) error {
	var at *byte
	if len(address) > 0 {
		at = &address[0]
	}
	return k.call(call, uintptr(fd), uintptr(unsafe.Pointer(at)), uintptr(len(address)), 0, 0)
}

// doConnect connects a socket: one with a path to sockets of the commands only. Landlock
// sees to those with names in no file system.
func (b *session) doConnect(r *request) error {
	fd, err := b.descriptorOf(r.tid, r.dirs[0])
	if err != nil {
		return err
	}
	address, file := r.address, none
	if name, ok := named(address); ok {
		if file, err = b.ownSocket(r, name); err != nil {
			unix.Close(fd)
			return err
		}
		address = append(address[:2:2], descriptorLink(file)+"\x00"...)
	}
	done := func() {
		unix.Close(fd)
		if file != none {
			unix.Close(file)
		}
	}
	// The one who waits is not to be this thread. Until it is connected nothing but
	// connect(2) asks whether the socket may wait.
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		done()
		return err
	}
	connect := func() error {
		s, err := b.become(r.tid)
		if err != nil {
			return err
		}
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
		err = b.addressed(unix.SYS_CONNECT, fd, address)
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		s.restore()
		return err
	}
	if err = connect(); flags&unix.O_NONBLOCK != 0 || !unfinished(err) {
		if err == unix.ENETUNREACH {
			b.record(r.op, hostOf(r.address), RuleNetwork, nil)
		}
		done()
		return err
	}
	deadline := time.Now().Add(sendTimeout(fd))
	ready := fd
	if file != none { // which poll(2) takes for ready
		ready = none
	}
	b.await(r, ready, func() error {
		switch err := connect(); {
		case !unfinished(err):
			return err
		case time.Now().Before(deadline):
			return errWaits
		case err == unix.EALREADY:
			return unix.EINPROGRESS
		default:
			return err
		}
	}, done)
	return errAnswered
}

// hostOf returns the host and port of an address, "" if it is none of the internet.
func hostOf(address []byte) string {
	const v4, v6 = 16, 28 // bytes of sockaddr_in and sockaddr_in6
	family := uint16(0)
	if len(address) >= v4 {
		family = *(*uint16)(unsafe.Pointer(&address[0]))
	}
	if family != unix.AF_INET && (family != unix.AF_INET6 || len(address) < v6) {
		return ""
	}
	at, port := netip.AddrFrom4([4]byte(address[4:8])), binary.BigEndian.Uint16(address[2:])
	if family == unix.AF_INET6 {
		at = netip.AddrFrom16([16]byte(address[8:24]))
	}
	return netip.AddrPortFrom(at, port).String()
}

// families are the kinds of sockets that people know.
var families = map[uint32]string{unix.AF_INET: "the internet", unix.AF_INET6: "the internet (IPv6)", unix.AF_NETLINK: "the interfaces of the machine"}

// refuseSocket records that a command may not make a socket.
func (b *session) refuseSocket(r *request) error {
	rule, to := RuleNetwork, cmp.Or(families[r.mode], fmt.Sprintf("the address family %d", r.mode))
	if r.mode == unix.AF_UNIX {
		rule, to = RuleSockets, ""
	}
	b.record(r.op, to, rule, nil)
	return unix.EACCES
}

// unfinished reports whether a call that could wait would. EAGAIN is that the other
// end does not take more connections now.
func unfinished(err error) bool {
	return err == unix.EINPROGRESS || err == unix.EALREADY || err == unix.EAGAIN
}

// sendTimeout returns how long a call on a socket may wait, which is a day without bound.
func sendTimeout(fd int) time.Duration {
	if t, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err == nil && *t != (unix.Timeval{}) {
		return time.Duration(t.Nano())
	}
	return 24 * time.Hour
}

// ownSocket returns a descriptor of the file of a socket that this command made, or
// that is where nothing but commands make files.
func (b *session) ownSocket(r *request, name string) (int, error) {
	p, err := b.locate(r.tid, unix.AT_FDCWD, name, true)
	if err != nil {
		return none, err
	}
	defer p.close()
	fd, err := b.open(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return none, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		err = unix.ECONNREFUSED
	}
	if _, own := b.sockets[socket{st.Dev, st.Ino}]; err == nil && !own && !b.private(p.path) && !b.temporary(&p) {
		b.record(r.op, p.path, RuleSockets, nil)
		err = unix.EACCES
	}
	if err != nil {
		unix.Close(fd)
		return none, err
	}
	return fd, nil
}

// temporary reports whether a place is in a /tmp that commands alone have, and not in
// what is mounted there.
func (b *session) temporary(p *place) bool {
	if b.temp == "" || !pathguard.Within(b.temp, p.path) {
		return false
	}
	var here, top unix.Statx_t
	const flags = unix.AT_EMPTY_PATH | unix.AT_NO_AUTOMOUNT
	return unix.Statx(p.dir, "", flags, unix.STATX_MNT_ID, &here) == nil && unix.Statx(unix.AT_FDCWD, b.temp, flags, unix.STATX_MNT_ID, &top) == nil &&
		here.Mnt_id == top.Mnt_id
}

// doPair makes a connected pair of sockets that keep messages apart, as datagrams do,
// but have no way to send them elsewhere.
func (b *session) doPair(r *request) error {
	const given = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|r.flags&given, 0)
	if err != nil {
		return err
	}
	var numbers [2]int32
	for i, fd := range fds {
		flags := 0
		if r.flags&unix.SOCK_CLOEXEC != 0 {
			flags = unix.O_CLOEXEC
		}
		to, addErr := b.add(r.id, fd, flags)
		if numbers[i] = int32(to); addErr != nil {
			err = addErr
		}
	}
	if err != nil {
		return err
	}
	local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&numbers[0])), Len: 8}
	_, err = unix.ProcessVMWritev(r.tid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(r.device), Len: 8}}, 0)
	return err
}
