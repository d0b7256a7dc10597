//go:build unix

package osfile

import (
	"crypto/tls"
	"net"
	"syscall"
)

// HasArrived reports whether there is something to read from a connection, be it the end, and
// whether that is known.
func HasArrived(c net.Conn) (arrived, known bool) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	conn, ok := c.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, false
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		arrived = err != syscall.EAGAIN && err != syscall.EINTR
	})
	return arrived, err == nil
}
