package confine

// rights are what a grant gives, in terms that do not depend on the kernel.
type rights uint8

const (
	canRead  rights = 1 << iota // read a file
	canList                     // list a directory
	canExec                     // start a program
	canWrite                    // write, make, rename and remove
	canDrive                    // ioctl on a device

	canLook = canRead | canList
)

// system is what every program needs. What is missing on a system is left out.
// Of what can be started only what Exec lists is, if there is a list.
var system = []grant{
	{canLook | canExec, "/bin"},
	{canLook | canExec, "/sbin"},
	{canLook | canExec, "/lib"},
	{canLook | canExec, "/lib32"},
	{canLook | canExec, "/lib64"},
	{canLook | canExec, "/libx32"},
	{canLook | canExec, "/usr"},

	// Of /etc what libraries and common programs read, and no secret.
	{canLook, "/etc/ld.so.cache"},
	{canLook, "/etc/ld.so.conf"},
	{canLook, "/etc/ld.so.conf.d"},
	{canLook, "/etc/ld.so.preload"},
	{canLook, "/etc/ld-musl-x86_64.path"},
	{canLook, "/etc/ld-musl-aarch64.path"},
	{canLook, "/etc/alternatives"},
	{canLook, "/etc/nsswitch.conf"},
	{canLook, "/etc/passwd"},
	{canLook, "/etc/group"},
	{canLook, "/etc/hosts"},
	{canLook, "/etc/host.conf"},
	{canLook, "/etc/hostname"},
	{canLook, "/etc/resolv.conf"},
	{canLook, "/etc/gai.conf"},
	{canLook, "/etc/services"},
	{canLook, "/etc/protocols"},
	{canLook, "/etc/networks"},
	{canLook, "/etc/rpc"},
	{canLook, "/etc/ethertypes"},
	{canLook, "/etc/localtime"},
	{canLook, "/etc/timezone"},
	{canLook, "/etc/adjtime"},
	{canLook, "/etc/locale.alias"},
	{canLook, "/etc/locale.conf"},
	{canLook, "/etc/default/locale"},
	{canLook, "/etc/terminfo"},
	{canLook, "/etc/inputrc"},
	{canLook, "/etc/profile"},
	{canLook, "/etc/profile.d"},
	{canLook, "/etc/bash.bashrc"},
	{canLook, "/etc/bashrc"},
	{canLook, "/etc/bash_completion.d"},
	{canLook, "/etc/environment"},
	{canLook, "/etc/shells"},
	{canLook, "/etc/mime.types"},
	{canLook, "/etc/magic"},
	{canLook, "/etc/mailcap"},
	{canLook, "/etc/gitconfig"},
	{canLook, "/etc/gitattributes"},
	{canLook, "/etc/os-release"},
	{canLook, "/etc/lsb-release"},
	{canLook, "/etc/debian_version"},
	{canLook, "/etc/alpine-release"},
	{canLook, "/etc/redhat-release"},
	{canLook, "/etc/machine-id"},
	{canLook, "/etc/ssl/certs"},
	{canLook, "/etc/ssl/cert.pem"},
	{canLook, "/etc/ssl/openssl.cnf"},
	{canLook, "/etc/pki/tls/certs"},
	{canLook, "/etc/pki/ca-trust"},
	{canLook, "/etc/ca-certificates"},
	{canLook, "/etc/ca-certificates.conf"},
	{canLook, "/etc/crypto-policies"},
	{canLook, "/etc/fonts"},
	{canLook, "/etc/perl"},
	{canLook, "/etc/python3"},
	{canLook, "/etc/python3.11"},
	{canLook, "/etc/python3.12"},
	{canLook, "/etc/python3.13"},
	{canLook, "/etc/java-17-openjdk"},
	{canLook, "/etc/java-21-openjdk"},
	{canLook, "/etc/java-25-openjdk"},
	{canLook, "/etc/xdg"},
	{canLook, "/etc/manpath.config"},
	{canLook, "/etc/vim"},
	{canLook, "/etc/wgetrc"},
	{canLook, "/etc/rmt"},
	{canLook, "/etc/mke2fs.conf"},
	{canLook, "/etc/xattr.conf"},
	{canLook, "/etc/mtab"},

	// Landlock forbids to look into processes outside the command, so that what
	// is left of /proc is what all may know.
	{canLook, "/proc"},
	{canLook, "/sys/devices/system/cpu"},
	{canLook, "/sys/devices/system/node"},
	{canLook, "/sys/kernel/mm/transparent_hugepage"},
	{canLook, "/sys/fs/cgroup"},

	// No terminals: what belongs to the user could be read and written.
	{canRead | canWrite | canDrive, "/dev/null"},
	{canRead | canWrite, "/dev/zero"},
	{canRead | canWrite, "/dev/full"},
	{canRead | canWrite, "/dev/random"},
	{canRead | canWrite, "/dev/urandom"},
	{canRead | canWrite | canDrive, "/dev/tty"},
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
