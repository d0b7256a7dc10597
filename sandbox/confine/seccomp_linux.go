package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the calls no ordinary command needs and by which one reaches other
// processes, other namespaces, or parts of the kernel that no layer governs.
var refused = []uint32{
	// Other processes.
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Namespaces and mounts. CLONE_NEW* are refused to clone(2) below.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// Files without a path.
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	// Calls made on behalf of the caller, past this filter.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Keys.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// Parts of the kernel with a history.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	// The machine.
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// metadata are the calls that change a file without opening it for writing.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// Offsets in struct seccomp_data, of the lower halves of the arguments: the kernel
// looks at no more of those that are tested here.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// A filter is a program in classic BPF. It keeps the call's number in the
// accumulator between tests; a test that loads something else ends the program.
type filter struct{ code []unix.SockFilter }

func (f *filter) emit(code uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (f *filter) load(offset uint32)   { f.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (f *filter) loadArg(n uint32)     { f.load(dataArgs + 8*n) }
func (f *filter) mask(k uint32)        { f.emit(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, k, 0, 0) }
func (f *filter) returns(value uint32) { f.emit(unix.BPF_RET|unix.BPF_K, value, 0, 0) }
func (f *filter) allow()               { f.returns(unix.SECCOMP_RET_ALLOW) }
func (f *filter) fail(e unix.Errno)    { f.returns(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// when runs then if the comparison of the accumulator with k holds, and what
// follows if not.
func (f *filter) when(comparison uint16, k uint32, then func()) {
	at := len(f.code)
	f.emit(unix.BPF_JMP|comparison|unix.BPF_K, k, 0, 0)
	then()
	f.code[at].Jf = uint8(len(f.code) - at - 1) // blocks are short
}

// unless is the opposite of when.
func (f *filter) unless(comparison uint16, k uint32, then func()) {
	at := len(f.code)
	f.emit(unix.BPF_JMP|comparison|unix.BPF_K, k, 0, 0)
	then()
	f.code[at].Jt = uint8(len(f.code) - at - 1)
}

func (f *filter) on(number uint32, then func()) { f.when(unix.BPF_JEQ, number, then) }

func (f *filter) refuse(numbers []uint32, e unix.Errno) {
	for _, n := range numbers {
		f.on(n, func() { f.fail(e) })
	}
}

// filter returns the filter for a plan.
func (p *plan) filter(mounted bool, abi int) *filter {
	f := new(filter)
	f.load(dataArch)
	f.unless(unix.BPF_JEQ, arch.audit, func() { f.returns(unix.SECCOMP_RET_KILL_PROCESS) })
	f.load(dataNumber)
	if arch.x32 {
		f.when(unix.BPF_JGE, 0x40000000, func() { f.fail(unix.ENOSYS) })
	}
	f.refuse(refused, unix.EPERM)
	f.refuse(arch.refused, unix.EPERM)
	f.on(unix.SYS_CLONE3, func() { f.fail(unix.ENOSYS) }) // its flags are out of sight; libraries fall back to clone
	f.on(unix.SYS_CLONE, func() {
		f.loadArg(0)
		f.when(unix.BPF_JSET, newNamespace, func() { f.fail(unix.EPERM) })
		f.allow()
	})
	f.on(unix.SYS_PTRACE, func() {
		if p.Limits != (Limits{}) { // to be stopped at the first instruction
			f.loadArg(0)
			f.when(unix.BPF_JEQ, unix.PTRACE_TRACEME, f.allow)
			f.when(unix.BPF_JEQ, unix.PTRACE_DETACH, f.allow)
			f.when(unix.BPF_JEQ, unix.PTRACE_CONT, f.allow)
		}
		f.fail(unix.EPERM)
	})
	p.filterFiles(f, mounted)
	p.filterSockets(f, abi)
	f.allow()
	return f
}

func (p *plan) filterFiles(f *filter, mounted bool) {
	strict := !mounted && !p.AllowMetadata
	if strict {
		f.refuse(metadata, unix.EPERM)
		f.refuse(arch.metadata, unix.EPERM)
	}
	f.on(unix.SYS_IOCTL, func() {
		f.loadArg(1)
		// Input as if typed at a terminal.
		f.when(unix.BPF_JEQ, unix.TIOCSTI, func() { f.fail(unix.EPERM) })
		f.when(unix.BPF_JEQ, tiocLinux, func() { f.fail(unix.EPERM) })
		if strict {
			f.when(unix.BPF_JEQ, unix.FS_IOC_SETFLAGS, func() { f.fail(unix.EPERM) })
			f.when(unix.BPF_JEQ, fsIocFsSetXattr, func() { f.fail(unix.EPERM) })
		}
		f.allow()
	})
	if p.ExecList {
		// Landlock does not govern files without a path, so they must not be run.
		f.on(unix.SYS_MEMFD_CREATE, func() {
			f.loadArg(1)
			f.when(unix.BPF_JSET, unix.MFD_NOEXEC_SEAL, f.allow)
			f.fail(unix.EACCES) // as with the sysctl vm.memfd_noexec=2
		})
	}
}

const (
	tiocLinux       = 0x541c
	fsIocFsSetXattr = 0x401c5820
	netlinkRoute    = unix.NETLINK_ROUTE
	socketType      = 0xf // without SOCK_CLOEXEC and SOCK_NONBLOCK
)

func (p *plan) filterSockets(f *filter, abi int) {
	f.on(unix.SYS_SOCKETPAIR, func() {
		// A connected stream reaches its other end only. A datagram socket could be
		// sent to a path.
		f.loadArg(1)
		f.mask(socketType)
		f.when(unix.BPF_JEQ, unix.SOCK_STREAM, f.allow)
		f.when(unix.BPF_JEQ, unix.SOCK_SEQPACKET, f.allow)
		if p.Network != None && p.UnixSockets {
			f.allow()
		}
		f.fail(unix.EACCES)
	})
	f.on(unix.SYS_SOCKET, func() {
		if p.Network == None {
			f.fail(unix.EACCES)
			return
		}
		f.loadArg(0)
		if p.UnixSockets || abi >= abiUnix {
			f.when(unix.BPF_JEQ, unix.AF_UNIX, f.allow)
		}
		// How libraries learn the addresses of the machine; changing them takes a
		// capability.
		f.when(unix.BPF_JEQ, unix.AF_NETLINK, func() {
			f.loadArg(2)
			f.when(unix.BPF_JEQ, netlinkRoute, f.allow)
			f.fail(unix.EACCES)
		})
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			f.when(unix.BPF_JEQ, family, func() {
				f.loadArg(1)
				f.mask(socketType)
				f.when(unix.BPF_JEQ, unix.SOCK_STREAM, f.allow)
				f.when(unix.BPF_JEQ, unix.SOCK_DGRAM, f.allow)
				f.fail(unix.EACCES)
			})
		}
		f.fail(unix.EACCES)
	})
}

// install puts the filter on the calling thread.
func (f *filter) install() error {
	if arch.audit == 0 {
		return fmt.Errorf("filter system calls: %w on this processor", ErrUnsupported)
	}
	program := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w: %w", ErrUnsupported, errno)
	}
	return nil
}

// An architecture is what a filter must know of the processor's.
type architecture struct {
	audit    uint32 // as the kernel names it; 0 if filters are not made for it
	x32      bool   // has a second set of numbers
	refused  []uint32
	metadata []uint32
}
