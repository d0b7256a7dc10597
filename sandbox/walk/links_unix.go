//go:build unix && (!linux || portablewalk)

package walk

import (
	"io/fs"
	"os"
	"syscall"
)

// linksOf returns how many names an open file has.
func linksOf(_ *os.File, info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
