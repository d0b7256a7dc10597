package runner

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// proportionalTime is how long a look may take that has the kernel go through all
// pages. Who makes it take longer is charged for every process in full.
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
	if p.ours {
		// A child has the memory of its parent until it runs a program, as vfork(2)
		// and posix_spawn(3) make it.
		slices.SortFunc(pids, compareMemory)
		pids = slices.CompactFunc(pids, func(a, b string) bool { return compareMemory(a, b) == 0 })
	}
	deadline := time.Now().Add(proportionalTime)
	return sum(func(pid string) int64 {
		if time.Now().Before(deadline) {
			if n, ok := p.proportional(pid); ok {
				return n
			}
		}
		return p.unbacked(pid)
	})
}

// manyProcesses is how many are looked at for their memory.
const manyProcesses = 1 << 15

// resident is what a process has in memory, mapped files and all, from
// proc_pid_statm(5).
func (p *procfs) resident(pid string) int64 {
	fields := bytes.Fields(p.read(pid + "/statm"))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
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

// compareMemory orders processes by their memory, which two may have in common.
func compareMemory(a, b string) int {
	const kcmpVM = 1
	first, _ := strconv.Atoi(a)
	second, _ := strconv.Atoi(b)
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(first), uintptr(second), kcmpVM, 0, 0, 0)
	switch {
	case errno != 0 || order == 1:
		return -1
	case order == 2:
		return 1
	}
	return int(order)
}

func swapUsed() bool {
	var info unix.Sysinfo_t
	return unix.Sysinfo(&info) == nil && info.Freeswap < info.Totalswap
}
