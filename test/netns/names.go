//go:build linux

package main

import (
	"encoding/json"
	"net"
	"os"
	"sync"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolserver/toolserver/test/fakes/dns"
)

// names are answers to give in turn, of each name and kind; the last is given
// again and again.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[question]int
}

// answerNames starts the name server.
func answerNames(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n := &names{asked: map[question]int{}}
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
	dns.Serve(packets, streams, n.turn)
	return nil
}

// turn returns which answers it is the turn of.
func (n *names) turn(name string, kind dnsmessage.Type) dns.Answers {
	n.mu.Lock()
	defer n.mu.Unlock()
	turns, known := n.answers[name]
	if !known {
		return dns.NXDomain
	}
	q := question{name, kind}
	i := n.asked[q]
	n.asked[q]++
	if len(turns) == 0 {
		return dns.None
	}
	return turns[min(i, len(turns)-1)]
}

type question struct {
	name string
	kind dnsmessage.Type
}
