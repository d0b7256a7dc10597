package cli

import (
	"os"
	"syscall"
	"time"
)

// changedAt is when a file, or its name, was last changed, which nobody can set.
func changedAt(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
