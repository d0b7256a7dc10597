package process

import (
	"runtime"
	"time"
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
