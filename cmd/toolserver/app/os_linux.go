package app

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changedAt returns when a file, or its name, was last changed, which no process
// can set.
func changedAt(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// dup makes descriptor to the same as from. Not every Linux has dup2.
func dup(from, to int) error { return unix.Dup3(from, to, 0) }
