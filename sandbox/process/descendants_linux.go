package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process is one that /proc showed: its number alone may belong to another a
// moment later, with the time it started at it does not.
type process struct {
	pid, parent, group int

	dead    bool   // no thread of it lives, it only waits to be reaped
	started string // clock ticks since boot
}

// readProcess reads /proc/PID/stat, see proc_pid_stat(5). The name in brackets
// may hold anything, brackets and newlines too.
func readProcess(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	const state, parent, group, threads, startTime = 0, 1, 2, 17, 19 // fields after the name
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) <= startTime {
		return process{}, false
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	if err != nil {
		return process{}, false
	}
	pgid, err := strconv.Atoi(string(fields[group]))
	// A dead main thread shows as Z while other threads live on.
	dead := (fields[state][0] == 'Z' || fields[state][0] == 'X') && len(fields[threads]) == 1 && fields[threads][0] <= '1'
	return process{pid: pid, parent: ppid, group: pgid, dead: dead, started: string(fields[startTime])}, err == nil
}

// signal sends sig to the process and to no other that took its number.
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := readProcess(p.pid); !ok || now.started != p.started {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		_ = unix.Kill(p.pid, sig) // a kernel before 5.3
	}
}

// processes returns those /proc shows, the dead too.
func processes() (list []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// descendants returns the live processes below this one.
func descendants() []process { return descendantsOf(os.Getpid()) }

func descendantsOf(pid int) []process {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if !p.dead {
				found = append(found, p)
			}
			queue = append(queue, p.pid)
		}
		delete(children, queue[0])
	}
	return found
}

// signalAll signals the listed descendants. Those outside this process's own group
// are signalled by group, which is one call for thousands: their sessions began
// below this process, so their groups hold nothing but its descendants.
func signalAll(list []process, sig unix.Signal) {
	own := unix.Getpgrp()
	done := make(map[int]bool)
	for _, p := range list {
		switch {
		case p.group == own || p.group <= 1:
			p.signal(sig)
		case !done[p.group]:
			done[p.group] = true
			_ = unix.Kill(-p.group, sig)
		}
	}
}

// killDescendants kills all processes below this one. It must be quick: among many
// that fork, each of a session of its own, the scheduler gives this process little
// time at once, and in that it has to find more than are made until it runs again.
//
// What is killed cannot fork or wait any more, so its children are those listed
// after that, or have become those of this process, and their numbers stay theirs
// as long as this process does not wait either.
func (p *procfs) killDescendants() {
	if p == nil || !p.lists || !p.ours {
		searchDescendants()
		return
	}
	const rounds = 100
	killed := make(map[string]bool)
	for range rounds {
		before := len(killed)
		queue := p.children(nil, p.self)
		for i := 0; i < len(queue); i++ {
			name := queue[i]
			if pid, err := strconv.Atoi(name); err == nil && pid > 1 && !killed[name] {
				_ = unix.Kill(pid, unix.SIGKILL)
				killed[name] = true
				queue = p.children(queue, name)
			}
		}
		if len(killed) == before {
			return
		}
	}
}

// searchDescendants kills all descendants where the kernel does not list the
// children of a process, and looks again until it finds no other. None can escape by forking alone: a signal to a group reaches all its members at
// one instant, and those that fork then with it. The caller calls again, for what
// forked and left its group between look and kill.
func searchDescendants() {
	const rounds = 20
	seen := make(map[int]string)
	for range rounds {
		fresh := slices.DeleteFunc(descendants(), func(p process) bool { return seen[p.pid] == p.started })
		if len(fresh) == 0 {
			return
		}
		signalAll(fresh, unix.SIGKILL)
		for _, p := range fresh {
			seen[p.pid] = p.started
		}
	}
}

// groupAttr also has the process killed at the server's death, but not what the
// process started.
func groupAttr(string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// hasLiveMember is asked about a group kill(2) finds, which has dead members too:
// in a container whose init does not reap, for ever.
func hasLiveMember(pgid int) bool {
	return slices.ContainsFunc(processes(), func(p process) bool { return p.group == pgid && !p.dead })
}
