//go:build !linux

package cli

import (
	"os"
	"time"
)

// changedAt is when a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
