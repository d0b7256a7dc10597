package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start restricts the calling thread by what [Spec.Encode] returned and starts the
// one command that is to run so from it. It is a runner.Confiner: the goroutine
// must be locked to its thread, and the thread must end with it. A thread that
// still has the capabilities of its supervisor gets the namespaces too; none is
// left to the command. A bare [syscall.Errno] means that the program could not be
// started, as from [syscall.ForkExec]; any other error is about the confinement.
func Start(spec []byte, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	p, err := decodePlan(spec)
	if err != nil {
		return 0, err
	}
	if err := p.apply(); err != nil {
		return 0, err
	}
	if p.limits == (Limits{}) {
		return syscall.ForkExec(path, argv, attr)
	}
	if attr.Sys == nil {
		attr.Sys = new(syscall.SysProcAttr)
	}
	return startLimited(path, argv, attr, p.limits)
}

// apply puts the layers on, each before what it needs is gone: mounts take
// capabilities and calls that seccomp refuses.
func (p *plan) apply() error {
	missing := func(err error) error {
		if p.bestEffort && errors.Is(err, ErrUnsupported) {
			return nil
		}
		return err
	}
	mounted, err := p.separate()
	if err := missing(err); err != nil {
		return err
	}
	if p.network == Loopback {
		err := enterNetNamespace()
		if err := missing(err); err != nil {
			return err
		}
		if err != nil {
			p.network = None
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	abi := landlockABI()
	if abi > 0 {
		if err := p.landlock(abi); err != nil {
			return fmt.Errorf("restrict files: %w", err)
		}
	} else if err := missing(fmt.Errorf("restrict files: %w: no Landlock", ErrUnsupported)); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return missing(p.filter(mounted, abi).install())
}

// separate gives the thread mounts of its own where it may. Without, it fails if
// less would be enforced than [Spec.Missing] tells.
func (p *plan) separate() (mounted bool, err error) {
	switch {
	case p.withoutMounts:
		err = fmt.Errorf("hide or protect files: %w without a mount namespace", ErrUnsupported)
	case !mayAdminister():
		err = fmt.Errorf("make a mount namespace: %w: the right to is missing", ErrUnsupported)
	default:
		if err = enterMountNamespace(); err == nil {
			return true, p.mount()
		}
	}
	if told := p.withoutMounts || !p.execList && !p.allowMetadata; told && !p.needsMounts() {
		err = nil
	}
	return false, err
}
