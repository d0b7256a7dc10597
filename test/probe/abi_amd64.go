//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// socket32 opens a TCP socket as 32-bit programs do.
func socket32() int32

// otherABI opens a socket by the system calls of 32-bit programs, in a process of
// its own since it may be killed for it.
func otherABI(again string) error {
	if again == "" {
		out, err := exec.Command("/proc/self/exe", "network", "other ABI=again").CombinedOutput()
		if err == nil && string(out) != "other ABI: done\n" {
			err = errors.New(string(out))
		}
		return err
	}
	if n := socket32(); n < 0 {
		return os.NewSyscallError("socket", unix.Errno(-n))
	}
	return nil
}
