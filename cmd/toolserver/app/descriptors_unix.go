//go:build unix

package app

import "syscall"

// manyDescriptors is more than clients can use up before the server has found out what
// the kernel offers.
const manyDescriptors = 16 << 10

// fewDescriptors reports whether the first calls could leave no descriptors for finding
// out what the kernel offers: commands would then run without it.
func fewDescriptors() bool {
	var limit syscall.Rlimit
	return syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur < manyDescriptors
}
