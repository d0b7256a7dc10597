//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownInternet makes every address one of this network namespace, its only name
// server one on loopback, and 51.15.1.2 an address of its interface, as a machine
// has one that is on the internet itself.
func ownInternet() error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}
	if err := allLocal(unix.AF_INET); err != nil {
		return fmt.Errorf("make all of IPv4 local: %w", err)
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		if err := allLocal(unix.AF_INET6); err != nil {
			return fmt.Errorf("make all of IPv6 local: %w", err)
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for path, text := range map[string]string{
		"/etc/resolv.conf":   "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
		"/etc/hosts":         "127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 this-machine.test\n",
		"/etc/nsswitch.conf": "hosts: files dns\n",
	} {
		if err := replace(path, text); err != nil {
			return fmt.Errorf("replace %s: %w", path, err)
		}
	}
	return nil
}

// replace puts a file in the place of another, for this mount namespace. One that
// is not there stays so.
func replace(path, text string) error {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil
	}
	f, err := os.CreateTemp("", "netns-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the mount keeps it
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return unix.Mount(f.Name(), path, "", unix.MS_BIND, "")
}

// loopbackUp sets the interface up, after its alias has got an address.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	own, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	if err := own.SetInet4Addr([]byte{51, 15, 1, 2}); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, own); err != nil {
		return err
	}
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// allLocal adds the route "local default dev lo" of a family (rtnetlink(7)).
func allLocal(family uint8) error {
	const loopback = 1 // the index of the first interface of each namespace
	scope := uint8(unix.RT_SCOPE_HOST)
	if family == unix.AF_INET6 {
		scope = unix.RT_SCOPE_UNIVERSE
	}
	size := unix.SizeofNlMsghdr + unix.SizeofRtMsg + unix.SizeofRtAttr + 4
	message := make([]byte, size)
	*(*unix.NlMsghdr)(unsafe.Pointer(&message[0])) = unix.NlMsghdr{
		Len: uint32(size), Type: unix.RTM_NEWROUTE, Flags: unix.NLM_F_REQUEST | unix.NLM_F_CREATE | unix.NLM_F_ACK, Seq: 1,
	}
	*(*unix.RtMsg)(unsafe.Pointer(&message[unix.SizeofNlMsghdr])) = unix.RtMsg{
		Family: family, Table: unix.RT_TABLE_LOCAL, Protocol: unix.RTPROT_BOOT, Scope: scope, Type: unix.RTN_LOCAL,
	}
	attribute := message[unix.SizeofNlMsghdr+unix.SizeofRtMsg:]
	*(*unix.RtAttr)(unsafe.Pointer(&attribute[0])) = unix.RtAttr{Len: unix.SizeofRtAttr + 4, Type: unix.RTA_OIF}
	binary.NativeEndian.PutUint32(attribute[unix.SizeofRtAttr:], loopback)

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return unix.EBADMSG
	}
	if errno := int32(binary.NativeEndian.Uint32(reply[unix.SizeofNlMsghdr:])); errno != 0 {
		return unix.Errno(-errno)
	}
	return nil
}
