package confine

import "golang.org/x/sys/unix"

var arch = architecture{
	audit:   unix.AUDIT_ARCH_AARCH64,
	refused: []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_MEMFD_SECRET},
}
