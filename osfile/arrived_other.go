//go:build !unix

package osfile

import "net"

// HasArrived does not know here.
func HasArrived(net.Conn) (arrived, known bool) { return false, false }
