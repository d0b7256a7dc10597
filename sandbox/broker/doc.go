// Package broker creates and opens files for a command, so that the names of what
// comes to exist are decided on and not only the files that exist already.
//
// A seccomp filter of the command suspends each call that can create a name or open
// a file for writing, and notifies the broker (seccomp_unotify(2)). The broker reads
// the arguments, finds the file without following what could change meanwhile, checks
// its name, and makes the call itself: it never lets the suspended call go on, because
// another thread of the command could change the arguments then. It runs on a thread
// that is confined as the command is, so that it can do no more than the command may.
//
// Two things are protected. [Rules.Names] are names of files, wherever they are. And
// what git runs in a repository: hooks, and programs that its configuration names. A
// repository is recognised by what is in it, whatever it is called, and its
// configuration can be replaced, as git does it, by one that adds no setting but those
// known to run nothing; see [AddsProgram].
//
// # What is not promised
//
// Files that exist can be removed, and their mode and times changed, where the command
// may write. Reading is not the broker's concern.
package broker
