//go:build linux

package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// names are answers to give in turn, of each name and kind; the last is given
// again and again.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[dnsmessage.Question]int
}

// answerNames starts the name server.
func answerNames(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n := &names{asked: map[dnsmessage.Question]int{}}
	if err := json.Unmarshal(b, &n.answers); err != nil {
		return err
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	streams, err := net.Listen("tcp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	go func() {
		b := make([]byte, 1500)
		for {
			size, from, err := packets.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := n.respond(b[:size]); reply != nil {
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
			go n.converse(c)
		}
	}()
	return nil
}

// converse answers one query that came over TCP.
func (n *names) converse(c net.Conn) {
	defer c.Close()
	size := make([]byte, 2)
	if _, err := io.ReadFull(c, size); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(size))
	if _, err := io.ReadFull(c, query); err != nil {
		return
	}
	reply := n.respond(query)
	_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)) // the other side tells
}

func (n *names) respond(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	turns, known := n.answers[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range n.turn(q, turns) {
		header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		switch addr, err := netip.ParseAddr(text); {
		case err != nil:
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	b, err := reply.Pack()
	if err != nil {
		return nil
	}
	return b
}

// turn returns which answers it is the turn of.
func (n *names) turn(q dnsmessage.Question, turns [][]string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.asked[q]
	n.asked[q]++
	if len(turns) == 0 {
		return nil
	}
	return turns[min(i, len(turns)-1)]
}
