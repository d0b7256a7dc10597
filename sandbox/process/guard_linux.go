package process

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// More than these a processor cannot do, as a rule, in the time between two looks.
	forksPerMillisecond = 10
	bytesPerMillisecond = 4 << 20

	// Looks are not closer than minLook, nor so close that they take more of a
	// processor than one part in lookShare.
	minLook   = 2 * time.Millisecond
	maxLook   = time.Second
	lookShare = 5
)

// A guard keeps the bounds of one command by looking, where no cgroup keeps them.
// The next look comes before the rest up to a bound can be used up, as far as the
// speed of the machine tells, so that a small command is looked at rarely.
type guard struct {
	Bounds
	proc  *procfs
	grown func() int64 // of file systems in memory
	cpus  int

	newest   int  // the number given last to any process when tasks was set
	tasks    int  // there are at most as many
	over     bool // there seemed to be too much memory at the last look
	memoryAt time.Time
}

// newGuard is called before the command starts.
func newGuard(b Bounds, proc *procfs, grown func() int64) *guard {
	g := &guard{Bounds: b, proc: proc, grown: grown, cpus: runtime.NumCPU(), newest: proc.newest()}
	g.memoryAt = time.Now().Add(untilFull(b.Memory))
	return g
}

func (g *guard) look() (exceeded string, again time.Duration) {
	exceeded, again = g.lookAtProcesses()
	if exceeded == "" && g.Memory > 0 {
		var later time.Duration
		exceeded, later = g.lookAtMemory()
		again = min(again, later)
	}
	return exceeded, again
}

// lookAtProcesses counts them only if as many were made since the last count that
// there may be too many now. The number given last tells, for the price of one
// read; it goes through all numbers, and then begins again.
func (g *guard) lookAtProcesses() (exceeded string, again time.Duration) {
	if g.Processes == 0 {
		return "", maxLook
	}
	newest := g.proc.newest()
	made := newest - g.newest
	g.newest = newest
	if made < 0 || newest == 0 {
		made = g.Processes + 1
	}
	g.tasks += made
	var cost time.Duration
	if g.tasks > g.Processes {
		began := time.Now()
		if g.tasks = g.proc.tasks(g.Processes); g.tasks > g.Processes {
			return ExceededProcesses, 0
		}
		cost = time.Since(began)
	}
	left := g.Processes - g.tasks
	if made <= left/4 {
		return "", orphanTick
	}
	wait := time.Duration(min(left, 1<<20)) * time.Millisecond / time.Duration(forksPerMillisecond*g.cpus)
	return "", max(wait, cost*lookShare, minLook)
}

func (g *guard) lookAtMemory() (exceeded string, again time.Duration) {
	began := time.Now()
	if wait := g.memoryAt.Sub(began); wait > 0 {
		return "", wait
	}
	used := g.proc.memory(g.Memory, g.grown())
	wasOver := g.over
	g.over = used > g.Memory
	again = minLook
	switch {
	case g.over && wasOver:
		return ExceededMemory, 0
	case !g.over: // else once more: what came or went during the look may have made it seem more
		again = max(untilFull(g.Memory-used), time.Since(began)*lookShare)
	}
	g.memoryAt = time.Now().Add(again)
	return "", again
}

// untilFull is the time that commands need to use up so many bytes, of memory or disk.
func untilFull(left int64) time.Duration {
	wait := time.Duration(left / int64(bytesPerMillisecond*runtime.NumCPU()))
	return min(max(wait*time.Millisecond, minLook), maxLook)
}

const (
	// manyProcesses is how many are looked at for their memory.
	manyProcesses = 1 << 15
	// proportionalTime is what a look may use of a processor that has the kernel go
	// through all pages. A command that makes it take more is charged for every
	// process in full.
	proportionalTime = 100 * time.Millisecond
)

// memory says how much the processes of the command use, with what file systems in memory
// hold. It is exact only if it is more than enough: what is shared is divided only if it
// would be too much in full, because that is expensive.
func (p *procfs) memory(enough, stored int64) (used int64) {
	pids := p.processes(manyProcesses)
	files, inFiles := p.memoryFiles(pids)
	sum := func(measure func(pid string) int64) int64 {
		used = inFiles + stored
		for _, pid := range pids {
			if used += measure(pid); used > enough {
				break
			}
		}
		return used
	}
	if sum(p.unshared) <= enough {
		return used
	}
	pids = slices.DeleteFunc(pids, p.borrows)
	deadline := threadTime() + proportionalTime
	return sum(func(pid string) int64 {
		if threadTime() < deadline {
			rollup := p.read(pid + "/smaps_rollup")            // proc_pid_smaps(5)
			if bytes.Contains(rollup, []byte("\nPss_Anon:")) { // else it is not permitted
				shared := kilobytes(rollup, "Pss_Shmem")
				used := kilobytes(rollup, "Pss_Anon") + kilobytes(rollup, "SwapPss")
				if len(files) > 0 && shared > 0 {
					shared -= mapped(files, p.read(pid+"/smaps"))
				}
				counted := min(shared, stored) // of what is mapped, as far as it can be
				stored -= counted
				return used + shared - counted
			}
		}
		return p.unshared(pid)
	})
}

// unshared is what a process uses that is not in a file on a disk, as if it shared
// nothing, from proc_pid_status(5).
func (p *procfs) unshared(pid string) int64 {
	status := p.read(pid + "/status")
	return kilobytes(status, "RssAnon") + kilobytes(status, "RssShmem") + kilobytes(status, "VmSwap")
}

// kilobytes returns the value of a line "name: value kB", which is not the first.
func kilobytes(text []byte, name string) int64 { return lineValue(text, name+":") << 10 }

// lineValue returns the number behind name at the beginning of a line, which is not
// the first.
func lineValue(text []byte, name string) int64 {
	_, rest, _ := bytes.Cut(text, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(bytes.Trim(line, " \tkB")), 10, 64)
	return n
}

// borrows says whether the memory of a process is still that of its parent, as it is
// after vfork(2) and posix_spawn(3) until the process runs its program. Where kcmp(2) is
// refused it takes one for that which has run no program yet, is young, and as large as its
// parent.
func (p *procfs) borrows(pid string) bool {
	const forkNoExec, young, similar = 0x40, 100, 1 << 20 // PF_FORKNOEXEC, clock ticks of 10 ms, bytes
	s := statFields(p.read(pid + "/stat"))
	var now unix.Timespec
	if s == nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	const memory = 1 // KCMP_VM
	child, _ := strconv.Atoi(pid)
	parent, _ := strconv.Atoi(s[statParent])
	if differs, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(parent), uintptr(child), memory, 0, 0, 0); errno == 0 {
		return differs == 0
	}
	flags, _ := strconv.ParseInt(s[statFlags], 10, 64)
	started, _ := strconv.ParseInt(s[statStarted], 10, 64)
	if flags&forkNoExec == 0 || now.Nano()/1e7-started > young {
		return false
	}
	more := p.unshared(pid) - p.unshared(s[statParent])
	return -similar < more && more < similar
}

// threadTime is what the calling thread has used of a processor.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
