//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usage is what a process uses.
type usage struct {
	threads, descriptors, children int
	rss                            int64 // bytes
}

func (u usage) String() string {
	return fmt.Sprintf("%6.1f MiB  %3d descriptors  %3d threads  %3d children", float64(u.rss)/(1<<20), u.descriptors, u.threads, u.children)
}

// usageOf reads what a process uses.
func usageOf(pid int) (u usage, err error) {
	root := fmt.Sprintf("/proc/%d/", pid)
	fds, err := os.ReadDir(root + "fd")
	if err != nil {
		return u, err
	}
	u.descriptors = len(fds)
	status, err := os.ReadFile(root + "status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			kB, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				return u, err
			}
			u.rss = kB << 10
		case "Threads":
			if u.threads, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return u, err
			}
		}
	}
	u.children, err = childrenOf(pid)
	return u, err
}

// openFiles describes the descriptors of a process, those that are alike in one.
func openFiles(pid int) string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is right
	kinds := map[string]int{}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil {
			continue // it has just been closed
		}
		kind, _, _ := strings.Cut(to, ":")
		kinds[kind]++
	}
	return fmt.Sprint(kinds)
}

// childrenOf counts the children of a process.
func childrenOf(pid int) (n int, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		b, _ := os.ReadFile(path) // it may have ended
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(pid) {
			n++
		}
	}
	return n, err
}

// survivors returns the processes that have argument among their arguments.
func survivors(argument string) (pids []string, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		b, _ := os.ReadFile(path) // it may have ended
		for arg := range bytes.SplitSeq(b, []byte{0}) {
			if string(arg) == argument {
				pids = append(pids, strings.Split(path, "/")[2])
			}
		}
	}
	return pids, err
}
