//go:build linux

// Launcher starts a program as another user, or on a machine that seems to lack
// something: a seccomp filter refuses the calls, as the profiles of containers do.
//
//	launcher [-user ID] [-without landlock,namespaces,seccomp,ptrace,openat2] [-env NAME=VALUE]... PROGRAM [ARGUMENT]...
//
// The program gets no environment but what -env says. If root starts it, it has
// mounts of its own, so that the machine keeps its own whatever is done to them.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	user := flag.Int("user", -1, "user and group to become")
	without := flag.String("without", "", "what is to be missing")
	var env []string
	flag.Func("env", "variable to set", func(v string) error { env = append(env, v); return nil })
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := launch(*user, *without, env, flag.Args())
	fmt.Fprintln(os.Stderr, "launcher:", err)
	os.Exit(1)
}

// launch returns only if it fails.
func launch(user int, without string, env, argv []string) error {
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return os.NewSyscallError("mount", err)
		}
	}
	if user >= 0 {
		if err := become(user); err != nil {
			return err
		}
	}
	if without != "" {
		refused, err := refusals(strings.Split(without, ","))
		if err != nil {
			return err
		}
		if err := install(refused); err != nil {
			return err
		}
	}
	return os.NewSyscallError("execve", syscall.Exec(argv[0], argv, env))
}

func become(user int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setgid(user); err != nil {
		return os.NewSyscallError("setgid", err)
	}
	return os.NewSyscallError("setuid", syscall.Setuid(user))
}

// A refusal is an error for a call, or, with flags, for those of its uses whose
// first argument has one of them.
type refusal struct {
	call  uint32
	errno unix.Errno
	flags uint32
}

const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

func refusals(layers []string) (list []refusal, err error) {
	all := func(errno unix.Errno, calls ...uint32) {
		for _, call := range calls {
			list = append(list, refusal{call: call, errno: errno})
		}
	}
	for _, layer := range layers {
		switch layer {
		case "landlock":
			all(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF)
		case "namespaces":
			all(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT,
				unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR)
			all(unix.ENOSYS, unix.SYS_CLONE3)
			list = append(list, refusal{unix.SYS_CLONE, unix.EPERM, newNamespace})
		case "seccomp":
			all(unix.ENOSYS, unix.SYS_SECCOMP)
		case "openat2":
			all(unix.ENOSYS, unix.SYS_OPENAT2)
		case "restrict": // Landlock is there, but must not be used
			all(unix.EPERM, unix.SYS_LANDLOCK_RESTRICT_SELF)
		case "ptrace":
			all(unix.EPERM, unix.SYS_PTRACE)
		default:
			return nil, fmt.Errorf("-without: %q is not known", layer)
		}
	}
	return list, nil
}
