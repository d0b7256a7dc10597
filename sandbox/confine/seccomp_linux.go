package confine

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/broker"
)

// refused are the calls no ordinary command needs and by which one reaches other
// processes, other namespaces, or parts of the kernel that no layer governs.
var refused = []uint32{
	// Other processes.
	unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Namespaces and mounts. CLONE_NEW* are refused to clone(2) below.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// Flags of directories (chattr), with which .ENV can be .env.
	unix.SYS_FILE_SETATTR,
	// Labels of security modules.
	unix.SYS_LSM_SET_SELF_ATTR,
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

// aimed are calls that act on the process or thread that an argument names, whatever that is
// confined to, if it is of the same user.
var aimed = []struct{ call, arg uint32 }{
	{unix.SYS_KILL, 0}, {unix.SYS_TKILL, 0}, {unix.SYS_TGKILL, 1}, {unix.SYS_RT_SIGQUEUEINFO, 0}, {unix.SYS_RT_TGSIGQUEUEINFO, 1}, {unix.SYS_PIDFD_OPEN, 0},
	{unix.SYS_SETPRIORITY, 1}, {unix.SYS_IOPRIO_SET, 1},
	{unix.SYS_SCHED_SETPARAM, 0}, {unix.SYS_SCHED_SETSCHEDULER, 0}, {unix.SYS_SCHED_SETATTR, 0}, {unix.SYS_SCHED_SETAFFINITY, 0},
}

// youngest is the last call that is known: what a later one does nobody has looked at, and
// libraries go on without.
const youngest = unix.SYS_FILE_SETATTR

// ioctls are those that commands may use, by the bits that tell them. Others can make names,
// snapshots and directories that ignore case, or read what mounts hide (btrfs, bcachefs, xfs),
// and belong to keys of file systems and to devices (loop, FUSE, autofs).
var ioctls = []struct{ mask, value uint32 }{
	{0xff00, 0x5400},                                        // terminals; what of any descriptor can be asked, such as FIONREAD
	{0xff00, 0x8900},                                        // sockets
	{0xff00, 0x8a00},                                        // epoll(7)
	{0xff00, 0x2100},                                        // listeners of filters, for a broker: commands have none
	{all, 2},                                                // FIGETBSZ
	{all, 0x40049409}, {all, 0x4020940d}, {all, 0xc0189436}, // FICLONE, FICLONERANGE, FIDEDUPERANGE
	{all, 0xc020660b}, {all, 0x80086601}, {all, 0x801c581f}, // FIEMAP, GETFLAGS, FSGETXATTR
	{all, 0x80087601}, {all, 0x81009431}, {all, 0x80111500}, // GETVERSION, GETFSLABEL, GETFSUUID
	{all, 0xc0686611}, {all, 0xc0606610}, // PROCMAP_QUERY, PAGEMAP_SCAN, of descriptors of /proc
}

const all = ^uint32(0)

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

const (
	allow         = unix.SECCOMP_RET_ALLOW
	notify        = unix.SECCOMP_RET_USER_NOTIF
	tiocLinux     = 0x541c
	setDelegation = 1024 + 16 // F_SETDELEG: names in a directory then wait for its holder
	fiosetown     = 0x8901
	siocspgrp     = 0x8902
	netlinkRoute  = unix.NETLINK_ROUTE
	socketType    = 0xf // without SOCK_CLOEXEC and SOCK_NONBLOCK
)

func fail(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// A rule is the outcome of a call whose arguments meet all conditions. The first rule
// that a call meets decides, and a call that meets none is allowed.
type rule struct {
	call       uint32
	outcome    uint32
	conditions []condition
}

// A condition is that an argument, of which only mask counts, passes a test with a value.
type condition struct {
	offset, mask, value uint32 // offset is in struct seccomp_data
	test                uint16
}

func is(arg, value uint32) condition {
	return condition{dataArgs + 8*arg, ^uint32(0), value, unix.BPF_JEQ}
}
func hasAny(arg, value uint32) condition {
	return condition{dataArgs + 8*arg, ^uint32(0), value, unix.BPF_JSET}
}

// whole is that an argument is a value, in all its 64 bits.
func whole(arg uint32, value uint64) []condition {
	low := is(arg, uint32(value))
	return []condition{low, {low.offset + 4, low.mask, uint32(value >> 32), low.test}}
}
func isType(arg, value uint32) condition {
	return condition{dataArgs + 8*arg, socketType, value, unix.BPF_JEQ}
}

// rules returns those for a plan.
func (p *plan) rules(mounted bool, abi int) (list []rule) {
	add := func(call, outcome uint32, conditions ...condition) {
		list = append(list, rule{call, outcome, conditions})
	}
	addAll := func(outcome uint32, calls ...[]uint32) {
		for _, call := range slices.Concat(calls...) {
			add(call, outcome)
		}
	}
	denied, noAccess := fail(unix.EPERM), fail(unix.EACCES)
	by := whole(5, broker.Pass())
	if p.broker != nil { // calls that it makes itself
		add(unix.SYS_OPENAT2, allow, by...)
		add(unix.SYS_PIDFD_GETFD, allow, by...)
		for _, c := range slices.Concat(broker.Calls, broker.Sockets) {
			add(c.Number, allow, by...)
		}
	}
	addAll(denied, refused, arch.refused)
	if p.Limits != (Limits{}) { // to be stopped at the first instruction
		for _, request := range []uint32{unix.PTRACE_TRACEME, unix.PTRACE_DETACH, unix.PTRACE_CONT} {
			add(unix.SYS_PTRACE, allow, is(0, request))
		}
	}
	if abi == 0 { // else Landlock keeps commands from all processes but their own
		addAll(denied, []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV})
	}
	// Its own thread has the domain of the commands, by which Landlock goes. A signal to the
	// thread ends the supervisor.
	for _, self := range []int{unix.Getpid(), unix.Gettid()} {
		for _, a := range aimed {
			add(a.call, denied, is(a.arg, uint32(self)))
		}
		add(unix.SYS_FCNTL, denied, is(1, unix.F_SETOWN), is(2, uint32(self)))
	}
	add(unix.SYS_FCNTL, denied, is(1, unix.F_SETOWN_EX)) // whom it is about is out of sight, as of FIOSETOWN
	add(unix.SYS_FCNTL, fail(unix.EINVAL), is(1, setDelegation))
	// Limits of others are a way to kill them.
	add(unix.SYS_PRLIMIT64, allow, is(0, 0))
	add(unix.SYS_PRLIMIT64, allow, whole(2, 0)...)
	add(unix.SYS_PRLIMIT64, allow, by...)
	add(unix.SYS_PRLIMIT64, denied)
	add(unix.SYS_CLONE3, fail(unix.ENOSYS)) // its flags are out of sight; libraries fall back to clone
	add(unix.SYS_CLONE, denied, hasAny(0, newNamespace))
	// Landlock keeps them from the machine's sockets without a path.
	ownSockets := p.broker != nil && abi >= abiScope && !p.services()
	if p.broker != nil {
		for _, c := range broker.Calls {
			if c.Flags >= 0 {
				add(c.Number, notify, hasAny(uint32(c.Flags), broker.Writing))
			} else {
				add(c.Number, notify)
			}
		}
		// Its flags are out of sight; libraries fall back to openat.
		add(unix.SYS_OPENAT2, fail(unix.ENOSYS))
	}

	// Input as if typed at a terminal, and line disciplines.
	for _, request := range []uint32{unix.TIOCSTI, tiocLinux, unix.TIOCSETD, fiosetown, siocspgrp} {
		add(unix.SYS_IOCTL, denied, is(1, request))
	}
	for _, i := range ioctls {
		add(unix.SYS_IOCTL, allow, condition{dataArgs + 8, i.mask, i.value, unix.BPF_JEQ})
	}
	add(unix.SYS_IOCTL, fail(unix.ENOTTY)) // as of a file system that does not have it
	if !mounted && !p.AllowMetadata {
		addAll(denied, metadata, arch.metadata)
	}
	// What is allocated and not written is in no account that limits of disk could go by.
	// Libraries write instead (posix_fallocate(3)).
	add(unix.SYS_FALLOCATE, allow, hasAny(1, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_COLLAPSE_RANGE))
	add(unix.SYS_FALLOCATE, fail(unix.EOPNOTSUPP))
	if p.ExecList {
		// Landlock does not govern files without a path, so they must not be run. The
		// error is that of the sysctl vm.memfd_noexec=2.
		add(unix.SYS_MEMFD_CREATE, allow, hasAny(1, unix.MFD_NOEXEC_SEAL))
		add(unix.SYS_MEMFD_CREATE, noAccess)
	}

	// A connected stream reaches its other end only. A datagram could be sent to a path.
	for _, kind := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		add(unix.SYS_SOCKETPAIR, allow, isType(1, kind))
		if ownSockets {
			add(unix.SYS_SOCKET, allow, is(0, unix.AF_UNIX), isType(1, kind))
		}
	}
	if ownSockets {
		add(unix.SYS_BIND, notify)
		add(unix.SYS_CONNECT, notify)
		for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			add(call, notify, is(0, unix.AF_UNIX), isType(1, unix.SOCK_DGRAM))
		}
	}
	if !p.services() {
		add(unix.SYS_SOCKETPAIR, noAccess)
	}
	if p.Network != None {
		if p.services() || abi >= abiUnix && !ownSockets {
			add(unix.SYS_SOCKET, allow, is(0, unix.AF_UNIX))
		}
		// How libraries learn the addresses of the machine; changing them takes a
		// capability.
		add(unix.SYS_SOCKET, allow, is(0, unix.AF_NETLINK), is(2, netlinkRoute))
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			add(unix.SYS_SOCKET, allow, is(0, family), isType(1, unix.SOCK_STREAM))
			add(unix.SYS_SOCKET, allow, is(0, family), isType(1, unix.SOCK_DGRAM))
		}
	}
	if p.broker != nil { // which records it
		noAccess = notify
	}
	add(unix.SYS_SOCKET, noAccess)
	return list
}

// A filter is a program in classic BPF.
type filter struct{ code []unix.SockFilter }

func (f *filter) emit(code uint16, k uint32, yes, no int) {
	f.code = append(f.code, unix.SockFilter{Code: code, K: k, Jt: uint8(yes), Jf: uint8(no)})
}

// filter returns the filter for a plan.
func (p *plan) filter(mounted bool, abi int) *filter {
	return compile(p.rules(mounted, abi))
}

// compile keeps the number of the call in the accumulator between rules. Arguments are not
// looked at but for rules: the kernel remembers which numbers are allowed whatever they are,
// and does not run the filter for those.
func compile(rules []rule) *filter {
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		and     = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		jump    = unix.BPF_JMP | unix.BPF_K
		returns = unix.BPF_RET | unix.BPF_K
	)
	f := new(filter)
	f.emit(load, dataArch, 0, 0)
	f.emit(jump|unix.BPF_JEQ, arch.audit, 1, 0)
	f.emit(returns, unix.SECCOMP_RET_KILL_PROCESS, 0, 0)
	f.emit(load, dataNumber, 0, 0)
	f.emit(jump|unix.BPF_JGE, youngest+1, 0, 1) // also the second set of numbers, x32
	f.emit(returns, fail(unix.ENOSYS), 0, 0)
	for len(rules) > 0 {
		// Calls with the same outcome, whatever their arguments, share its instruction.
		same := 0
		for same < min(len(rules), 200) && rules[same].outcome == rules[0].outcome && len(rules[same].conditions) == 0 {
			same++
		}
		for i, r := range rules[:same] {
			skip := 0
			if i == same-1 {
				skip = 1
			}
			f.emit(jump|unix.BPF_JEQ, r.call, same-1-i, skip)
		}
		if same > 0 {
			f.emit(returns, rules[0].outcome, 0, 0)
			rules = rules[same:]
			continue
		}
		r := rules[0]
		rules = rules[1:]
		rest := 3*len(r.conditions) + 1 // instructions up to the next rule
		f.emit(jump|unix.BPF_JEQ, r.call, 0, rest)
		for _, c := range r.conditions {
			rest -= 3
			f.emit(load, c.offset, 0, 0)
			f.emit(and, c.mask, 0, 0)
			f.emit(jump|c.test, c.value, 0, rest)
		}
		f.emit(returns, r.outcome, 0, 0)
		if len(r.conditions) > 0 {
			f.emit(load, dataNumber, 0, 0)
		}
	}
	f.emit(returns, allow, 0, 0)
	return f
}

// install puts the filter on the calling thread. With notify it returns the listener
// for the calls that the filter suspends.
func (f *filter) install(notify bool) (listener int, err error) {
	if arch.audit == 0 {
		return -1, fmt.Errorf("filter system calls: %w on this processor", ErrUnsupported)
	}
	program := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	flags := uintptr(0)
	if notify { // and signals with a handler wait for the answer, from Linux 5.19 on
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, fmt.Errorf("filter system calls: %w: %w", ErrUnsupported, errno)
	}
	if notify {
		unix.CloseOnExec(int(fd))
	}
	return int(fd), nil
}

// architectures are what a filter must know of the processors it is made for.
var architectures = map[string]architecture{
	"amd64": {
		audit: unix.AUDIT_ARCH_X86_64,
		// kexec_file_load, memfd_secret, iopl, ioperm, uselib, modify_ldt
		refused: []uint32{320, 447, 172, 173, 134, 154},
		// chmod, chown, lchown, utime, utimes, futimesat
		metadata: []uint32{90, 92, 94, 132, 235, 261},
	},
	"arm64": {
		audit:   unix.AUDIT_ARCH_AARCH64,
		refused: []uint32{294, 447}, // kexec_file_load, memfd_secret
	},
}

type architecture struct {
	audit    uint32 // as the kernel names it
	refused  []uint32
	metadata []uint32
}

// arch is empty for a processor filters are not made for.
var arch = architectures[runtime.GOARCH]
