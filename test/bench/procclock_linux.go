package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processClock returns the processor time of a process to the nanosecond, from
// the clock that clock_getcpuclockid(3) names.
func processClock(pid int) (time.Duration, bool) {
	const sched = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|sched), &t)
	return time.Duration(t.Nano()), err == nil
}
