// Package osfile has what package os does not tell of open files, or not on
// every platform.
package osfile

import (
	"io/fs"
	"time"
)

// Info describes a file.
type Info struct {
	Mode    fs.FileMode
	Size    int64 // bytes, of the link itself for a symbolic link
	ModTime time.Time
	Links   uint64 // hard links; 1 where the platform does not tell
	UID     int    // -1 where the platform has none, as GID
	GID     int
	ID      ID // zero where the platform has none
}

// ID tells files apart, whatever their names.
type ID struct{ Dev, Ino uint64 }
