//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience is how long an answer may take that nothing says is not to come.
const patience = 2 * time.Second

// network tries to reach each address, and what needs none.
func network(args []string) {
	for _, arg := range args {
		kind, address, _ := strings.Cut(arg, "=")
		reach, ok := kinds[kind]
		if !ok {
			report(kind, errors.New("the probe does not know this kind"))
			continue
		}
		report(kind, reach(address))
	}
}

var kinds = map[string]func(address string) error{
	"tcp4":  func(a string) error { return dial("tcp4", a) },
	"tcp6":  func(a string) error { return dial("tcp6", a) },
	"udp4":  func(a string) error { return dial("udp4", a) },
	"udp6":  func(a string) error { return dial("udp6", a) },
	"mptcp": mptcp,
	"fast":  fastOpen,

	"unix":       func(a string) error { return dial("unix", a) },
	"abstract":   func(a string) error { return dial("unix", a) },
	"unixgram":   func(a string) error { return sendTo(unix.AF_UNIX, &unix.SockaddrUnix{Name: a}) },
	"pair":       func(a string) error { return fromPair(a) },
	"own unix":   ownUnix,
	"stream":     func(string) error { return streamPair() },
	"own tcp4":   func(string) error { return ownTCP("tcp4", "127.0.0.1:0") },
	"own tcp6":   func(string) error { return ownTCP("tcp6", "[::1]:0") },
	"own udp4":   func(string) error { return ownUDP() },
	"icmp":       func(string) error { return open(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) },
	"raw":        func(string) error { return open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"raw6":       func(string) error { return open(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6) },
	"packet":     func(string) error { return open(unix.AF_PACKET, unix.SOCK_RAW, 0x0300) },
	"netlink":    func(string) error { return open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"sock_diag":  func(string) error { return open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG) },
	"uevent":     func(string) error { return open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) },
	"netfilter":  func(string) error { return open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) },
	"vsock":      func(string) error { return open(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"crypto":     func(string) error { return open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"bluetooth":  func(string) error { return open(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1) },
	"can":        func(string) error { return open(unix.AF_CAN, unix.SOCK_RAW, 1) },
	"tipc":       func(string) error { return open(unix.AF_TIPC, unix.SOCK_STREAM, 0) },
	"smc":        func(string) error { return open(unix.AF_SMC, unix.SOCK_STREAM, 0) },
	"xdp":        func(string) error { return open(unix.AF_XDP, unix.SOCK_RAW, 0) },
	"rds":        func(string) error { return open(unix.AF_RDS, unix.SOCK_SEQPACKET, 0) },
	"kcm":        func(string) error { return open(unix.AF_KCM, unix.SOCK_DGRAM, 0) },
	"io_uring":   func(string) error { return ioURing() },
	"other ABI":  otherABI, // see abi_amd64.go
	"namespaces": func(string) error { return unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNET) },
	"neighbour":  neighbourNamespace,
}

// hello is answered by what the tests have listening.
func hello(c net.Conn) error {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 64))
	return err
}

func dial(kind, address string) error {
	c, err := net.DialTimeout(kind, address, patience)
	if err != nil {
		return err
	}
	return hello(c)
}

func socket(family, kind, protocol int) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	return fd, os.NewSyscallError("socket", err)
}

func open(family, kind, protocol int) error {
	fd, err := socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func inet4(address string) (*unix.SockaddrInet4, error) {
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet4{Port: a.Port}
	copy(to.Addr[:], a.IP.To4())
	return to, nil
}

func mptcp(address string) error {
	to, err := inet4(address)
	if err != nil {
		return err
	}
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err != nil {
		return os.NewSyscallError("connect", err)
	}
	_, err = unix.Write(fd, []byte("hello\n"))
	return os.NewSyscallError("write", err)
}

// fastOpen connects by sending.
func fastOpen(address string) error {
	to, err := inet4(address)
	if err != nil {
		return err
	}
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return os.NewSyscallError("sendto", unix.Sendto(fd, []byte("hello\n"), unix.MSG_FASTOPEN, to))
}

func sendTo(family int, to unix.Sockaddr) error {
	fd, err := socket(family, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return os.NewSyscallError("sendto", unix.Sendto(fd, []byte("hello\n"), 0, to))
}

// fromPair sends from one of a connected pair of sockets to a path.
func fromPair(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return os.NewSyscallError("sendto", unix.Sendto(fds[0], []byte("hello\n"), 0, &unix.SockaddrUnix{Name: path}))
}

// streamPair uses a connected pair as programs do, which reaches nobody else.
func streamPair() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := unix.Write(fds[0], []byte("x")); err != nil {
		return err
	}
	_, err = unix.Read(fds[1], make([]byte, 1))
	return err
}

func ownTCP(kind, address string) error {
	l, err := net.Listen(kind, address)
	if err != nil {
		return err
	}
	defer l.Close()
	go answer(l)
	return dial(kind, l.Addr().String())
}

func ownUnix(dir string) error {
	path := filepath.Join(dir, fmt.Sprintf("own-%d", os.Getpid()))
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer l.Close()
	go answer(l)
	return dial("unix", path)
}

func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 64))
		_, _ = io.WriteString(c, "hello\n") // the other side tells
		c.Close()
	}
}

func ownUDP() error {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer c.Close()
	go func() {
		b := make([]byte, 64)
		if n, from, err := c.ReadFrom(b); err == nil {
			_, _ = c.WriteTo(b[:n], from)
		}
	}()
	return dial("udp4", c.LocalAddr().String())
}

func ioURing() error {
	params := make([]byte, 120)
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return os.NewSyscallError("io_uring_setup", errno)
	}
	return unix.Close(int(fd))
}

// neighbourNamespace joins the network namespace of the first process it sees.
func neighbourNamespace(string) error {
	fd, err := unix.Open("/proc/1/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("setns", unix.Setns(fd, unix.CLONE_NEWNET))
}
