//go:build !undecided

package sandbox

// deciding says that commands are checked before they run. Only a build for tests of
// the kernel layer alone (-tags undecided) leaves that out.
const deciding = true
