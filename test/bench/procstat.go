package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat on every Linux there is.
const tick = 10 * time.Millisecond

// stat is what proc(5) says of a process in /proc/PID/stat.
type stat struct {
	pid, parent int
	name        string        // of the program, its first 15 characters
	cpu         time.Duration // its own
	children    time.Duration // of those it has waited for, and theirs
	pages       int64         // resident
}

// parseStat reads a line of /proc/PID/stat. The name of the program, in
// brackets, may itself hold brackets and spaces.
func parseStat(line string) (stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("%q is not a line of /proc/PID/stat", line)
	}
	fields := strings.Fields(line[end+1:]) // from the third of proc(5) on
	if len(fields) < 22 {
		return stat{}, fmt.Errorf("%q has too few fields for /proc/PID/stat", line)
	}
	var errs []error
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		errs = append(errs, err)
		return n
	}
	s := stat{
		pid: int(number(strings.TrimSpace(line[:open]))), parent: int(number(fields[1])), name: line[open+1 : end],
		cpu:      time.Duration(number(fields[11])+number(fields[12])) * tick,
		children: time.Duration(number(fields[13])+number(fields[14])) * tick,
		pages:    number(fields[21]),
	}
	return s, errors.Join(errs...)
}

// upstreamProgram is what gateways are measured with. What it needs is not theirs.
const upstreamProgram = "upstream"

// tree returns a process and all its descendants that are alive, without upstreams.
func tree(pid int) ([]stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("CPU time and memory of servers are read from /proc: %w", err)
	}
	children := map[int][]stat{}
	var found []stat
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		s, err := parseStat(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, err
		}
		if s.pid == pid {
			found = append(found, s)
		}
		if s.name != upstreamProgram {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("process %d has ended", pid)
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found, nil
}

// treeCPU returns the processor time that a process and its descendants,
// living and waited for, have used so far.
func treeCPU(pid int) (time.Duration, error) {
	all, err := tree(pid)
	var sum time.Duration
	for _, s := range all {
		own, ok := processClock(s.pid) // finer than ticks
		if !ok {
			own = s.cpu
		}
		sum += own + s.children
	}
	return sum, err
}

// treeRSS returns the resident memory of a process and its descendants, in
// bytes. Pages they share count for each.
func treeRSS(pid int) (int64, error) {
	all, err := tree(pid)
	var pages int64
	for _, s := range all {
		pages += s.pages
	}
	return pages * int64(os.Getpagesize()), err
}
