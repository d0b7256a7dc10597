package confine

import (
	"errors"
	"fmt"
)

// A Spec says what a command may do. The zero Spec allows what every program
// needs: to read and start what the system has installed, and the harmless part
// of /proc and /dev. Paths are absolute; links in them are followed when the
// spec is encoded and never after.
type Spec struct {
	// Read and Write are directories, with all that is below, and files. Write
	// includes Read.
	Read, Write []string
	// Exec lists the programs that may be started. Nil means any that may be
	// read; an empty list means none. With a list, other programs cannot be read
	// either, so that the dynamic loader does not start them; a directory of Read
	// that holds such programs is granted entry by entry, as it is when the spec is
	// encoded. A script is started
	// by its interpreter, which must be in the list too: see [Interpreter].
	Exec []string
	// ProgramDirs are the directories whose files only Exec opens; nil means those
	// that the function [ProgramDirs] returns.
	ProgramDirs []string
	// ExecDirs are directories all of whose files may be started, also if they
	// may be written.
	ExecDirs []string
	// Deny is hidden: what is below Read or Write but neither to be read nor
	// written. A directory is empty instead, and a file a device that cannot be
	// opened.
	Deny []string
	// ReadOnly is what is below Write but not to be written, nor renamed, nor
	// reached under another name.
	ReadOnly []string
	// Network is what the command may reach.
	Network Network
	// UnixSockets allows to connect to the sockets of services on this machine,
	// unless Network is [None]. Such a service may do on behalf of the command
	// what the command must not do itself.
	UnixSockets bool
	// AllowMetadata decides what gives way where no mount namespace makes all but
	// Write read-only. False refuses every change of mode, owner, times and
	// attributes, which fails much ordinary work (chmod, touch, tar, git init).
	// True lets the command change them, also on files outside Write that belong
	// to its user.
	AllowMetadata bool
	// WithoutMounts makes no mount namespace, for where [Probe] finds that there
	// is none, or supervisors are not init of a namespace. If it is not set, and
	// there is none, commands fail whose spec is enforced less without.
	WithoutMounts bool
	// Limits bounds what the command may use.
	Limits Limits
	// BestEffort starts the command also where part of the spec cannot be
	// enforced. What that is [Spec.Missing] tells.
	BestEffort bool
}

// Network is what a command may reach.
type Network uint8

const (
	// None means no sockets at all but connected pairs among the processes of
	// the command.
	None Network = iota
	// Loopback means a loopback interface of the command's own, which nothing
	// else is on.
	Loopback
	// All means TCP, UDP and ping to where this machine reaches.
	All
)

func (n Network) String() string {
	switch n {
	case None:
		return "none"
	case Loopback:
		return "loopback"
	case All:
		return "all"
	}
	return fmt.Sprintf("network %d", uint8(n))
}

// Limits bounds what each process of a command may use. Zero means no limit. With
// any limit there are no core dumps. What a command uses as a whole is bounded by
// its runner: the kernel counts the processes of a user, and not those of root.
type Limits struct {
	OpenFiles  uint64 // descriptors
	FileSize   uint64 // bytes that a file may be written to
	CPUSeconds uint64
	Memory     uint64 // bytes of private writable memory
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
	// MountNamespace and NetNamespace say whether a thread with the rights of a
	// runner's supervisor that is init of a namespace can make and change them.
	MountNamespace, NetNamespace bool
	// StopAtStart says whether a command can be stopped at its first instruction.
	StopAtStart bool
	// Missing says of each layer that is missing why, and what would help.
	Missing []string
}

// A Gap is something that cannot be enforced.
type Gap struct {
	What string // as the end of "not enforced:"
	Why  string
	Help string // what would change that, for whoever runs the server
}

func (g Gap) String() string { return g.What + " cannot be enforced: " + g.Why + "; " + g.Help }
