//go:build unix

package walktest

import (
	"syscall"
	"time"
)

// CPUTime returns the user and system time this process has used.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
