//go:build !linux

package sandbox

// machineMemory is not known: here nothing bounds the memory of commands.
func machineMemory() int64 { return 0 }

// freeSpace is not known: here nothing bounds what commands write.
func freeSpace(string) int64 { return 0 }

// hideProcess does nothing: what it would do is particular to Linux.
func hideProcess() {}

func stampOf(string) (s stamp, ok bool) { return s, false }
