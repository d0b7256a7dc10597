package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// A counter is a file of the supervisor's cgroup that counts how often a bound was
// met there. poll(2) tells when it changed.
type counter struct {
	fd     int
	name   string // of the line that counts
	excess excess
	before int64
}

// counters say when the bounds of a command that its cgroup keeps are passed.
type counters []counter

// newCounters is called before the command starts.
func newCounters(b Bounds) counters {
	var list counters
	if b.Processes > 0 {
		list = append(list, counter{fd: pidsEvents, name: "max", excess: tooManyProcesses})
	}
	if b.Memory > 0 {
		list = append(list, counter{fd: memoryEvents, name: "oom_kill", excess: tooMuchMemory})
	}
	for i := range list {
		list[i].before = list[i].read()
	}
	return list
}

func (c *counter) read() int64 {
	text := [512]byte{0: '\n'}
	n, err := unix.Pread(c.fd, text[1:], 0)
	if err != nil {
		return c.before
	}
	return counted(text[:1+n], c.name)
}

func (list counters) look() (excess, time.Duration) {
	for i := range list {
		if list[i].read() > list[i].before {
			return list[i].excess, maxLook
		}
	}
	return noExcess, maxLook
}

func (list counters) poll(fds []unix.PollFd) []unix.PollFd {
	for _, c := range list {
		fds = append(fds, unix.PollFd{Fd: int32(c.fd), Events: unix.POLLPRI})
	}
	return fds
}
