//go:build unix

package runner

import (
	"os"
	"syscall"
	"time"
)

const groupMethod = MethodGroup

// A group is the process group of a command, which leads it.
type group struct{ pgid int }

func newGroup(p *os.Process) (group, error) { return group{p.Pid}, nil }

func (g group) terminate()  { _ = syscall.Kill(-g.pgid, syscall.SIGTERM) }
func (g group) kill()       { _ = syscall.Kill(-g.pgid, syscall.SIGKILL) }
func (g group) alive() bool { return syscall.Kill(-g.pgid, 0) == nil && hasLiveMember(g.pgid) }
func (g group) close()      {}

func exitOfState(state *os.ProcessState) exit {
	cpu := state.UserTime() + state.SystemTime()
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		return exitOf(status, cpu)
	}
	return exit{code: state.ExitCode(), cpu: cpu.Round(time.Microsecond)}
}
