package runner

import (
	"slices"
	"syscall"
)

// groupAttr also has the command killed at the server's death, but not what the
// command started.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// hasLiveMember is asked about a group kill(2) finds, which has dead members too:
// in a container whose init does not reap, for ever.
func hasLiveMember(pgid int) bool {
	return slices.ContainsFunc(processes(), func(p process) bool { return p.group == pgid && !p.dead })
}
