package confine

import "golang.org/x/sys/unix"

var arch = architecture{
	audit:    unix.AUDIT_ARCH_X86_64,
	x32:      true,
	refused:  []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_MEMFD_SECRET, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_MODIFY_LDT},
	metadata: []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT},
}
