//go:build !linux

package cli

import (
	"os"
	"time"
)

// nonblocking finds no way to write without blocking.
func nonblocking(*os.File) (write func(b []byte) (int, error), free func(), ok bool) {
	return nil, nil, false
}

// changedAt returns when a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
