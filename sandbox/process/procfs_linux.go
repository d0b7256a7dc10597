package process

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A procfs is how a supervisor sees the processes of its command, through
// descriptors that stay whatever a command without confinement mounts or unmounts.
type procfs struct {
	dir     int    // of /proc
	loadavg int    // its file of that name, or -1
	self    string // the number of this process there
	ours    bool   // its numbers are those of this process's namespace
	alone   bool   // it shows this process and those of the command, and no other
	lists   bool   // it lists the children of a thread
	buffer  []byte // of the last read
}

// openProcfs returns nil where there is no /proc.
func openProcfs() *procfs {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	p := &procfs{dir: dir, buffer: make([]byte, 4096)}
	name := make([]byte, 20)
	n, err := unix.Readlinkat(dir, "self", name)
	if err != nil {
		unix.Close(dir)
		return nil
	}
	p.self = string(name[:n])
	p.ours = p.self == strconv.Itoa(os.Getpid()) // else they are of an outer one
	p.alone = p.ours && p.self == "1"
	if p.loadavg, err = unix.Openat(dir, "loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		p.loadavg = -1
	}
	// Containers may put a file of their own there, which is not up to date.
	var st unix.Statfs_t
	if unix.Fstatfs(p.loadavg, &st) != nil || st.Type != unix.PROC_SUPER_MAGIC {
		unix.Close(p.loadavg)
		p.loadavg = -1
	}
	p.lists = unix.Faccessat(dir, "self/task/"+p.self+"/children", unix.R_OK, 0) == nil
	return p
}

// newest returns the number that was given last to a process or thread in this
// one's PID namespace, the last field of proc_loadavg(5); 0 if that is not known.
func (p *procfs) newest() int {
	n, err := unix.Pread(p.loadavg, p.buffer, 0)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(p.buffer[:n])
	if len(fields) < 5 {
		return 0
	}
	newest, _ := strconv.Atoi(string(fields[4]))
	return newest
}

// tasks counts the threads of all processes of the command, those that only wait to
// be reaped too. It stops once there are more than enough.
func (p *procfs) tasks(enough int) (n int) {
	pids := p.processes(enough)
	if len(pids) > enough { // each has one at least
		return len(pids)
	}
	for _, pid := range pids {
		n += p.threads(pid)
	}
	return n
}

// processes returns those of the command. More than enough need not be all.
func (p *procfs) processes(enough int) (pids []string) {
	switch {
	case p.alone:
		pids = p.numbers("")
		return slices.DeleteFunc(pids, func(pid string) bool { return pid == p.self })
	case !p.lists:
		self, _ := strconv.Atoi(p.self)
		for _, d := range descendantsOf(self) {
			pids = append(pids, strconv.Itoa(d.pid))
		}
		return pids
	}
	for i, parent := 0, p.self; ; i++ {
		pids = p.children(pids, parent)
		if i == len(pids) || len(pids) > enough {
			return pids
		}
		parent = pids[i]
	}
}

// children appends those of all threads of a process.
func (p *procfs) children(pids []string, parent string) []string {
	threads := []string{parent}
	if p.threads(parent) != 1 {
		threads = p.numbers(parent + "/task")
	}
	for _, thread := range threads {
		pids = append(pids, strings.Fields(string(p.read(parent+"/task/"+thread+"/children")))...)
	}
	return pids
}

// threads returns how many a process has, 0 when it is gone: the directory has a
// link for each, and two more.
func (p *procfs) threads(pid string) int {
	var st unix.Stat_t
	if unix.Fstatat(p.dir, pid+"/task", &st, 0) != nil {
		return 0
	}
	return max(int(st.Nlink)-2, 1)
}

// numbers lists what has a number for its name in a directory.
func (p *procfs) numbers(path string) (names []string) {
	fd, err := unix.Openat(p.dir, cmp.Or(path, "."), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	for {
		n, err := unix.ReadDirent(fd, p.buffer)
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(p.buffer[:n], -1, names)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '1' || name[0] > '9' })
}

// read returns a file of /proc, empty if that cannot be read. It is there until the
// next call.
func (p *procfs) read(path string) []byte {
	fd, err := unix.Openat(p.dir, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	size := 0
	for {
		n, err := unix.Read(fd, p.buffer[size:])
		if err != nil || n <= 0 {
			return p.buffer[:size]
		}
		if size += n; size == len(p.buffer) {
			p.buffer = append(p.buffer, make([]byte, size)...)
		}
	}
}

// A stat is a process that /proc showed: its number alone may belong to another a
// moment later, with the time it started at it does not.
type stat struct {
	pid, parent, group int

	flags   int64
	dead    bool  // no thread of it lives, it only waits to be reaped
	started int64 // clock ticks since boot
}

// parseStat parses proc_pid_stat(5). The name in brackets may hold anything, brackets
// and newlines too.
func parseStat(pid int, b []byte) (s stat, ok bool) {
	const state, parent, group, flags, threads, startTime = 0, 1, 2, 6, 17, 19 // fields after the name
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= startTime {
		return s, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	return stat{
		pid: pid, parent: int(number(parent)), group: int(number(group)), flags: number(flags), started: number(startTime),
		// A dead main thread shows as Z while other threads live on.
		dead: (fields[state] == "Z" || fields[state] == "X") && number(threads) <= 1,
	}, true
}

func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, b)
}

// signal sends sig to the process and to no other that took its number.
func (p stat) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := readStat(p.pid); !ok || now.started != p.started {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		_ = unix.Kill(p.pid, sig) // a kernel before 5.3
	}
}

// processes returns those /proc shows, the dead too.
func processes() (list []stat) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readStat(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// descendants returns the live processes below this one.
func descendants() []stat { return descendantsOf(os.Getpid()) }

func descendantsOf(pid int) []stat {
	children := map[int][]stat{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []stat
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
func signalAll(list []stat, sig unix.Signal) {
	own := unix.Getpgrp()
	done := map[int]bool{}
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
	killed := map[string]bool{}
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
// children of a process, and looks again until it finds no other. None can escape
// by forking alone: a signal to a group reaches all its members at one instant, and
// those that fork then with it. The caller calls again, for what
// forked and left its group between look and kill.
func searchDescendants() {
	const rounds = 20
	seen := map[int]int64{}
	for range rounds {
		fresh := slices.DeleteFunc(descendants(), func(p stat) bool { return seen[p.pid] == p.started })
		if len(fresh) == 0 {
			return
		}
		signalAll(fresh, unix.SIGKILL)
		for _, p := range fresh {
			seen[p.pid] = p.started
		}
	}
}
