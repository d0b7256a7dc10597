package broker

import (
	"bytes"
	"runtime"

	"golang.org/x/sys/unix"
)

// An op is what a call does.
type op string

const (
	opOpen     op = "open"
	opMkdir    op = "make the directory"
	opMknod    op = "make"
	opSymlink  op = "make the symlink"
	opLink     op = "link"
	opRename   op = "rename"
	opTruncate op = "truncate"
)

const none = -1

// A Call is a system call that a broker makes for a command.
type Call struct {
	Number uint32
	// Flags is the argument with the flags of open(2) of which one of [Writing] makes
	// the call one for the broker; negative if every such call is.
	Flags int

	op                      op
	dir, path, dir2, path2  int // arguments, none without; what is made is the last path
	flags, mode, additional int
	address                 int // the argument with the address of a socket, before its length; none is zero
}

// Writing are the flags of open(2) with which a file can be created or changed.
const Writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// Calls are those on this processor.
var Calls = append([]Call{
	{Number: unix.SYS_OPENAT, op: opOpen, Flags: 2, dir: 0, path: 1, flags: 2, mode: 3},
	{Number: unix.SYS_MKDIRAT, op: opMkdir, Flags: none, dir: 0, path: 1, flags: none, mode: 2},
	{Number: unix.SYS_MKNODAT, op: opMknod, Flags: none, dir: 0, path: 1, flags: none, mode: 2, additional: 3},
	{Number: unix.SYS_SYMLINKAT, op: opSymlink, Flags: none, dir: none, path: 0, dir2: 1, path2: 2, flags: none, mode: none},
	{Number: unix.SYS_LINKAT, op: opLink, Flags: none, dir: 0, path: 1, dir2: 2, path2: 3, flags: 4, mode: none},
	{Number: unix.SYS_RENAMEAT2, op: opRename, Flags: none, dir: 0, path: 1, dir2: 2, path2: 3, flags: 4, mode: none},
	{Number: unix.SYS_TRUNCATE, op: opTruncate, Flags: none, dir: none, path: 0, flags: none, mode: none, additional: 1},
}, older[runtime.GOARCH]...)

// older are calls that newer processors do not have.
var older = map[string][]Call{
	"amd64": {
		{Number: 2, op: opOpen, Flags: 1, dir: none, path: 0, flags: 1, mode: 2},
		{Number: 85, op: opOpen, Flags: none, dir: none, path: 0, flags: none, mode: 1}, // creat
		{Number: 83, op: opMkdir, Flags: none, dir: none, path: 0, flags: none, mode: 1},
		{Number: 133, op: opMknod, Flags: none, dir: none, path: 0, flags: none, mode: 1, additional: 2},
		{Number: 88, op: opSymlink, Flags: none, dir: none, path: 0, dir2: none, path2: 1, flags: none, mode: none},
		{Number: 86, op: opLink, Flags: none, dir: none, path: 0, dir2: none, path2: 1, flags: none, mode: none},
		{Number: 82, op: opRename, Flags: none, dir: none, path: 0, dir2: none, path2: 1, flags: none, mode: none},
		{Number: 264, op: opRename, Flags: none, dir: 0, path: 1, dir2: 2, path2: 3, flags: none, mode: none},
	},
	"arm64": {{Number: 38, op: opRename, Flags: none, dir: 0, path: 1, dir2: 2, path2: 3, flags: none, mode: none}},
}

// A notification is struct seccomp_notif.
type notification struct {
	ID         uint64
	Tid, Flags uint32
	Number     int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

// An answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// An addition is struct seccomp_notif_addfd.
type addition struct {
	id                           uint64
	flags, from, to, targetFlags uint32
}

// A request is a call with the arguments that the broker has copied.
type request struct {
	*Call
	tid    int
	dirs   [2]int
	paths  [2]string // the second is that of calls with two
	flags  int
	mode   uint32
	device uint64 // or length, or address in memory
	id     uint64

	address []byte // of a socket
}

const maxPath = 4096

// read copies what a notification is about.
func (k *caller) read(n *notification, c *Call) (r *request, err error) {
	r = &request{Call: c, tid: int(n.Tid), id: n.ID, dirs: [2]int{unix.AT_FDCWD, unix.AT_FDCWD}}
	arg := func(i int) uint64 {
		if i < 0 {
			return 0
		}
		return n.Args[i]
	}
	two := c.op == opSymlink || c.op == opLink || c.op == opRename
	if c.dir >= 0 {
		r.dirs[0] = int(int32(arg(c.dir)))
	}
	if two && c.dir2 >= 0 {
		r.dirs[1] = int(int32(arg(c.dir2)))
	}
	r.flags, r.mode, r.device = int(int32(arg(c.flags))), uint32(arg(c.mode)), arg(c.additional)
	if c.op == opOpen && c.flags < 0 {
		r.flags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	if c.op == opOpen && r.flags&unix.O_TMPFILE&^unix.O_DIRECTORY == 0 && r.flags&(unix.O_CREAT|unix.O_DIRECTORY) == unix.O_CREAT|unix.O_DIRECTORY {
		return r, unix.EINVAL
	}
	switch {
	case c.address > 0:
		r.address, err = readAddress(r.tid, arg(c.address), uint64(uint32(arg(c.address+1))))
	case c.path >= 0:
		r.paths[0], err = k.readString(r.tid, uintptr(arg(c.path)))
	}
	if err == nil && two {
		r.paths[1], err = k.readString(r.tid, uintptr(arg(c.path2)))
	}
	return r, err
}

// readString copies a path from the memory of a process.
func (k *caller) readString(pid int, address uintptr) (string, error) {
	const page = 4096 // a read that does not cross a page succeeds or fails as a whole
	buf := k.buffer
	for n := 0; n < maxPath; {
		size := min(int(page-address%page), maxPath-n)
		local := unix.Iovec{Base: &buf[n], Len: uint64(size)}
		got, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: address, Len: size}}, 0)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(buf[n:n+got], 0); end >= 0 {
			return string(buf[:n+end]), nil
		}
		n += got
		address += uintptr(got)
	}
	return "", unix.ENAMETOOLONG
}
