package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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
func kilobytes(text []byte, name string) int64 {
	_, rest, found := bytes.Cut(text, []byte("\n"+name+":"))
	if !found {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(bytes.Trim(line, " \tkB")), 10, 64)
	return n << 10
}

// borrows says whether the memory of a process is still that of its parent, as it is
// after vfork(2) and posix_spawn(3) until the process runs its program. Nothing shows
// that for certain without the right to trace it: one that has run no program yet,
// is young, and as large as its parent.
func (p *procfs) borrows(pid string) bool {
	const flags, startTime = 6, 19 // fields of proc_pid_stat(5) after the name
	const forkNoExec = 0x40        // PF_FORKNOEXEC
	const young = 100              // clock ticks, of which a second has a hundred
	stat := p.read(pid + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var now unix.Timespec
	if len(fields) <= startTime || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	set, _ := strconv.ParseInt(fields[flags], 10, 64)
	started, _ := strconv.ParseInt(fields[startTime], 10, 64)
	if set&forkNoExec == 0 || now.Nano()/1e7-started > young {
		return false
	}
	size, resident := p.pages(pid)
	parents, residentOfParent := p.pages(fields[1])
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
