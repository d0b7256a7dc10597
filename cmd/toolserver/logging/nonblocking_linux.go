package logging

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// nonblocking returns what writes to a socket, pipe or terminal without
// blocking, and what frees it, if that is possible. It must not make f itself
// nonblocking, since other processes have the same open file: a pipe or a
// terminal is opened once more.
func nonblocking(f *os.File) (write func(b []byte) (int, error), free func(), ok bool) {
	fd := -1
	conn, err := f.SyscallConn()
	if err != nil || conn.Control(func(own uintptr) { fd = int(own) }) != nil {
		return nil, nil, false
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil, nil, false
	}
	if st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		return func(b []byte) (int, error) {
			return writeAll(b, func(b []byte) (int, error) {
				return unix.SendmsgN(fd, b, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			})
		}, func() {}, true
	}
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_APPEND|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, false
	}
	return func(b []byte) (int, error) {
		return writeAll(b, func(b []byte) (int, error) { return unix.Write(again, b) })
	}, func() { unix.Close(again) }, true
}

// writeAll calls write until all of b is written or it returns an error.
func writeAll(b []byte, write func(b []byte) (int, error)) (n int, err error) {
	for n < len(b) {
		m, err := write(b[n:])
		switch err {
		case nil:
			n += m
		case unix.EINTR:
		case unix.EAGAIN:
			return n, errWouldBlock
		default:
			return n, err
		}
	}
	return n, nil
}
