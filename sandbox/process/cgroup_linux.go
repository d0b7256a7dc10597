package process

import (
	"errors"
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

// cgroup makes one for a supervisor. Nothing in it is swapped out, if the kernel
// can forbid that.
func (d *delegation) cgroup() (*cgroup, error) {
	path, err := os.MkdirTemp(d.dir, d.name)
	if err != nil {
		return nil, err
	}
	g := &cgroup{path: path}
	g.dir, err = os.Open(path)
	for _, name := range []string{"pids.events", "memory.events"} {
		if err == nil {
			var f *os.File
			f, err = os.Open(filepath.Join(path, name))
			g.events = append(g.events, f)
		}
	}
	if err != nil {
		g.remove()
		return nil, err
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
		memory = strconv.FormatInt(b.Memory+lineValue(stat, "anon ")+lineValue(stat, "shmem ")+spareMemory, 10)
		g.killed = g.oomKills()
	}
	if err := g.write("pids.max", processes); err != nil {
		return err
	}
	return g.write("memory.max", memory)
}

func (g *cgroup) oomKills() int64 {
	return lineValue([]byte("\n"+g.read("memory.events")), "oom_kill ")
}

// ranOut reports whether something in it was killed for lack of memory since limit.
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
		time.Sleep(time.Millisecond) // the kernel does not report when it may be removed
	}
}

const cgroupPrefix = "toolserver-"

var errNotDelegated = errors.New("no cgroup is delegated to this process")

// A delegation is a cgroup of version 2 below which the server may make others,
// see cgroups(7).
type delegation struct {
	dir  string
	name string // the names of what this server makes there begin with it
	leaf string // what it moved to, because only leaves may have processes
}

// findDelegation returns the delegation of this process, ready for use. That what
// is in the cgroup of the server can be written does not make it the server's: root
// may write them all. It was delegated if systemd has marked it, if it is the root
// of a cgroup namespace, or if it was given to the user and what is above was not.
func findDelegation() (*delegation, error) {
	mount, own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	d := &delegation{dir: own, name: serverName()}
	move := true
	if base := filepath.Base(own); strings.HasPrefix(base, cgroupPrefix) { // it was moved before
		d.dir, move = filepath.Dir(own), false
		if base == d.name+"server" {
			d.leaf = own
		}
	}
	if !delegated(d.dir, mount) {
		return nil, errNotDelegated
	}
	d.sweep()
	if err := d.enable(move); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// ownCgroup returns where the cgroup file system is mounted and the directory of
// this process there.
func ownCgroup() (mount, own string, err error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", err
	}
	_, path, found := strings.Cut("\n"+string(groups), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	if !found || strings.Contains(path, "..") {
		return "", "", errNotDelegated
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(mounts)) {
		fields, kind, _ := strings.Cut(line, " - ")
		if f := strings.Fields(fields); len(f) > 4 && f[3] == "/" && strings.HasPrefix(kind, "cgroup2 ") {
			return f[4], filepath.Join(f[4], path), nil
		}
	}
	return "", "", errNotDelegated
}

func delegated(dir, mount string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	if dir == mount { // the root of the system has no type
		_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
		return err == nil
	}
	uid := os.Geteuid()
	return uid != 0 && owner(dir) == uid && owner(filepath.Dir(dir)) != uid
}

func owner(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// serverName names this process as no other ever was: by its PID namespace, its
// number and the time it started at.
func serverName() string {
	return fmt.Sprintf("%s%d-%s-", processesName(), os.Getpid(), startTime("self"))
}

func processesName() string {
	var st unix.Stat_t
	_ = unix.Stat("/proc/self/ns/pid", &st)
	return fmt.Sprintf("%s%d-", cgroupPrefix, st.Ino)
}

// startTime is empty for a process that does not exist or only waits to be reaped.
func startTime(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/stat")
	if s := statFields(b); s != nil && s[statState] != "Z" {
		return s[statStarted]
	}
	return ""
}

// sweep removes what servers that have died left, those of this PID namespace.
func (d *delegation) sweep() {
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), processesName())
		if of := strings.Split(rest, "-"); ours && len(of) > 2 && startTime(of[0]) != of[1] {
			removeCgroup(filepath.Join(d.dir, e.Name()))
		}
	}
}

// enable makes room for cgroups with controllers, and makes one to see whether they
// can be limited.
func (d *delegation) enable(move bool) error {
	if move {
		procs, err := os.ReadFile(filepath.Join(d.dir, "cgroup.procs"))
		if err != nil {
			return err
		}
		if list := strings.Fields(string(procs)); len(list) != 1 || list[0] != strconv.Itoa(os.Getpid()) {
			return fmt.Errorf("%w: other processes are in it too: %q", errNotDelegated, list)
		}
		leaf := filepath.Join(d.dir, d.name+"server")
		if err := os.Mkdir(leaf, 0o755); err != nil {
			return err
		}
		d.leaf = leaf
		if err := moveTo(leaf); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(d.dir, "cgroup.subtree_control"), []byte("+pids +memory"), 0); err != nil {
		return err
	}
	g, err := d.cgroup()
	if err != nil {
		return err
	}
	defer g.remove()
	return g.limit(Bounds{Processes: 100, Memory: 1 << 30})
}

// moveTo moves this process.
func moveTo(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
}

// close puts everything back as it was, unless others use it too.
func (d *delegation) close() {
	if d == nil || d.leaf == "" {
		return
	}
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		if e.IsDir() && e.Name() != filepath.Base(d.leaf) {
			return
		}
	}
	_ = os.WriteFile(filepath.Join(d.dir, "cgroup.subtree_control"), []byte("-pids -memory"), 0)
	if moveTo(d.dir) == nil {
		_ = unix.Rmdir(d.leaf)
	}
}

// A counter is a file of the supervisor's cgroup that counts how often a bound was
// met there.
type counter struct {
	fd     int
	name   string // of the line that counts
	bound  string // as in [Exit.Exceeded]
	before int64
}

// counters find out when the bounds that a cgroup keeps are passed.
type counters []counter

// newCounters is called before the process starts.
func newCounters(b Bounds) (list counters) {
	if b.Processes > 0 {
		list = append(list, counter{fd: pidsEvents, name: "max", bound: ExceededProcesses})
	}
	if b.Memory > 0 {
		list = append(list, counter{fd: memoryEvents, name: "oom_kill", bound: ExceededMemory})
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
	return lineValue(text[:1+n], c.name+" ")
}

func (list counters) look() (exceeded string, again time.Duration) {
	for i := range list {
		if list[i].read() > list[i].before {
			return list[i].bound, 0
		}
	}
	return "", orphanTick
}

// MachineMemory returns how many bytes this machine, or the container that this
// process is in, has. Zero means that it is not known.
func MachineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(uint64(info.Totalram) * uint64(info.Unit))
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}
