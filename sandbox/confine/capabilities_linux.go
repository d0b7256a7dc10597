package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// kept are the capabilities a command run by root keeps: those by which root
// uses files and processes of others. Landlock and mounts restrict these; nothing
// restricts the others.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes from the calling thread what a command does not get.
// No new privileges keeps an exec by root from giving it back.
func dropCapabilities() error {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // kernels before 4.3 have none
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	keep := uint32(0)
	if unix.Geteuid() == 0 {
		keep = kept
	}
	data[0] = unix.CapUserData{Effective: data[0].Effective & keep, Permitted: data[0].Permitted & keep}
	data[1] = unix.CapUserData{}
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}

// mayAdminister says whether the calling thread may make namespaces and mounts.
func mayAdminister() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
