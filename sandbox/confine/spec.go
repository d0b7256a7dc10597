package confine

import (
	"errors"
	"fmt"

	"github.com/toolserver/toolserver/sandbox/broker"
)

// A Spec says what a command may do. The zero Spec allows what every program
// needs: to read and start what the system has installed, and the harmless part
// of /proc and /dev. Paths are absolute; links in them are followed when the
// spec is encoded and never after.
type Spec struct {
	// Read and Write are directories, with all that is below, and files. Write
	// includes Read.
	Read, Write []string `json:"-"`
	// List allows to list every directory, but not what is in its files.
	List bool `json:"-"`
	// Exec lists the programs that may be started. Nil means any that may be
	// read; an empty list means none. With a list, other programs cannot be read
	// either, so that the dynamic loader does not start them; a directory of Read
	// that holds such programs is granted entry by entry, as it is when the spec is
	// encoded. The list must have the interpreter of a script: see [Interpreter].
	Exec []string `json:"-"`
	// ProgramDirs are the directories whose files only Exec opens; nil means those
	// that the function [ProgramDirs] returns.
	ProgramDirs []string `json:"-"`
	// ExecDirs are directories all of whose files may be started, also if they
	// may be written. See [Spec.Astray].
	ExecDirs []string `json:"-"`
	// Deny is hidden below Read or Write: a directory is empty instead, and a file a
	// device that cannot be opened, or a file that cannot be if git tracks it.
	Deny []string `json:"-"`
	// ReadOnly is what is below Write but not to be written, nor renamed, nor
	// reached under another name.
	ReadOnly []string `json:"-"`
	// Protect are names that the command neither makes nor changes, whether they exist
	// or not.
	Protect broker.Rules
	// Lock is a file whose lock all who change repositories of git hold meanwhile, so that
	// nobody sees what is undone again; empty for none.
	Lock string
	// WithoutBroker does not protect them, for where [Probe] finds that it cannot be.
	WithoutBroker bool
	// Temp is a directory that the command finds as /tmp, where the lists do not say
	// anything of that. It requires mounts. Of what the system has there the command
	// sees what the lists name, and Keep, which it may read.
	Temp string
	Keep []string `json:"-"`
	// Apart are directories of which the command sees what Read and Write name below
	// them. It requires mounts.
	Apart []string `json:"-"`
	// Network is what the command may reach.
	Network Network
	// UnixSockets allows to connect to the sockets of services on this machine,
	// unless Network is [None]. Such a service may do on behalf of the command
	// what the command must not do itself.
	UnixSockets bool
	// AllowMetadata is for systems without mount namespaces. False refuses every
	// change of mode, owner, times and attributes, which fails much ordinary work
	// (chmod, touch, tar, git init). True allows it, also on files outside Write that
	// belong to the user of the command.
	AllowMetadata bool
	// WithoutMounts makes no mount namespace, for where [Probe] finds none. If it is
	// not set, and there is none, commands fail whose spec is enforced less without.
	WithoutMounts bool
	// WithoutLandlock leaves it out, for where [Probe] finds none.
	WithoutLandlock bool
	// Limits bounds what the command may use.
	Limits Limits
	// BestEffort starts the command also where part of the spec cannot be
	// enforced. What that is [Spec.Missing] tells.
	BestEffort bool
}

// Network is what a command may reach.
type Network uint8

const (
	// None means no sockets but among the processes of the commands.
	None Network = iota
	// Loopback means a loopback interface of the command's own, which nothing
	// else is on.
	Loopback
	// Proxied means Loopback, with a listening socket at [ProxyAddress] that is handed to
	// the server: see process.Spec.
	Proxied
	// All means TCP, UDP and ping to where this machine reaches.
	All
)

// ProxyAddress is where commands find a proxy, on the loopback interface of their own.
const ProxyAddress = "127.0.0.1:3128"

func (n Network) String() string {
	switch n {
	case None:
		return "none"
	case Loopback:
		return "loopback"
	case Proxied:
		return "allow"
	case All:
		return "all"
	}
	return fmt.Sprintf("network %d", uint8(n))
}

// Limits bounds what processes of a command may use, each of them if not said otherwise. Zero means no limit. With
// any limit there are no core dumps. See process.Bounds for a command as a whole.
type Limits struct {
	OpenFiles uint64 // descriptors
	FileSize  uint64 // bytes that a file may be written to
	// Processes are those of all together, with threads, where the kernel counts them apart.
	Processes uint64
}

// ErrUnsupported is the cause of an error about a layer this system lacks.
var ErrUnsupported = errors.New("this system cannot enforce it")

// Support is what this system and this process can enforce.
type Support struct {
	LandlockABI int  // 0 means that there is no Landlock
	Seccomp     bool // system call filters, for this architecture
	Seatbelt    bool // sandbox-exec(1), of macOS
	// UserNamespace says whether a process without privileges may make one.
	UserNamespace bool
	// MountNamespace and NetNamespace say whether the thread of a supervisor that is
	// init of a namespace can make and change them.
	MountNamespace, NetNamespace bool
	// Broker says whether calls can be made for a command that may not make them.
	Broker bool
	// PIDNamespace says that a command has its own, from its supervisor.
	PIDNamespace bool
	// Chroot says that the root directory is no mount point, so that no mount
	// namespace can be arranged.
	Chroot bool
	// StopAtStart says whether a command can be stopped at its first instruction.
	StopAtStart bool
}

// A Gap is something that cannot be enforced.
type Gap struct {
	What string // as the end of "not enforced:"
	Why  string
	Help string // what the operator can do
}

func (g Gap) String() string { return g.What + " cannot be enforced: " + g.Why + "; " + g.Help }
