package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A supervisor shares the cgroup of its command. Spare is what it may need there
	// besides what it has when a command is handed to it.
	spareThreads = 4
	spareMemory  = 16 << 20
)

// A cgroup is that of one supervisor and of what runs in it. A command cannot be
// put into one by itself: that takes clone3(2), which confinement forbids because
// its arguments cannot be filtered, or a moment in which the command runs outside.
type cgroup struct {
	path   string
	dir    *os.File
	events []*os.File // pids.events and memory.events
	killed int64      // processes that ran out of memory before the command
}

// makeCgroup makes one. Nothing in it is swapped out, if that can be told.
func makeCgroup(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	g := &cgroup{path: path}
	var err error
	if g.dir, err = os.Open(path); err != nil {
		g.remove()
		return nil, err
	}
	for _, name := range []string{"pids.events", "memory.events"} {
		f, err := os.OpenFile(filepath.Join(path, name), os.O_RDONLY, 0)
		if err != nil {
			g.remove()
			return nil, err
		}
		g.events = append(g.events, f)
	}
	_ = g.write("memory.swap.max", "0")
	return g, nil
}

// limit gives the cgroup the bounds of a command. Only the supervisor is in it.
func (g *cgroup) limit(b Bounds) error {
	processes, memory := "max", "max"
	if b.Processes > 0 {
		own, _ := strconv.Atoi(g.read("pids.current"))
		processes = strconv.Itoa(b.Processes + own + spareThreads)
	}
	if b.Memory > 0 {
		// Files that earlier commands left on a tmpfs are still charged here.
		stat := []byte("\n" + g.read("memory.stat"))
		memory = strconv.FormatInt(b.Memory+counted(stat, "anon")+counted(stat, "shmem")+spareMemory, 10)
		g.killed = g.oomKills()
	}
	if err := g.write("pids.max", processes); err != nil {
		return err
	}
	return g.write("memory.max", memory)
}

func (g *cgroup) oomKills() int64 {
	return counted([]byte("\n"+g.read("memory.events")), "oom_kill")
}

// ranOut says whether something in it was killed for want of memory since limit.
func (g *cgroup) ranOut() bool { return g.oomKills() > g.killed }

func (g *cgroup) write(name, value string) error {
	return os.WriteFile(filepath.Join(g.path, name), []byte(value), 0)
}

func (g *cgroup) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(g.path, name))
	return strings.TrimSpace(string(b))
}

// remove kills what is in it, and waits for that.
func (g *cgroup) remove() {
	for _, f := range append(g.events, g.dir) {
		f.Close() // nil does no harm
	}
	removeCgroup(g.path)
}

func removeCgroup(path string) {
	deadline := time.Now().Add(killWait)
	for unix.Rmdir(path) == unix.EBUSY && time.Now().Before(deadline) {
		_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
		time.Sleep(time.Millisecond) // the kernel tells nobody when it may be removed
	}
}

// try says whether processes can be started in it: the program is missing, which
// is noticed in the new process only.
func (g *cgroup) try() error {
	missing := filepath.Join(g.path, "no such program")
	_, err := syscall.ForkExec(missing, []string{missing}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.dir.Fd())},
	})
	if err == syscall.ENOENT {
		return nil
	}
	return fmt.Errorf("start a process in a cgroup: %w", err)
}

// counted returns the value of a line "name value", which is not the first.
func counted(text []byte, name string) int64 {
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(line, 10, 64)
	return n
}
