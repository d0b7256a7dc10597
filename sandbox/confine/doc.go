// Package confine restricts a command by what the Linux kernel offers, so that
// what policy forbids fails whatever the text of the command was.
//
// A [Spec] says what a command may do. [Spec.Encode] resolves its paths and
// turns it into bytes, once for a policy; [Confiner] restricts the calling thread by
// them and starts commands from it. The layers are:
//
//   - Landlock (landlock(7)): which files may be read, written and started, TCP,
//     and signals and abstract sockets out of the command. It cannot subtract from
//     a directory, and does not know modes, owners, times and attributes.
//   - A mount namespace: all is read-only except the write paths, also for calls
//     Landlock does not know; Deny and ReadOnly are mounts of their own; with an
//     Exec list nothing that can be written can be run, also not by the dynamic
//     loader; and shared memory, semaphores and queues are the command's own. It
//     requires CAP_SYS_ADMIN on the calling thread.
//   - A network namespace for [Loopback].
//   - seccomp(2): socket families, and calls that no layer above governs: ptrace,
//     io_uring, namespaces, keys, BPF and the like; without a mount namespace also
//     every change of metadata.
//   - No new privileges, and of root's capabilities only those about files,
//     identities and signals.
//   - Resource limits, set while the command is stopped at its first instruction.
//
// [Spec.Missing] returns what a system cannot enforce, which makes Start fail
// unless [Spec.BestEffort] is set. An invalid spec, or a step that fails, means
// that the command is not started.
//
// The thread starts one command after the other, because to restrict it costs more than a
// command: as long as the spec is the same, what it names is what it was, nothing was
// mounted on the machine, and no command left shared memory, semaphores or queues. Until
// its supervisor ends, within a minute without commands, it keeps file systems in use
// that were mounted.
//
// # What is not promised
//
// A file with a hard link where it may be read can be read there. ReadOnly and Deny
// hold for what exists when the command starts; one that is missing can be made.
// With an Exec list, a program may still run code of its own kind (a shell its
// scripts), and the dynamic loader runs programs that are not in the list from a
// directory of Read which is not in the server's PATH, or from among libraries.
// Without a mount namespace System V IPC is shared with other processes of the same
// user, and names in a denied directory can be listed. Limits are per process.
package confine
