//go:build linux

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// install puts a filter on the calling thread that refuses calls.
func install(refused []refusal) error {
	const number, firstArgument = 0, 16 // in struct seccomp_data
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: no}
	}
	returns := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	code := []unix.SockFilter{load(number)}
	for _, r := range refused {
		fail := returns(unix.SECCOMP_RET_ERRNO | uint32(r.errno))
		if r.flags == 0 {
			code = append(code, jump(unix.BPF_JEQ, r.call, 1), fail)
			continue
		}
		code = append(code, jump(unix.BPF_JEQ, r.call, 4), load(firstArgument), jump(unix.BPF_JSET, r.flags, 1), fail, returns(unix.SECCOMP_RET_ALLOW))
	}
	code = append(code, returns(unix.SECCOMP_RET_ALLOW))

	if os.Geteuid() != 0 { // who may install filters only for what gains no rights
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}
