package live

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// isOwn reports whether a process of this user is at the other end.
func isOwn(c *net.UnixConn) (own bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return own
}
