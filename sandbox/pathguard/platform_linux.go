package pathguard

import "sync"

// openedProc returns the one /proc/self/fd that all guards of the process use, so
// that a Guard that is closed leaves no descriptor open.
var openedProc = sync.OnceValues(openProc)

// platformAnchor returns how allowed directories are opened: through openat2,
// or through [os.Root] where a seccomp filter refuses openat2, the kernel is
// older than 5.6, or /proc is not mounted.
func platformAnchor() func(real string) (dir, error) {
	proc, err := openedProc()
	if err != nil {
		return openPortable
	}
	return func(real string) (dir, error) { return openKernel(proc, real) }
}

// foreignName refuses names that mean something else than a file to the
// operating system. There are none here.
func foreignName(string) string { return "" }
