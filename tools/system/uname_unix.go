//go:build linux || darwin

package system

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// uname returns what uname(2) tells.
func uname() platform {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return platform{machine: runtime.GOARCH}
	}
	return platform{
		release: unix.ByteSliceToString(u.Release[:]),
		version: unix.ByteSliceToString(u.Version[:]),
		machine: unix.ByteSliceToString(u.Machine[:]),
	}
}
