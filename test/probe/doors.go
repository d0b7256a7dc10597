//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// doors tries every way into every process that /proc shows, its threads too, except this
// one and those of the given numbers. It is to be started by its supervisor itself, so that
// none of them is of its command.
func doors(own []string) {
	mine := map[int]bool{os.Getpid(): true}
	for _, text := range own {
		pid, _ := strconv.Atoi(text)
		mine[pid] = true
	}
	processes, threads := 0, 0
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range found {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if mine[pid] {
			continue
		}
		processes++
		doorsOf(dir, pid, pid)
		tasks, _ := filepath.Glob(dir + "/task/[0-9]*")
		for _, task := range tasks {
			tid, _ := strconv.Atoi(filepath.Base(task))
			threads++
			doorsOf(task, pid, tid)
		}
	}
	fmt.Printf("tried %d processes and %d threads\n", processes, threads)
}

func doorsOf(dir string, pid, tid int) {
	for _, name := range []string{"mem", "environ", "maps", "smaps", "smaps_rollup", "numa_maps", "auxv", "syscall", "stack", "personality", "pagemap", "io"} {
		flags := unix.O_RDONLY
		if name == "mem" {
			flags = unix.O_RDWR
		}
		fd, err := unix.Open(dir+"/"+name, flags|unix.O_CLOEXEC, 0)
		if err == nil && name != "mem" {
			var n int
			if n, err = unix.Read(fd, make([]byte, 64)); n == 0 {
				err = errors.New("nothing is read")
			}
		}
		opened(dir+"/"+name, err)
		unix.Close(fd)
	}
	for _, name := range []string{"fd", "fdinfo", "map_files", "root/", "cwd/"} {
		entries, err := os.ReadDir(dir + "/" + name)
		if err == nil && len(entries) == 0 {
			err = errors.New("nothing is listed")
		}
		opened(dir+"/"+name, err)
	}
	for _, name := range []string{"exe", "ns/mnt", "ns/user", "fd/0", "fd/3", "fd/5"} {
		fd, err := unix.Open(dir+"/"+name, unix.O_PATH|unix.O_CLOEXEC, 0)
		opened(dir+"/"+name, err)
		unix.Close(fd)
	}
	for _, name := range []string{"oom_score_adj", "coredump_filter", "clear_refs", "comm", "timerslack_ns"} {
		fd, err := unix.Open(dir+"/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		opened("writing "+dir+"/"+name, err)
		unix.Close(fd)
	}
	const seize, detach = 0x4206, 17
	_, _, traced := unix.Syscall6(unix.SYS_PTRACE, seize, uintptr(tid), 0, 0, 0, 0)
	number(dir, "ptrace", traced)
	if traced == 0 {
		_, _, _ = unix.Syscall6(unix.SYS_PTRACE, detach, uintptr(tid), 0, 0, 0, 0)
	}
	var b [8]byte
	local := []unix.Iovec{{Base: &b[0], Len: 8}}
	for name, call := range map[string]func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error){"process_vm_readv": unix.ProcessVMReadv, "process_vm_writev": unix.ProcessVMWritev} {
		if _, err := call(tid, local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0); errors.Is(err, unix.EFAULT) { // that is past the check
			opened(dir+" "+name, nil)
		}
	}
	number(dir, "kill", errnoOf(unix.Kill(tid, 0)))
	_, _, errno := unix.Syscall(unix.SYS_TGKILL, uintptr(pid), uintptr(tid), 0)
	number(dir, "tgkill", errno)
	_, _, errno = unix.Syscall(unix.SYS_TKILL, uintptr(tid), 0, 0)
	number(dir, "tkill", errno)
	info := [128]byte{8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff} // si_code is SI_QUEUE
	_, _, errno = unix.Syscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(tid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	number(dir, "rt_tgsigqueueinfo", errno)
	if fd, err := unix.PidfdOpen(tid, 0); err == nil {
		_, err := unix.PidfdGetfd(fd, 0, 0)
		opened(dir+" pidfd_getfd", err)
		opened(dir+" pidfd_send_signal", unix.PidfdSendSignal(fd, 0, nil, 0))
		unix.Close(fd)
	}
	most := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	number(dir, "prlimit", errnoOf(unix.Prlimit(tid, unix.RLIMIT_CPU, &most, nil)))
	if r, w := [2]int{}, []byte("x"); unix.Pipe(r[:]) == nil { // a signal by way of a descriptor
		_, err := unix.FcntlInt(uintptr(r[0]), unix.F_SETOWN, tid)
		owner, _ := unix.FcntlInt(uintptr(r[0]), unix.F_GETOWN, 0)
		if err == nil && owner == tid && tid != pid {
			opened(dir+" F_SETOWN", nil)
		}
		_, _ = unix.Write(r[1], w)
		unix.Close(r[0])
		unix.Close(r[1])
	}
}

func opened(what string, err error) {
	if err == nil {
		fmt.Println("open:", what)
	}
}

func number(dir, call string, errno unix.Errno) {
	if errno == 0 {
		opened(dir+" "+call, nil)
	}
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	errors.As(err, &errno)
	return errno
}
