package process

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// memfd is what the names of files without a directory begin with, see memfd_create(2).
const memfd = "/memfd:"

// memoryFiles returns the inodes of the memory files that processes have open, and how
// much is in them, mapped or not. The status of a process has only what is mapped.
func (p *procfs) memoryFiles(pids []string) (files map[string]bool, used int64) {
	files = map[string]bool{}
	deadline := threadTime() + proportionalTime
	name := make([]byte, len(memfd))
	for _, pid := range pids {
		for _, fd := range p.numbers(pid + "/fd") {
			path := pid + "/fd/" + fd
			// The link is read first: the status of a file may have to come from a machine
			// that is down.
			n, err := unix.Readlinkat(p.dir, path, name)
			var st unix.Stat_t
			if err != nil || string(name[:n]) != memfd || unix.Fstatat(p.dir, path, &st, 0) != nil {
				continue
			}
			if inode := strconv.FormatUint(st.Ino, 10); !files[inode] {
				files[inode] = true
				used += st.Blocks * 512
			}
		}
		if threadTime() > deadline {
			break
		}
	}
	return files, used
}

// mapped says how much of these files proc_pid_smaps(5) counts for a process.
func mapped(files map[string]bool, smaps []byte) (used int64) {
	mappings := bytes.Split(smaps, []byte(" "+memfd))
	for i, mapping := range mappings[1:] {
		line := mappings[i][bytes.LastIndexByte(mappings[i], '\n')+1:]
		if fields := bytes.Fields(line); len(fields) == 5 && files[string(fields[4])] { // else it is part of another name
			used += max(kilobytes(mapping, "Pss")-kilobytes(mapping, "Anonymous"), 0)
		}
	}
	return used
}
