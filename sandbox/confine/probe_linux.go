package confine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
)

// What the operator can do.
const (
	helpLandlock = "it takes Linux 5.13 or later with landlock in the list of /sys/kernel/security/lsm " +
		"(boot parameter lsm=), and in a container a seccomp profile that allows landlock_restrict_self"
	helpSeccomp = "it takes a kernel with CONFIG_SECCOMP_FILTER on an x86-64 or 64-bit ARM processor"
	helpUserNS  = "allow user namespaces: sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with userns; " +
		"in a container a seccomp profile that allows clone and unshare"
	helpMountNS = "run the server with CAP_SYS_ADMIN, or " + helpUserNS
	helpBroker  = "it takes Linux 5.19 or later, no other listener for the server's calls (seccomp_unotify), and in containers procMount: Unmasked (Kubernetes)"
	helpChroot  = "start the server by what uses pivot_root(2), such as a container, bwrap, or RootDirectory= of systemd; " +
		"for root, mount --bind DIRECTORY DIRECTORY before chroot does too"
	helpStop = "allow a process to be traced by its parent: sysctl kernel.yama.ptrace_scope below 3, " +
		"and in a container a seccomp profile that allows ptrace"
)

// Probe finds out by trying what this kernel grants this process and a supervisor,
// which as init of a namespace has its own user namespace if the server does not run
// as root. It takes some milliseconds; keep the result.
func Probe() Support {
	userNS := func(unshare uintptr) bool {
		return nil == tryStart(&syscall.SysProcAttr{
			Cloneflags:   unix.CLONE_NEWUSER,
			Unshareflags: unshare,
			UidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		})
	}
	have := Support{
		UserNamespace: userNS(0), StopAtStart: tryStart(&syscall.SysProcAttr{Ptrace: true}) == nil, Chroot: inChroot(),
		Seccomp: tryRestricting(func() error { return installed(new(plan).filter(false, 0), false) }),
		Broker:  tryRestricting(tryBroker),
	}
	abi := landlockABI()
	if abi > 0 && tryRestricting(func() error { return (&plan{grants: []grant{{canLook, "/"}}}).landlock(abi) }) {
		have.LandlockABI = abi
	}
	if os.Geteuid() == 0 { // the supervisors stay in the user namespace of the server
		have.MountNamespace, have.NetNamespace = tryMounts() == nil, onThread(enterNetNamespace) == nil
	} else {
		setattr := !errors.Is(unix.MountSetattr(-1, "/", ^uint(0), new(unix.MountAttr)), unix.ENOSYS) // from Linux 5.12 on
		have.MountNamespace, have.NetNamespace = userNS(unix.CLONE_NEWNS) && setattr, userNS(unix.CLONE_NEWNET)
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

// tryRestricting says whether f can restrict a thread, as it does that of a command.
func tryRestricting(f func() error) bool {
	return nil == onThread(func() error {
		return errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), f())
	})
}

func inChroot() bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, "/", 0, 0, &st)
	return err == nil && st.Attributes_mask&^st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// onThread runs f on a thread that then ends, with all that was done to it.
func onThread(f func() error) error {
	done := make(chan error, 1)
	process.GoOnThread(func() { done <- f() })
	return <-done
}

// tryBroker does what a broker needs.
func tryBroker() error {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/proc/self/no program", &unix.OpenHow{Flags: unix.O_PATH}); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return installed(compile(nil), true)
}

// installed installs a filter and forgets its listener.
func installed(f *filter, notify bool) error {
	listener, err := f.install(notify)
	if err == nil && notify {
		unix.Close(listener)
	}
	return err
}

// Missing says what of the spec cannot be enforced with have.
func (s Spec) Missing(have Support) []Gap {
	s.WithoutMounts = s.WithoutMounts || !have.MountNamespace
	p, err := s.resolve()
	if err != nil {
		return []Gap{{What: "the confinement of commands", Why: err.Error(), Help: "correct the paths of the policy"}}
	}
	var list []Gap
	add := func(missing bool, what, why, help string) {
		if missing {
			list = append(list, Gap{what, why, help})
		}
	}
	abi, without := have.LandlockABI, s.WithoutMounts
	noMounts, helpMountNS := "there are no mount namespaces", helpMountNS
	if have.Chroot {
		noMounts, helpMountNS = noMounts+" where / is no mount point, as in a chroot", helpChroot
	}
	add(abi == 0, "which files commands may read, write and start", "there is no Landlock", helpLandlock)
	add(abi > 0 && abi < abiTruncate && without, "that files outside the write paths are not cut off (truncate)",
		"Landlock knows of it from Linux 6.2 on", "run a later kernel; or "+helpMountNS)
	add(abi < abiScope && !have.PIDNamespace, "that commands do not signal other processes of their user, such as the server",
		"there is no PID namespace, and Landlock knows of signals from Linux 6.12 on", "run a later kernel, or "+helpMountNS)
	add(!have.Seccomp, "network: "+s.Network.String()+", and that commands do not trace other processes or make namespaces",
		"there is no seccomp", helpSeccomp)
	add(s.Protect.Needed() && !(have.Broker && abi > 0), "that no file gets a protected name", "calls cannot be brokered", helpBroker)
	add((s.Network == Loopback || s.Network == Proxied) && !have.NetNamespace, "network: "+s.Network.String(),
		"there are no network namespaces, so that commands have none at all", helpMountNS)
	dir := p.writtenProgramDir()
	add(dir != "", "that only listed programs start", "programs in "+dir+" may be written, so they can be read", "allow to write less")
	add(without && p.ExecList, "that a command starts no program it wrote itself",
		"without mount namespaces the dynamic loader runs what it can read", helpMountNS)
	add(without && s.AllowMetadata, "that modes, owners and times of files outside the write paths do not change",
		noMounts+", and Landlock does not know of them", helpMountNS)
	add(s.Limits != (Limits{}) && !have.StopAtStart, "the limits", "a command cannot be stopped before it runs", helpStop)
	for _, m := range p.mounts {
		why, help := noMounts+", and Landlock cannot subtract", "allow paths beside it instead; or "+helpMountNS
		add(without && m.kind == mountApart, "that names of what others have in "+m.path+" are hidden", noMounts, helpMountNS)
		add(without && m.kind == mountHidden, "that "+m.path+" is hidden inside a path that is allowed", why, help)
		add(without && m.kind == mountReadOnly, "that "+m.path+" is read-only inside a path that may be written", why, help)
	}
	return list
}

// writtenProgramDir returns a directory of the system whose programs may be written
// although there is a list of programs, or "".
func (p *plan) writtenProgramDir() string {
	for _, dir := range ofSystem("programs") {
		dir, err := filepath.EvalSymlinks(dir)
		written := func(g grant) bool {
			return g.rights&canWrite != 0 && (pathguard.Within(g.path, dir) || pathguard.Within(dir, g.path))
		}
		if err == nil && p.ExecList && slices.ContainsFunc(p.grants, written) {
			return dir
		}
	}
	return ""
}

// SideEffects says which ordinary work fails because of how the spec is enforced
// with have, each in a sentence with what would help.
func (s Spec) SideEffects(have Support) []string {
	if have.MountNamespace && !s.WithoutMounts || s.AllowMetadata || !have.Seccomp {
		return nil
	}
	return []string{"commands cannot change modes, owners, times and attributes of any file (chmod, touch, cp -p, tar, gzip and git init fail): " +
		"without mount namespaces that is the way to protect files outside the write paths; " + helpMountNS + "; or allow such changes everywhere"}
}
