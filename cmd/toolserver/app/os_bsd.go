//go:build unix && !linux

package app

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// changedAt returns when a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }

// dup makes descriptor to the same as from.
func dup(from, to int) error { return unix.Dup2(from, to) }
