package runner

import (
	"os"
	"syscall"
)

// supervisorName is argv[0] of a supervisor. A name and not a variable: the
// environment would reach the commands.
const supervisorName = "toolserver: supervisor"

// A Confiner restricts a command, as its supervisor is about to start it. It
// gets the Confine bytes of the request and may change attr or restrict the
// calling thread, for example with landlock_restrict_self(2): it is called on an
// operating system thread that starts this one command and then ends. Its error
// fails the command, which is not started.
type Confiner func(spec []byte, attr *syscall.SysProcAttr) error

// IsSupervisor says whether this process was started to be a supervisor. Then
// main calls [Supervise] and nothing else.
func IsSupervisor() bool { return len(os.Args) == 2 && os.Args[0] == supervisorName }
