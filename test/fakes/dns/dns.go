// Package dns is a name server for tests.
package dns

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Answers are what a name server says of a name: addresses, after CNAMEs that
// lead there ("alias.test"), or one of the following. It is asked for both
// families and gives each its own.
type Answers []string

// Instead of addresses.
var (
	None     = Answers{} // the name exists and has no address
	NXDomain = Answers{"!nxdomain"}
	Silence  = Answers{"!silence"}
)

// Truncated, before addresses, has them come over TCP alone.
const Truncated = "!truncated"

// Resolver returns a resolver that asks a name server of the test's own, which
// listens on loopback for UDP and TCP.
func Resolver(t testing.TB, answer func(name string, kind dnsmessage.Type) Answers) *net.Resolver {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	streams, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close(); streams.Close() })
	Serve(packets, streams, answer)
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		at := packets.LocalAddr().String()
		if strings.HasPrefix(network, "tcp") {
			at = streams.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, at)
	}}
}

// Serve answers queries until the sockets are closed.
func Serve(packets net.PacketConn, streams net.Listener, answer func(name string, kind dnsmessage.Type) Answers) {
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := packets.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := respond(b[:n], answer, true); reply != nil {
				_, _ = packets.WriteTo(reply, from) // the other side tells
			}
		}
	}()
	go func() {
		for {
			c, err := streams.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				size := make([]byte, 2)
				if _, err := io.ReadFull(c, size); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(c, query); err != nil {
					return
				}
				reply := respond(query, answer, false)
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}()
		}
	}()
}

// respond returns the reply to a query, or nil for none.
func respond(query []byte, answer func(string, dnsmessage.Type) Answers, overUDP bool) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	owner := q.Name
	for _, a := range answer(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")), q.Type) {
		header := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET}
		addr, err := netip.ParseAddr(a)
		switch {
		case a == NXDomain[0]:
			reply.RCode = dnsmessage.RCodeNameError
		case a == Silence[0]:
			return nil
		case a == Truncated:
			reply.Truncated = overUDP
		case err != nil:
			target := dnsmessage.MustNewName(a + ".")
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.CNAMEResource{CNAME: target}})
			owner = target
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	if reply.Truncated {
		reply.Answers = nil
	}
	b, err := reply.Pack()
	if err != nil {
		return nil
	}
	return b
}

// Zone returns a resolver for names that do not change.
func Zone(t testing.TB, names map[string]Answers) *net.Resolver {
	t.Helper()
	return Resolver(t, func(name string, _ dnsmessage.Type) Answers {
		if a, ok := names[name]; ok {
			return a
		}
		return NXDomain
	})
}
