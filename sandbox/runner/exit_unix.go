//go:build unix

package runner

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exitOf gives a process that a signal ended the status a shell gives it.
func exitOf(status syscall.WaitStatus, cpu time.Duration) exit {
	if status.Signaled() {
		sig := status.Signal()
		return exit{code: 128 + int(sig), signal: unix.SignalName(sig), cpu: cpu}
	}
	return exit{code: status.ExitStatus(), cpu: cpu}
}
