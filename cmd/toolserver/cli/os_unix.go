//go:build unix && !linux

package cli

import "golang.org/x/sys/unix"

// dup makes descriptor to the same as from.
func dup(from, to int) error { return unix.Dup2(from, to) }
