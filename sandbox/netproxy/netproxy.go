// Package netproxy is the way out of a network namespace that has nothing but a loopback
// interface: a proxy that speaks HTTP and SOCKS5 at one port and connects to the hosts that policy
// lists. It looks up names itself, and package netguard judges each address that it is about to connect to.
package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/sandbox/netguard"
)

// Rules are what clients may reach.
type Rules struct {
	Allow   []netguard.Host // see [netguard.ParseHost]
	Guard   *netguard.Guard // of any port
	Setting string          // what refusals say of Allow
	Places  *share.Pool     // of [NewPlaces], for all proxies; nil if there is always room
}

// maxConns is how many connections there are to one proxy at once.
const maxConns = 64

// NewPlaces returns room for connections of all proxies together, so that they leave most of
// the descriptors that this process may have, of which each connection takes two.
func NewPlaces(descriptors int) *share.Pool {
	return share.NewPool(int64(max(8, min(descriptors/8, 4096))), maxConns)
}

// An Asker asks a person about hosts that Rules do not allow.
type Asker interface {
	// Ask returns nil if clients may reach a host and port. The error says why not.
	Ask(target string) error
	// Waited is how long people have been asked so far.
	Waited() time.Duration
}

// A Proxy serves one command.
type Proxy struct {
	Rules
	Asker    Asker // nil if nobody is asked
	mu       sync.Mutex
	refusals []Refusal
}

// A Refusal is a connection that the rules do not allow.
type Refusal struct {
	Target string // host and port, as they were asked for
	Why    string
}

func (r Refusal) Error() string {
	return fmt.Sprintf("the sandbox refused a connection to %s: %s", r.Target, r.Why)
}

// maxRefusals is how many a proxy remembers.
const maxRefusals = 5

// Refusals returns the first connections that were refused, each once. A nil Proxy has none.
func (p *Proxy) Refusals() []Refusal {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refusals)
}

// Waited is how long people have been asked so far. For a nil Proxy, nobody is.
func (p *Proxy) Waited() time.Duration {
	if p == nil || p.Asker == nil {
		return 0
	}
	return p.Asker.Waited()
}

func (p *Proxy) refuse(target, why string) error {
	r := Refusal{strings.Trim(fmt.Sprintf("%.300q", target), `"`), why} // a client may send any bytes
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refusals) < maxRefusals && !slices.Contains(p.refusals, r) {
		p.refusals = append(p.refusals, r)
	}
	return r
}

// Serve serves connections to l until ctx ends, and closes them and l then.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) {
	(&Server{p.dial, p.Places}).Serve(ctx, l)
}

// isRefusal reports whether an error of dial means that the client must not be connected.
func isRefusal(err error) bool {
	_, ok := errors.AsType[Refusal](err)
	return ok
}

// dial connects to what the rules allow. The error is a [Refusal] if they do not.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	u := &url.URL{Scheme: "http", Host: address}
	host := u.Hostname()
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%.300q is not a host with a port", address)
	}
	listed := slices.ContainsFunc(p.Allow, func(h netguard.Host) bool { return h.Matches(host, uint16(port)) })
	err = p.Guard.CheckURL(u) // and u is canonical
	if !listed {
		why := "not in " + p.Setting
		if p.Asker == nil || err != nil {
			return nil, p.refuse(address, why)
		}
		if refused := p.Asker.Ask(u.Host); refused != nil { // before the name is looked up, which tells it to others
			if errors.Is(refused, context.Canceled) { // so is the command: an answer would let it go on until it is killed
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, p.refuse(address, why+"; "+refused.Error())
		}
	}
	var c net.Conn
	if err == nil {
		c, err = p.Guard.Dial(ctx, network, u.Host)
	}
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		why := denied.Error()
		if denied.Allow != "" {
			why += "; the operator allows it with sandbox.private_hosts: [" + denied.Allow + "]"
		}
		return nil, p.refuse(address, why)
	}
	return c, err
}
