package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// enterNetNamespace gives the calling thread a network of its own, with nothing
// but a loopback interface. It is ErrUnsupported where that is not allowed.
func enterNetNamespace() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w: %w", ErrUnsupported, err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("start the loopback interface of a network namespace: %w: %w", ErrUnsupported, err)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("ioctl", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request))
}
