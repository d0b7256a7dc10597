package netproxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

const socksVersion = 5 // RFC 1928

// serveSOCKS connects a client, whose bytes are read from r, to where it wants.
func (s *Server) serveSOCKS(ctx context.Context, c net.Conn, r io.Reader) {
	_ = c.SetDeadline(time.Now().Add(headWait)) // reads fail if this does
	var err error
	b := make([]byte, 256)
	read := func(n byte) []byte {
		if err == nil {
			_, err = io.ReadFull(r, b[:n])
		}
		return b[:n]
	}
	if methods := read(read(2)[1]); err != nil || !bytes.Contains(methods, []byte{0}) { // without authentication
		_, _ = c.Write([]byte{socksVersion, 0xff}) // the end of the connection tells, too
		return
	}
	if _, err := c.Write([]byte{socksVersion, 0}); err != nil {
		return
	}
	head, host := [4]byte(read(4)), ""
	switch kind := head[3]; kind {
	case 1, 4:
		addr, _ := netip.AddrFromSlice(read(4 * kind)) // of this length
		host = addr.Unmap().String()
	case 3:
		host = string(read(read(1)[0]))
	}
	port := binary.BigEndian.Uint16(read(2))
	if err != nil {
		return
	}
	var to net.Conn
	code := byte(8) // no such kind of address
	switch {
	case head[1] != 1: // CONNECT
		code = 7
	case host != "":
		to, err = s.Dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		switch {
		case err == nil:
			code = 0
		case isRefusal(err):
			code = 2
		default:
			code = 4 // unreachable
		}
	}
	_ = c.SetDeadline(time.Now().Add(headWait)) // Dial may have taken longer than the first one
	if _, err := c.Write([]byte{socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0}); to != nil && err == nil {
		tunnel(ctx, c, r, to)
	} else if to != nil {
		to.Close()
	}
}
