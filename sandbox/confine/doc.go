// Package confine restricts a command by what the Linux kernel offers, so that
// what policy forbids fails whatever the text of the command was.
//
// A [Spec] says what a command may do. [Spec.Encode] resolves its paths and
// turns it into bytes, once for a policy; [Start], as a runner.Confiner, restricts
// the calling thread by them and starts the command from it. These layers are used:
//
//   - Landlock (landlock(7)): which files may be read, written and started, TCP,
//     and signals and abstract sockets out of the command. It cannot subtract:
//     what is granted on a directory is granted on all below it, and it does not
//     know of modes, owners, times and attributes.
//   - A mount namespace: all is read-only but the write paths, also for calls
//     Landlock does not know; Deny and ReadOnly are mounts of their own; with an
//     Exec list nothing that can be written can be run, also not by the dynamic
//     loader. With it come shared memory, semaphores and queues of the command's
//     own. It takes CAP_SYS_ADMIN on the calling thread, as root has it, or a
//     supervisor in a user namespace.
//   - A network namespace for [Loopback].
//   - seccomp (seccomp(2)): socket families, and calls that no layer above
//     governs: ptrace, io_uring, namespaces, keys, BPF and the like. Where there
//     is no mount namespace it refuses every change of metadata.
//   - No new privileges, and of root's capabilities only those about files,
//     identities and signals.
//   - Resource limits, set while the command is stopped at its first instruction.
//
// What cannot be enforced on a system is told by [Spec.Missing], and makes
// Start fail unless [Spec.BestEffort] is set. It fails closed: a spec that
// cannot be understood, or a step that fails, means no command.
//
// # What is not promised
//
// A file that has a second name (a hard link) where it may be read can be read
// there. ReadOnly and Deny hold for what exists when the command starts; one that
// is missing can be made. With an Exec list, a program may still read and run
// code of its own kind (a shell its scripts), and the dynamic loader runs
// programs that are kept in a directory of Read which is not in the server's PATH,
// or among libraries, such as those of a compiler, even if they are not in the list. Without a mount
// namespace System V IPC is shared with other processes of the same user, and the
// names in a denied directory can be listed. Limits are per process, not per command.
package confine
