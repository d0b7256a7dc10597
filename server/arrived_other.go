//go:build !unix

package server

import "net"

// hasArrived does not know here.
func hasArrived(net.Conn) (arrived, known bool) { return false, false }
