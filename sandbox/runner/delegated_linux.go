package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const cgroupPrefix = "toolserver-"

var errNotDelegated = errors.New("no cgroup is delegated to this process")

// A delegation is a cgroup of version 2 below which the server may make others,
// see cgroups(7).
type delegation struct {
	dir  string
	name string // the names of what this server makes there begin with it
	leaf string // what it moved to, because only leaves may have processes
}

// cgroupCount tells the cgroups of this process apart.
var cgroupCount atomic.Int64

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
	self, _ := readProcess(os.Getpid())
	return fmt.Sprintf("%s%d-%s-", processesName(), os.Getpid(), self.started)
}

func processesName() string {
	var st unix.Stat_t
	_ = unix.Stat("/proc/self/ns/pid", &st)
	return fmt.Sprintf("%s%d-", cgroupPrefix, st.Ino)
}

// sweep removes what servers that are no more have left, those of this PID
// namespace; of others it cannot be told.
func (d *delegation) sweep() {
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), processesName())
		number, rest, _ := strings.Cut(rest, "-")
		started, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil {
			continue
		}
		if p, alive := readProcess(pid); !alive || p.dead || p.started != started {
			removeCgroup(filepath.Join(d.dir, e.Name()))
		}
	}
}

// enable makes room for cgroups with controllers, and tries one.
func (d *delegation) enable(move bool) error {
	if move {
		if _, err := processesOf(d.dir); err != nil {
			return err // before anything is made
		}
		leaf := filepath.Join(d.dir, d.name+"server")
		if err := os.Mkdir(leaf, 0o755); err != nil {
			return err
		}
		d.leaf = leaf
		if err := moveProcesses(d.dir, leaf); err != nil {
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
	return errors.Join(g.limit(Bounds{Processes: 100, Memory: 1 << 30}), g.try())
}

// processesOf lists the processes of a cgroup. It is an error if there are others
// than this one and its descendants: then it is not only this server's.
func processesOf(dir string) ([]string, error) {
	ours := map[int]bool{os.Getpid(): true}
	for _, p := range descendants() {
		ours[p.pid] = true
	}
	listed, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	pids := strings.Fields(string(listed))
	for _, pid := range pids {
		if n, _ := strconv.Atoi(pid); !ours[n] {
			return nil, fmt.Errorf("%w: process %s is in it too", errNotDelegated, pid)
		}
	}
	return pids, nil
}

func moveProcesses(from, to string) error {
	pids, err := processesOf(from)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		err := os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(pid), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// cgroup makes one for a supervisor.
func (d *delegation) cgroup() (*cgroup, error) {
	return makeCgroup(filepath.Join(d.dir, d.name+strconv.FormatInt(cgroupCount.Add(1), 10)))
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
	if moveProcesses(d.leaf, d.dir) == nil {
		_ = unix.Rmdir(d.leaf)
	}
}
