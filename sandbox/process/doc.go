// Package process starts processes and terminates them with everything they
// started. It does not decide whether a program may run.
//
// # Process trees
//
// On Linux a process is started by a supervisor: this program's own executable,
// run again in a hidden mode ([IsSupervisor], [Supervise]), one for every process
// tree in flight and used again for the next one. No process survives, because
//
//   - with [MethodNamespace] the supervisor is init of its own PID namespace
//     (pid_namespaces(7)), with a /proc of its own where the kernel allows the mount.
//     kill(-1, SIGKILL) from it reaches every process at one instant, whatever its
//     session, group or parent, and the namespace ends with the supervisor;
//   - with [MethodSubreaper], where namespaces are refused, it is the child subreaper
//     (PR_SET_CHILD_SUBREAPER, prctl(2)) that inherits every orphan below it, and it
//     kills its descendants until it has none.
//
// The program is a child of the supervisor and never process 1 itself: init ignores
// signals without a handler, so a shell that was init would survive `kill -TERM $$`.
// A supervisor kills what runs below it when the server is gone, even by SIGKILL: it
// holds one end of a socket whose other end only the server has, and as init of a
// namespace it is also killed at the server's death (PR_SET_PDEATHSIG).
//
// Elsewhere, and without [Options.Supervisor], a program runs in a session of its own
// and its process group is killed ([MethodGroup]), or, on Windows, in a job object
// that ends with its last handle ([MethodJobObject]).
//
// # Bounds
//
// [Bounds] are of a process tree. If a cgroup of version 2 with the controllers pids
// and memory is delegated to the server, as systemd does with Delegate=yes, and the
// server is alone in it, each supervisor gets a cgroup below it ([BoundsCgroup]). The
// server moves to one of its own there, because only leaves may have processes. All
// are removed with the [Launcher], or by the next server. Otherwise the supervisor
// reads /proc ([BoundsWatched]), at intervals that depend on how much is left, with a
// real-time priority where it may take one, as root may. It always reads what is
// written to disks, which no controller counts when it is written. A process that
// hides its files in /proc from its user (PR_SET_DUMPABLE) then counts once it has
// ended, and its memory files not at all, unless the supervisor is root.
//
// # What is not promised
//
// With MethodSubreaper a program can kill its supervisor, and then what left its
// process group lives on; and without real-time priority, many processes that fork,
// each in a session of its own, may outrun the bounds and the killing. Confinement
// that forbids signals out of its own domain prevents the first, and a cgroup both.
// With MethodGroup a process that calls setsid(2) is out of reach. With
// MethodNamespace and no root, files of other users show as owned by nobody, and
// set-user-ID programs gain nothing.
package process
