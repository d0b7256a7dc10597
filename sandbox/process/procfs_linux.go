package process

import (
	"bytes"
	"fmt"
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
	alone   bool   // it shows this process and those of the command, and no other
	lists   bool   // it lists the children of a thread
	buffer  []byte // of the last read
}

func openProcfs() (*procfs, error) {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc: %w", err)
	}
	name := make([]byte, 20)
	n, err := unix.Readlinkat(dir, "self", name)
	if err != nil {
		return nil, fmt.Errorf("read /proc/self: %w", err)
	}
	p := &procfs{dir: dir, buffer: make([]byte, 4096), self: string(name[:n])}
	p.alone = p.self == "1" && os.Getpid() == 1
	// Containers may put a file of their own there, which is not up to date.
	var st unix.Statfs_t
	p.loadavg, err = unix.Openat(dir, "loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil && (unix.Fstatfs(p.loadavg, &st) != nil || st.Type != unix.PROC_SUPER_MAGIC) {
		unix.Close(p.loadavg)
		p.loadavg = -1
	}
	p.lists = unix.Faccessat(dir, "self/task/"+p.self+"/children", unix.R_OK, 0) == nil
	return p, nil
}

// newest returns the number that was given last to a process or thread in this
// one's PID namespace, the last field of proc_loadavg(5); 0 if that is not known.
func (p *procfs) newest() int {
	n, err := unix.Pread(p.loadavg, p.buffer, 0)
	if err != nil {
		return 0
	}
	line := bytes.TrimSpace(p.buffer[:n])
	newest, _ := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return newest
}

// tasks counts the threads of all processes of the command, those that only wait to
// be reaped too. It stops once there are more than enough.
func (p *procfs) tasks(enough int) (n int) {
	pids := p.processes(enough)
	if len(pids) > enough { // each has at least one
		return len(pids)
	}
	for _, pid := range pids {
		n += p.threads(pid)
	}
	return n
}

// processes returns those of the command. More than enough need not be all.
func (p *procfs) processes(enough int) []string {
	if p.alone {
		return slices.DeleteFunc(p.numbers("."), func(pid string) bool { return pid == p.self })
	}
	children := p.children()
	pids := children(p.self)
	for i := 0; i < len(pids) && len(pids) <= enough; i++ {
		pids = append(pids, children(pids[i])...)
	}
	return pids
}

// children returns a function that lists the children of a process, to be asked once
// about each. They still are its children, or have become those of this process, at
// the time of the call, so a number is that of the process which was meant as long as
// the parent cannot wait for it. Kernels without CONFIG_PROC_CHILDREN do not list
// them: then the function knows those of the processes there are now.
func (p *procfs) children() func(pid string) []string {
	if p.lists {
		return func(pid string) (children []string) {
			threads := []string{pid}
			if p.threads(pid) != 1 {
				threads = p.numbers(pid + "/task")
			}
			for _, thread := range threads {
				children = append(children, strings.Fields(string(p.read(pid+"/task/"+thread+"/children")))...)
			}
			return children
		}
	}
	byParent := map[string][]string{}
	for _, pid := range p.numbers(".") {
		if s := statFields(p.read(pid + "/stat")); s != nil {
			byParent[s[statParent]] = append(byParent[s[statParent]], pid)
		}
	}
	return func(parent string) []string {
		children := byParent[parent]
		delete(byParent, parent) // numbers that changed hands may make a circle
		return slices.DeleteFunc(children, func(pid string) bool {
			s := statFields(p.read(pid + "/stat"))
			return s == nil || s[statParent] != parent && s[statParent] != p.self
		})
	}
}

// kill kills all processes below this one, whose children have the same numbers in
// this /proc as for kill(2). It must be quick: among many that fork, each in a session
// of its own, the scheduler gives this process little time at once, and in that it has
// to find more than are made until it runs again. The caller calls again for what was
// started meanwhile, and does not wait for any process during the call.
func (p *procfs) kill() {
	const rounds = 100
	killed := map[string]bool{}
	for range rounds {
		before := len(killed)
		children := p.children()
		queue := children(p.self)
		for i := 0; i < len(queue); i++ {
			pid, err := strconv.Atoi(queue[i])
			if err != nil || pid <= 1 || killed[queue[i]] {
				continue
			}
			_ = unix.Kill(-pid, unix.SIGKILL) // at one instant the group that it leads, if it does
			_ = unix.Kill(pid, unix.SIGKILL)
			killed[queue[i]] = true
			queue = append(queue, children(queue[i])...)
		}
		if len(killed) == before {
			return
		}
	}
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
	fd, err := unix.Openat(p.dir, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	for n := 1; n > 0 && err == nil; {
		n, err = unix.ReadDirent(fd, p.buffer)
		_, _, names = unix.ParseDirent(p.buffer[:max(n, 0)], -1, names)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '0' || name[0] > '9' })
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

// Fields of proc_pid_stat(5) behind the name.
const (
	statState   = 0
	statParent  = 1
	statFlags   = 6
	statStarted = 19 // clock ticks since boot
)

// statFields returns the fields behind the name in brackets, which may hold anything,
// brackets and newlines too; nil if there are none.
func statFields(stat []byte) []string {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= statStarted {
		return nil
	}
	return fields
}
