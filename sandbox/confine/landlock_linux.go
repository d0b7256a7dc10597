package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock by the ABI that brought them, landlock(7).
const (
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fsReplace = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	fsDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK // are never granted

	abiRefer, abiTruncate, abiNet, abiIoctl, abiScope, abiUnix = 2, 3, 4, 5, 6, 9
)

// landlockABI returns the version the kernel has, and zero if there is none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// ruleset returns what Landlock governs for the plan with an ABI.
func (p *plan) ruleset(abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: fsFile | fsReplace | fsDevices | unix.LANDLOCK_ACCESS_FS_READ_DIR}
	if abi < abiRefer {
		a.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < abiTruncate {
		a.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < abiIoctl {
		a.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiUnix && !p.services() {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // to those of the command itself all may connect
	}
	if abi >= abiNet && p.Network == None {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiScope {
		a.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.services() {
			a.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	return a
}

// landlock restricts the calling thread, and what it starts, to the grants.
func (p *plan) landlock(abi int) error {
	attr := p.ruleset(abi)
	// A kernel accepts fields it does not know as long as they are zero.
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(set))
	for _, g := range p.grants {
		if err := p.addRule(int(set), g, attr.Handled_access_fs); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

func (p *plan) addRule(set int, g grant, handled uint64) error {
	fd, err := openPath(g.path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m, err := p.notes.note(g.path, fd)
	if err != nil {
		return os.NewSyscallError("statx", err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: uint64(g.rights) & handled, Parent_fd: int32(fd)}
	if m.kind != unix.S_IFDIR {
		rule.Allowed_access &= fsFile
	}
	if rule.Allowed_access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", g.path, os.NewSyscallError("landlock_add_rule", errno))
	}
	return nil
}
