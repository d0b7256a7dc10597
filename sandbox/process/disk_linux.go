package process

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxDiskLook is short because nobody inherits the account of a process whose parent
// ignores SIGCHLD.
const maxDiskLook = 250 * time.Millisecond

// madeSize is what a file or name counts that a command makes, empty ones too.
const madeSize = 4 << 10

// An account is what one process has written to disks, with those of its children
// that it waited for.
type account struct {
	started, parent string
	written         int64
}

// A diskGuard keeps the bound on what commands write to disks, also where a cgroup
// keeps the others. It adds up write_bytes of proc_pid_io(5): all that became dirty in
// the page cache or was written past it, whatever became of the file. Of a tmpfs, which
// no process has an account of, it is what that holds more than before, by whomever.
type diskGuard struct {
	proc    *procfs
	own     int                // proc_pid_io(5) of this process
	seen    map[string]account // at the last look, by the number of the process
	written int64              // by the command that runs
	most    int64              // zero means no bound
	at      time.Time          // of the next look
	made    *atomic.Int64      // of the command, see [Confined]; nil if it is not counted

	inMemory []int // see [Confined]
	before   int64 // what they held
}

// newDiskGuard is called while this process may still open its own account.
func newDiskGuard() *diskGuard {
	fd, _ := unix.Open("/proc/self/io", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return &diskGuard{own: fd}
}

// begin is called before a command starts.
func (g *diskGuard) begin(most int64) {
	g.made, g.inMemory, g.most, g.at = nil, nil, most, time.Now().Add(min(untilFull(most), maxDiskLook))
}

// started is called when the command has.
func (g *diskGuard) started(c Confined) {
	g.made, g.inMemory, g.before = c.Made, c.InMemory, 0
	g.before = g.grown()
}

// grown returns how many bytes more than before are on file systems in memory.
func (g *diskGuard) grown() (bytes int64) {
	for _, fd := range g.inMemory {
		var st unix.Statfs_t
		if unix.Fstatfs(fd, &st) == nil {
			bytes += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return max(bytes-g.before, 0)
}

// end is called when nothing of the command is left. It says whether the bound was
// passed, and counts from zero again.
func (g *diskGuard) end() (passed bool) {
	g.count(nil)
	passed = g.most > 0 && g.written+g.grown() > g.most
	g.written = 0
	return passed
}

func (g *diskGuard) look() (exceeded string, again time.Duration) {
	began := time.Now()
	if wait := g.at.Sub(began); wait > 0 {
		return "", wait
	}
	g.count(g.proc.processes(manyProcesses))
	left := g.most - g.written - g.grown()
	if left < 0 {
		return ExceededDisk, 0
	}
	again = max(min(untilFull(left), maxDiskLook), time.Since(began)*lookShare)
	g.at = time.Now().Add(again)
	return "", again
}

// count adds what was written by this process, for those it waited for, and by others
// since it was called last. Parents come before their
// children: what is waited for meanwhile is then missed, until the next time, and not
// counted twice.
func (g *diskGuard) count(pids []string) {
	now, grown := map[string]account{}, map[string]int64{}
	for _, pid := range append([]string{g.proc.self}, pids...) {
		var a account
		if pid == g.proc.self {
			n, _ := unix.Pread(g.own, g.proc.buffer, 0)
			a = account{"", "", lineValue(g.proc.buffer[:max(n, 0)], "write_bytes: ")}
		} else {
			stat := statFields(g.proc.read(pid + "/stat"))
			if stat == nil || stat[statState] == "X" { // being waited for: the parent may have its account already
				continue
			}
			a = account{stat[statStarted], stat[statParent], lineValue(g.proc.read(pid+"/io"), "write_bytes: ")}
		}
		before := g.seen[pid]
		if before.started != a.started {
			before.written = 0
		}
		a.written = max(a.written, before.written) // zero if it may not be read
		now[pid], grown[pid] = a, a.written-before.written
		g.written += grown[pid]
	}
	for pid, gone := range g.seen {
		if now[pid].started == gone.started {
			continue
		}
		heir := gone.parent // one that waited for it has it too, and this process waits for orphans
		for range g.seen {
			inherited := min(gone.written, grown[heir])
			gone.written -= inherited
			grown[heir] -= inherited
			g.written -= inherited
			heir = g.seen[heir].parent
		}
	}
	g.seen = now
	if g.made != nil {
		g.written += g.made.Swap(0) * madeSize
	}
}

// FreeSpace returns how many bytes this user may still write where dir is. Zero means that it is not known.
func FreeSpace(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return int64(st.Bavail) * st.Bsize
}
