package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What would help, for whoever runs the server.
const (
	helpLandlock = "it takes Linux 5.13 or later with landlock in the list of /sys/kernel/security/lsm " +
		"(boot parameter lsm=), and in a container a seccomp profile that allows landlock_restrict_self"
	helpSeccomp = "it takes a kernel with CONFIG_SECCOMP_FILTER on an x86-64 or 64-bit ARM processor"
	helpUserNS  = "allow user namespaces: sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with userns; " +
		"in a container a seccomp profile that allows clone and unshare"
	helpMountNS = "run the server with CAP_SYS_ADMIN, or " + helpUserNS
	helpStop    = "allow a process to be traced by its parent: sysctl kernel.yama.ptrace_scope below 3, " +
		"and in a container a seccomp profile that allows ptrace"
)

// Probe finds out by trying what this kernel grants this process and a runner's
// supervisor, which as init of a namespace has its own user namespace if the
// server does not run as root. It takes some milliseconds; keep the result.
func Probe() Support {
	have := Support{LandlockABI: landlockABI(), Seccomp: seccompWorks()}
	root := os.Geteuid() == 0
	note := func(layer string, err error, help string) {
		have.Missing = append(have.Missing, fmt.Sprintf("%s: not available here (%v); %s", layer, err, help))
	}
	if have.LandlockABI == 0 {
		note("Landlock", errors.ErrUnsupported, helpLandlock)
	}
	if !have.Seccomp {
		note("seccomp", errors.ErrUnsupported, helpSeccomp)
	}
	userNS := func(unshare uintptr) error {
		return tryStart(&syscall.SysProcAttr{
			Cloneflags:   unix.CLONE_NEWUSER,
			Unshareflags: unshare,
			UidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		})
	}
	err := userNS(0)
	if have.UserNamespace = err == nil; err != nil {
		note("user namespaces", err, helpUserNS)
	}
	if !root {
		err = userNS(unix.CLONE_NEWNS)
		if err == nil && !mountSetattrWorks() {
			err = unix.ENOSYS
		}
	} else { // whose supervisors stay in the user namespace of the server
		err = tryMounts()
	}
	if have.MountNamespace = err == nil; err != nil {
		note("mount namespaces", err, helpMountNS)
	}
	if root {
		err = onThread(enterNetNamespace)
	} else {
		err = userNS(unix.CLONE_NEWNET)
	}
	if have.NetNamespace = err == nil; err != nil {
		note("network namespaces", err, helpMountNS)
	}
	err = tryStart(&syscall.SysProcAttr{Ptrace: true})
	if have.StopAtStart = err == nil; err != nil {
		note("limits from the first instruction on", err, helpStop)
	}
	return have
}

// tryStart starts a program that does not exist, so that the error tells whether
// all that comes before was granted.
func tryStart(attr *syscall.SysProcAttr) error {
	return onThread(func() error {
		_, err := syscall.ForkExec("/proc/self/no program", []string{""}, &syscall.ProcAttr{Sys: attr})
		if errors.Is(err, syscall.ENOENT) {
			return nil
		}
		return err
	})
}

// tryMounts does what the command's thread would.
func tryMounts() error {
	return onThread(func() error {
		if err := enterMountNamespace(); err != nil {
			return err
		}
		return (&plan{mounts: []mount{{mountData, "/dev"}, {mountHidden, "/sys"}, {mountHidden, "/dev/null"}}}).mount()
	})
}

// onThread runs f on a thread that then ends, with all that was done to it. The
// first thread of a process does not end, and stands for it in /proc.
func onThread(f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err = onThread(f)
			runtime.UnlockOSThread()
			return
		}
		err = f()
	}()
	<-done
	return err
}

func seccompWorks() bool {
	const getActionAvailable = 2 // SECCOMP_GET_ACTION_AVAIL
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, getActionAvailable, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && arch.audit != 0
}

// mountSetattrWorks is true from Linux 5.12 on.
func mountSetattrWorks() bool {
	return !errors.Is(unix.MountSetattr(-1, "/", ^uint(0), new(unix.MountAttr)), unix.ENOSYS)
}
