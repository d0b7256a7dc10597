package process

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// GoOnThread runs f in a goroutine on a thread of its own, which ends with f and all that
// f has done to it. It is never the first thread of the process, which does not end, and
// whose restrictions /proc shows as those of the process: a command that has the same could
// read and trace the process.
func GoOnThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // not the first thread, which is taken
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// Hide keeps other processes of the same user from reading the memory and
// the environment of this one.
func Hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
