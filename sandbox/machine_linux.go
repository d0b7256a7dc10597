package sandbox

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machineMemory returns how many bytes this machine, or the container that this
// process is in, has. Zero means that it is not known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(uint64(info.Totalram) * uint64(info.Unit))
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}

// freeSpace returns how many bytes this user may still write where dir is.
func freeSpace(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return int64(st.Bavail) * st.Bsize
}

// hideProcess keeps other processes of the same user from reading the memory and
// the environment of this one.
func hideProcess() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// stampOf returns what changes whenever a name in a directory does. It is not ok if that
// cannot be told, as of a directory that has just changed: the clock of a file system
// has steps.
func stampOf(dir string) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return s, false
	}
	return stamp{st.Dev, st.Ino, st.Ctim.Nano()}, time.Since(time.Unix(0, st.Ctim.Nano())) > 20*time.Millisecond
}
