package broker

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pass is what the last argument of a call must be for the filter to let it by: those
// of the broker, whose threads have the same filter. No command can know it.
var Pass = sync.OnceValue(func() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
})

// A caller makes system calls past the filter, and finds what paths of other threads mean.
type caller struct {
	self string // the directory of this process in /proc, with a slash

	// What system calls get the addresses of.
	texts  [2][maxPath + 2]byte
	how    unix.OpenHow
	buffer []byte // for what they return
}

func newCaller() *caller {
	k := &caller{buffer: make([]byte, maxPath)}
	if self, err := os.Readlink("/proc/self"); err == nil {
		k.self = "/proc/" + self + "/"
	}
	return k
}

// text returns the address of a copy of a path, with a NUL at its end.
func (k *caller) text(i int, path string) uintptr {
	n := copy(k.texts[i][:maxPath+1], path)
	k.texts[i][n] = 0
	return uintptr(unsafe.Pointer(&k.texts[i][0]))
}

// call makes a system call past the filter.
func (k *caller) call(number, a0, a1, a2, a3, a4 uintptr) error {
	_, err := k.result(number, a0, a1, a2, a3, a4)
	return err
}

func (k *caller) result(number, a0, a1, a2, a3, a4 uintptr) (int, error) {
	for {
		result, _, errno := unix.Syscall6(number, a0, a1, a2, a3, a4, uintptr(Pass()))
		switch errno {
		case 0:
			return int(result), nil
		case unix.EINTR:
			continue
		}
		return -1, errno
	}
}

func (k *caller) open(dir int, name string, flags int, mode uint32) (int, error) {
	if flags&unix.O_CREAT == 0 && flags&unix.O_TMPFILE != unix.O_TMPFILE {
		mode = 0
	}
	return k.result(unix.SYS_OPENAT, uintptr(dir), k.text(0, name), uintptr(flags|unix.O_LARGEFILE), uintptr(mode), 0)
}

// openNoLink opens what is no link, unless the flags ask for the link.
func (k *caller) openNoLink(dir int, name string, flags int, mode uint32) (int, error) {
	if flags&(unix.O_NOFOLLOW|unix.O_PATH) != 0 {
		return k.open(dir, name, flags|unix.O_NOFOLLOW, mode)
	}
	how := unix.OpenHow{Flags: uint64(flags&knownFlags | unix.O_LARGEFILE), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if flags&unix.O_CREAT != 0 || flags&unix.O_TMPFILE == unix.O_TMPFILE {
		how.Mode = uint64(mode & 0o7777)
	}
	return k.openat2(dir, name, how)
}

// knownFlags are those of open(2), which ignores others. Openat2(2) refuses them.
const knownFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK | unix.O_SYNC |
	unix.O_ASYNC | unix.O_DIRECT | unix.O_LARGEFILE | unix.O_DIRECTORY | unix.O_NOATIME | unix.O_CLOEXEC | unix.O_TMPFILE

func (k *caller) openat2(dir int, name string, how unix.OpenHow) (int, error) {
	k.how = how
	for range 100 { // EAGAIN: something moved meanwhile
		fd, err := k.result(unix.SYS_OPENAT2, uintptr(dir), k.text(0, name), uintptr(unsafe.Pointer(&k.how)), unsafe.Sizeof(k.how), 0)
		if err != unix.EAGAIN {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

// unlink removes a name that is not to be there.
func (k *caller) unlink(dir int, name string, directory bool) error {
	flags := uintptr(0)
	if directory {
		flags = unix.AT_REMOVEDIR
	}
	return k.call(unix.SYS_UNLINKAT, uintptr(dir), k.text(0, name), flags, 0, 0)
}

// interrupted reports whether a signal waits for a thread.
func (k *caller) interrupted(tid int) bool {
	var pending, not uint64
	_ = k.eachField(tid, func(name string, value []byte) {
		bits, _ := strconv.ParseUint(string(value), 16, 64)
		switch name {
		case "SigPnd", "ShdPnd":
			pending |= bits
		case "SigBlk", "SigIgn":
			not |= bits
		}
	})
	return pending&^not != 0
}

// eachField calls f with each line of a thread's status.
func (k *caller) eachField(tid int, f func(name string, value []byte)) error {
	fd, err := k.open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.ESRCH
	}
	n, err := unix.Read(fd, k.buffer) // all of it, which is shorter
	unix.Close(fd)
	if err != nil {
		return unix.ESRCH
	}
	for line := range bytes.Lines(k.buffer[:n]) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		f(string(name), bytes.TrimSpace(value))
	}
	return nil
}
