package cli

import "golang.org/x/sys/unix"

// dup makes descriptor to the same as from. Not every Linux has dup2.
func dup(from, to int) error { return unix.Dup3(from, to, 0) }
