package sandbox

import (
	"testing"

	"toolserver/sandbox/runner"
)

// newKernel returns a kernel layer for commands that are judged and not run.
func newKernel(t testing.TB) *Kernel {
	t.Helper()
	r := runner.New(runner.Options{})
	t.Cleanup(r.Close)
	return NewKernel(r)
}
