//go:build !linux && !darwin

package confine

import (
	"fmt"
	"runtime"
	"syscall"
)

func unsupported() error {
	return fmt.Errorf("confine a command on %s: %w", runtime.GOOS, ErrUnsupported)
}

// Encode fails: there is no kernel layer for this system.
func (s Spec) Encode() ([]byte, error) { return nil, unsupported() }

// Start fails: there is no kernel layer for this system.
func Start([]byte, string, []string, *syscall.ProcAttr) (int, error) { return 0, unsupported() }

// Probe finds that nothing can be enforced.
func Probe() Support { return Support{} }

// Missing says that nothing of the spec can be enforced.
func (s Spec) Missing(Support) []Gap {
	return []Gap{{"the confinement of commands", "there is no kernel layer for " + runtime.GOOS, "run the server on Linux, or in a Linux container"}}
}

// SideEffects is empty: nothing is enforced.
func (s Spec) SideEffects(Support) []string { return nil }

// ProgramDirs returns nil: it serves to encode a spec.
func ProgramDirs() []string { return nil }

// Wrap fails: there is no kernel layer for this system.
func Wrap(spec []byte, path string, argv []string) (string, []string, error) {
	return "", nil, unsupported()
}
