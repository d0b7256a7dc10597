//go:build !linux

package live

import "net"

// isOwn reports whether a process of this user is at the other end: nobody else can open the directory.
func isOwn(*net.UnixConn) bool { return true }
