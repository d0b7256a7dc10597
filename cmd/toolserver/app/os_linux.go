package app

import (
	"os"
	"syscall"
	"time"
)

// changedAt returns when a file, or its name, was last changed, which no process
// can set.
func changedAt(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
