package process

import (
	"bytes"
	"os"
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
	// quietLook is how rarely at most the memory of a command is looked at for that
	// it did not change.
	quietLook = 100 * time.Millisecond
)

// A guard keeps the bounds of one command by looking, where nothing exact is to
// be had. The next look comes before the rest up to a bound can be used up, as far
// as the speed of the machine tells, so that a small command is looked at rarely; and
// the less one changes, the rarer.
type guard struct {
	Bounds
	proc *procfs
	cpus int

	newest   int           // the number given last to any process when tasks was set
	tasks    int           // there are at most as many
	used     int64         // memory at the last look
	over     bool          // that seemed to be too much
	wait     time.Duration // from then to the next
	memoryAt time.Time
}

// newGuard is called before the command starts.
func newGuard(b Bounds, proc *procfs) *guard {
	g := &guard{Bounds: b, proc: proc, cpus: runtime.NumCPU(), newest: proc.newest()}
	g.memoryAt = time.Now().Add(g.untilFull(0))
	return g
}

// look says whether a bound is passed, and when to look again at the latest.
func (g *guard) look() (exceeded string, again time.Duration) {
	e, wait := g.lookAtProcesses()
	if e == "" && g.Memory > 0 {
		var later time.Duration
		e, later = g.lookAtMemory()
		wait = min(wait, later)
	}
	return e, wait
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
			return ExceededProcesses, minLook
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
	used := g.proc.memory(g.Memory)
	over := used > g.Memory
	switch {
	case over && g.over:
		return ExceededMemory, minLook
	case over:
		// Once more: processes that came, went or ran a program during the look may
		// have made it seem more.
		g.over, g.memoryAt = true, began.Add(minLook)
		return "", minLook
	}
	g.over = false
	now := time.Now()
	quiet := time.Duration(0)
	if used == g.used {
		quiet = min(2*g.wait, quietLook)
	}
	g.used, g.wait = used, max(g.untilFull(used), now.Sub(began)*lookShare, quiet)
	g.memoryAt = now.Add(g.wait)
	return "", g.wait
}

func (g *guard) untilFull(used int64) time.Duration {
	left := time.Duration((g.Memory - used) / int64(bytesPerMillisecond*g.cpus))
	return min(max(left*time.Millisecond, minLook), maxLook)
}

// proportionalTime is what a look may use of a processor that has the kernel go
// through all pages. Who makes it take more is charged for every process in full.
const proportionalTime = 100 * time.Millisecond

// memory says how much the processes of the command use. It is exact only if it is
// more than enough: measures come in the order of their price, each is at least
// as much as the next, and the first that is not more than enough is taken.
func (p *procfs) memory(enough int64) (used int64) {
	pids := p.processes(manyProcesses)
	sum := func(measure func(pid string) int64) int64 {
		used = 0
		for _, pid := range pids {
			if used += measure(pid); used > enough {
				break
			}
		}
		return used
	}
	// What is swapped out is not resident.
	if !swapUsed() && sum(p.resident) <= enough || sum(p.unbacked) <= enough {
		return used
	}
	pids = slices.DeleteFunc(pids, p.borrows)
	deadline := threadTime() + proportionalTime
	return sum(func(pid string) int64 {
		if threadTime() < deadline {
			if n, ok := p.proportional(pid); ok {
				return n
			}
		}
		return p.unbacked(pid)
	})
}

// manyProcesses is how many are looked at for their memory.
const manyProcesses = 1 << 15

// resident is what a process has in memory, mapped files and all.
func (p *procfs) resident(pid string) int64 {
	_, resident := p.pages(pid)
	return resident * int64(os.Getpagesize())
}

// pages returns how many pages of addresses a process has, and how many of them are
// in memory, from proc_pid_statm(5).
func (p *procfs) pages(pid string) (size, resident int64) {
	if fields := bytes.Fields(p.read(pid + "/statm")); len(fields) > 1 {
		size, _ = strconv.ParseInt(string(fields[0]), 10, 64)
		resident, _ = strconv.ParseInt(string(fields[1]), 10, 64)
	}
	return size, resident
}

// unbacked is what is not in a file on a disk, from proc_pid_status(5).
func (p *procfs) unbacked(pid string) int64 {
	status := p.read(pid + "/status")
	return kilobytes(status, "RssAnon") + kilobytes(status, "RssShmem") + kilobytes(status, "VmSwap")
}

// proportional is the part of that which falls to the process when what is shared
// is divided among those that share it, from smaps_rollup, see proc_pid_smaps(5).
func (p *procfs) proportional(pid string) (n int64, ok bool) {
	rollup := p.read(pid + "/smaps_rollup")
	if !bytes.Contains(rollup, []byte("\nPss_Anon:")) { // not permitted, or a kernel before 5.4
		return 0, false
	}
	return kilobytes(rollup, "Pss_Anon") + kilobytes(rollup, "Pss_Shmem") + kilobytes(rollup, "SwapPss"), true
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
// after vfork(2) and posix_spawn(3) until the process runs its program. Nothing shows
// that for certain without the right to trace it: one that has run no program yet,
// is young, and as large as its parent.
func (p *procfs) borrows(pid string) bool {
	const forkNoExec = 0x40 // PF_FORKNOEXEC
	const young = 100       // clock ticks, of which a second has a hundred
	child, ok := parseStat(0, p.read(pid+"/stat"))
	var now unix.Timespec
	if !ok || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil || child.flags&forkNoExec == 0 || now.Nano()/1e7-child.started > young {
		return false
	}
	size, resident := p.pages(pid)
	parents, residentOfParent := p.pages(strconv.Itoa(child.parent))
	return size == parents && max(resident-residentOfParent, residentOfParent-resident) < 256
}

// threadTime is what the calling thread has used of a processor.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

func swapUsed() bool {
	var info unix.Sysinfo_t
	return unix.Sysinfo(&info) == nil && info.Freeswap < info.Totalswap
}
