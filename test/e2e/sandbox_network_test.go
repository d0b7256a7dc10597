//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// outside is what listens outside the sandbox, and counts who comes.
type outside struct {
	t       *testing.T
	reached map[string]*atomic.Int64 // by the kind of the probe
	address map[string]string
}

func newOutside(t *testing.T, g *ground) *outside {
	o := &outside{t: t, reached: map[string]*atomic.Int64{}, address: map[string]string{}}
	o.stream("tcp4", "tcp4", "127.0.0.1:0")
	o.stream("mptcp", "tcp4", "127.0.0.1:0")
	o.stream("fast", "tcp4", "127.0.0.1:0")
	o.stream("shell", "tcp4", "127.0.0.1:0")
	o.packet("udp4", "udp4", "127.0.0.1:0")
	o.packet("shell udp", "udp4", "127.0.0.1:0")
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		o.stream("tcp6", "tcp6", "[::1]:0")
		o.packet("udp6", "udp6", "[::1]:0")
	}
	// Where commands may write, so that only the rules about sockets are asked.
	o.stream("unix", "unix", filepath.Join(g.work, "stream.socket"))
	o.packet("unixgram", "unixgram", filepath.Join(g.work, "datagram.socket"))
	o.packet("pair", "unixgram", filepath.Join(g.work, "pair.socket"))
	o.stream("abstract", "unix", fmt.Sprintf("@e2e-%d-%d", os.Getpid(), unique.Add(1)))
	for _, name := range []string{"stream.socket", "datagram.socket", "pair.socket"} {
		must(t, os.Chmod(filepath.Join(g.work, name), 0o777))
	}
	return o
}

func (o *outside) stream(kind, network, address string) {
	o.t.Helper()
	l, err := net.Listen(network, address)
	must(o.t, err)
	o.t.Cleanup(func() { l.Close() })
	count := new(atomic.Int64)
	o.reached[kind], o.address[kind] = count, l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 64))
				_, _ = io.WriteString(c, "hello\n") // the other side tells
			}()
		}
	}()
}

func (o *outside) packet(kind, network, address string) {
	o.t.Helper()
	c, err := net.ListenPacket(network, address)
	must(o.t, err)
	o.t.Cleanup(func() { c.Close() })
	count := new(atomic.Int64)
	o.reached[kind], o.address[kind] = count, c.LocalAddr().String()
	go func() {
		b := make([]byte, 64)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			count.Add(1)
			if from != nil && from.String() != "" {
				_, _ = c.WriteTo(b[:n], from)
			}
		}
	}()
}

// families are what no command may use, whatever it may reach.
var families = []string{"raw", "raw6", "packet", "sock_diag", "uevent", "netfilter", "vsock", "crypto", "bluetooth", "can", "tipc", "smc", "xdp", "rds", "kcm",
	"io_uring", "other ABI", "namespaces", "neighbour"}

// TestSandboxNetwork tries every way to reach what listens outside.
func TestSandboxNetwork(t *testing.T) {
	t.Parallel()
	inet := []string{"tcp4", "tcp6", "udp4", "udp6", "mptcp", "fast", "shell", "shell udp"}
	for _, tt := range []struct {
		name, config, without string
		reaches               []string // of what is outside; "mptcp" depends on the kernel
		inside                []string // that works
		outside               []string // that does not: of what is its own
	}{
		{"none", "sandbox: {network: none}\n", "", nil, []string{"stream", "own unix"}, []string{"own tcp4", "own tcp6", "own udp4", "icmp", "netlink"}},
		{"by default", "", "", nil, []string{"stream", "own unix"}, []string{"own tcp4", "own tcp6", "own udp4", "icmp", "netlink"}},
		{"none with unix sockets", "sandbox: {network: none, unix_sockets: true}\n", "", nil, []string{"stream", "own unix"}, []string{"own tcp4", "own udp4"}},
		{"none without namespaces", "", "namespaces", nil, []string{"stream", "own unix"}, []string{"own tcp4", "own tcp6", "own udp4", "icmp", "netlink"}},
		{"none without Landlock", "", "landlock", nil, []string{"stream"}, []string{"own tcp4", "own tcp6", "own udp4", "own unix", "icmp", "netlink"}},
		{"loopback", "sandbox: {network: loopback}\n", "", nil, []string{"stream", "own unix", "own tcp4", "own udp4"}, nil},
		{"loopback without namespaces", "sandbox: {network: loopback}\n", "namespaces", nil, []string{"stream", "own unix"}, []string{"own tcp4", "own udp4"}},
		{"all", "sandbox: {network: all}\n", "", inet, []string{"stream", "own unix", "own tcp4", "own udp4"}, nil},
		{"all without namespaces", "sandbox: {network: all}\n", "namespaces", inet, []string{"stream", "own unix", "own tcp4", "own udp4"}, nil},
		{"all with unix sockets", "sandbox: {network: all, unix_sockets: true}\n", "", slices.Concat(inet, []string{"unix", "unixgram", "pair", "abstract"}), []string{"stream", "own unix"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				o := newOutside(t, g)
				b := g.open(setup{config: tt.config, without: tt.without})
				said := o.probe(b)
				for kind, count := range o.reached {
					got, want := count.Load() > 0, slices.Contains(tt.reaches, kind)
					if got != want && !(want && optional(kind)) {
						t.Errorf("%s reached: %t, want %t: %q", kind, got, want, lines(said, kind+":"))
					}
				}
				for _, kind := range tt.inside {
					if !strings.Contains(said, kind+": done\n") {
						t.Errorf("%s does not work: %q", kind, lines(said, kind+":"))
					}
				}
				for _, kind := range append(tt.outside, families...) {
					if !strings.Contains(said, kind+": refused") {
						t.Errorf("%s is not refused: %q", kind, lines(said, kind+":"))
					}
				}
				b.stop()
			})
		})
	}
}

// optional are kinds that a kernel may not have.
func optional(kind string) bool { return kind == "mptcp" || kind == "fast" }

// probe runs the probe, and what bash itself can do, and returns what they say.
func (o *outside) probe(b *box) string {
	command := built(o.t, "probe") + " network"
	for kind, address := range o.address {
		if !strings.HasPrefix(kind, "shell") {
			command += fmt.Sprintf(" '%s=%s'", kind, address)
		}
	}
	for _, kind := range append([]string{"stream", "own tcp4", "own tcp6", "own udp4", "icmp", "netlink"}, families...) {
		command += fmt.Sprintf(" '%s'", kind)
	}
	command += " 'own unix=" + b.work + "'"
	said := b.call("bash", map[string]any{"command": command, "timeout": 600})
	if !strings.Contains(said.text, "own unix:") {
		o.t.Fatalf("the probe did not come to its end: %v", said)
	}
	for kind, network := range map[string]string{"shell": "tcp", "shell udp": "udp"} {
		host, port, err := net.SplitHostPort(o.address[kind])
		must(o.t, err)
		b.bash(fmt.Sprintf("exec 3<>/dev/%s/%s/%s && echo hello >&3 && read -n 1 -t 5 -u 3", network, host, port))
	}
	return said.text + "\n"
}
