//go:build !linux

package app

import (
	"os"
	"time"
)

// changedAt returns when a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
