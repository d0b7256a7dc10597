// Package runner starts commands and keeps what they cost within bounds: their
// output, their time, and the life of every process they leave behind. It does
// not decide whether a command may run.
//
// # Where a command runs
//
// On Linux a command is started by a supervisor: this program's own executable,
// run again in a hidden mode ([IsSupervisor], [Supervise]), one for every
// command in flight and used again for the next one. The supervisor is what
// makes "no process survives" true, in one of two ways:
//
//   - [MethodNamespace]: it is init, process 1, of its own PID namespace
//     (pid_namespaces(7)), with a /proc of its own where the kernel allows the
//     mount. kill(-1, SIGKILL) from it reaches every process of the command at
//     one instant, whatever session, group or parent the process has chosen.
//     If the supervisor itself ends, the kernel ends the namespace.
//   - [MethodSubreaper]: where namespaces are refused, it is the child
//     subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)) that inherits every orphan
//     below it, and it kills its descendants until it has none.
//
// The command is an ordinary child of that process and never process 1 itself.
// Init ignores signals it has not asked for, so a shell that was init would
// survive `kill -TERM $$`, and abort(3) would end with the wrong signal. An
// init between the two, made anew for every command, would cost one exec more
// each time; keeping it costs a message instead.
//
// A supervisor ends what runs below it when the server is gone, however it went:
// it holds one end of a socket whose other end only the server has, and as init of
// a namespace it has also asked to be killed at the server's death
// (PR_SET_PDEATHSIG).
//
// Elsewhere, and on Linux when [Options.Supervisor] is empty, a command runs in
// a session of its own and its process group is killed ([MethodGroup]), or, on
// Windows, in a job object that ends with its last handle ([MethodJobObject]).
//
// # Bounds
//
// [Bounds] are of a command, not of a process. They are kept in one of two ways:
//
//   - [BoundsCgroup]: where a cgroup of version 2 with the controllers pids and
//     memory is delegated to the server, as systemd does for a service that has
//     Delegate=yes, and the server is alone in it, each supervisor gets one below
//     it, and the kernel refuses what is beyond. The server moves to one of its own
//     there, because only leaves may have processes. All are removed with the
//     [Runner], or when the next server starts.
//   - [BoundsWatched]: else the supervisor looks at what its /proc shows, at moments
//     that depend on how much is left. It has precedence over all other processes
//     where it may take it, as root may, so that it can act among thousands that
//     fork.
//
// Either way the command is killed as a whole, and [Result.Exceeded] says why.
//
// # What is not promised
//
// With MethodSubreaper a command runs among the server's own processes under the
// same user: one that sets out to can kill its supervisor, and then what left its
// process group lives on; and where the supervisor may not take precedence, many
// processes that fork, each in a session of its own, may outrun the bounds and the
// killing. Confinement that forbids signals out of the command's own domain closes
// the one, and a cgroup both. With MethodGroup a process that
// calls setsid(2) is out of reach. With MethodNamespace and no root, the
// namespace maps only the server's own user: files of others show as owned by
// nobody, and set-user-ID programs gain nothing.
package runner
