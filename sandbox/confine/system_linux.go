package confine

import "golang.org/x/sys/unix"

// rights are what a grant gives, as Landlock has them.
type rights uint64

const (
	canRead  rights = unix.LANDLOCK_ACCESS_FS_READ_FILE
	canList  rights = unix.LANDLOCK_ACCESS_FS_READ_DIR
	canExec  rights = unix.LANDLOCK_ACCESS_FS_EXECUTE
	canWrite rights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | fsReplace
	canDrive rights = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	canLook         = canRead | canList
)

// system is what every program needs. What is missing on a system is left out.
// Of what can be started only what Exec lists is, if there is a list.
var system = []struct {
	rights rights
	paths  string
}{
	{canLook | canExec, "/bin /sbin /lib /lib32 /lib64 /libx32 /usr"},

	// Of /etc what libraries and common programs read, and no secret.
	{canLook, "/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.preload /etc/ld-musl-x86_64.path /etc/ld-musl-aarch64.path"},
	{canLook, "/etc/alternatives /etc/nsswitch.conf /etc/passwd /etc/group"},
	{canLook, "/etc/hosts /etc/host.conf /etc/hostname /etc/resolv.conf /etc/gai.conf /etc/services /etc/protocols /etc/networks"},
	{canLook, "/etc/rpc /etc/ethertypes"},
	{canLook, "/etc/localtime /etc/timezone /etc/adjtime /etc/locale.alias /etc/locale.conf /etc/default/locale"},
	{canLook, "/etc/terminfo /etc/inputrc /etc/profile /etc/profile.d /etc/bash.bashrc /etc/bashrc /etc/bash_completion.d"},
	{canLook, "/etc/environment /etc/shells /etc/mime.types /etc/magic /etc/mailcap /etc/gitconfig /etc/gitattributes"},
	{canLook, "/etc/os-release /etc/lsb-release /etc/debian_version /etc/alpine-release /etc/redhat-release /etc/machine-id"},
	{canLook, "/etc/ssl/certs /etc/ssl/cert.pem /etc/ssl/openssl.cnf /etc/pki/tls/certs /etc/pki/ca-trust"},
	{canLook, "/etc/ca-certificates /etc/ca-certificates.conf /etc/crypto-policies"},
	{canLook, "/etc/fonts /etc/perl /etc/python3 /etc/python3.11 /etc/python3.12 /etc/python3.13"},
	{canLook, "/etc/java-17-openjdk /etc/java-21-openjdk /etc/java-25-openjdk"},
	{canLook, "/etc/xdg /etc/manpath.config /etc/vim /etc/wgetrc /etc/rmt /etc/mke2fs.conf /etc/xattr.conf /etc/mtab"},

	// Landlock forbids to look into processes outside the command, so that what
	// is left of /proc is what all may know.
	{canLook, "/proc /sys/devices/system/cpu /sys/devices/system/node /sys/kernel/mm/transparent_hugepage /sys/fs/cgroup"},

	// No terminals: what belongs to the user could be read and written.
	{canRead | canWrite | canDrive, "/dev/null /dev/tty"},
	{canRead | canWrite, "/dev/zero /dev/full /dev/random /dev/urandom"},
}

// kernelDirs hold what the kernel shows of itself and of devices. Of these commands
// have what system lists and no more, unless Read names one.
var kernelDirs = []string{"/dev", "/proc", "/sys"}

// programDirs hold programs and next to nothing else. With an Exec list only
// their names can be read, and the files in the list.
var programDirs = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/games", "/usr/libexec",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/games", "/usr/local/libexec", "/snap/bin",
}

// Below these, directories with such a name are program directories too, down
// to a depth; others, which hold modules for an interpreter, are not looked into.
var (
	programTrees = []string{"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local", "/opt"}
	programNames = []string{"bin", "sbin", "libexec", "git-core"}
	moduleNames  = []string{"node_modules", "share", "include", "src", "doc", "man", "dist-packages", "site-packages", "python3"}
)

const programDepth = 4
