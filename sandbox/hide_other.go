//go:build !linux

package sandbox

// hideProcess does nothing: what it would do is particular to Linux.
func hideProcess() {}
