//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/toolserver/toolserver/sandbox/process"
)

const (
	sandboxExec = "/usr/bin/sandbox-exec"
	helpLinux   = "run the server on Linux, or in a Linux container"
)

var errSystem = fmt.Errorf("confine a command on %s: %w", runtime.GOOS, ErrUnsupported)

// Encode returns the profile that [Wrap] hands to sandbox-exec(1). It fails on systems
// other than macOS, which have no kernel layer.
func (s Spec) Encode() ([]byte, error) {
	if runtime.GOOS != "darwin" {
		return nil, errSystem
	}
	err := s.resolveLists()
	if s.Exec != nil {
		programs, listErr := realPaths(s.Exec)
		s.Exec, err = append([]string{}, programs...), errors.Join(err, listErr) // an empty list is not none
	}
	if err != nil {
		return nil, fmt.Errorf("confine commands: %w", err)
	}
	return []byte(s.profile()), nil
}

// Wrap returns the program and arguments that start a command within the profile
// that [Spec.Encode] returned.
func Wrap(spec []byte, path string, argv []string) (program string, wrapped []string, err error) {
	if runtime.GOOS != "darwin" {
		return "", nil, errSystem
	}
	return sandboxExec, append([]string{"sandbox-exec", "-p", string(spec), path}, argv[1:]...), nil
}

// Confiner returns nil: there are no supervisors on this system. See [Wrap].
func Confiner() process.Confiner { return nil }

// Probe finds out whether sandbox-exec(1) works.
func Probe() Support {
	works := runtime.GOOS == "darwin" && exec.Command(sandboxExec, "-p", "(version 1)(allow default)", "/usr/bin/true").Run() == nil
	return Support{Seatbelt: works}
}

// Missing says what sandbox-exec does not do.
func (s Spec) Missing(have Support) []Gap {
	if !have.Seatbelt {
		return []Gap{{"the confinement of commands", "no kernel layer works on this system (" + runtime.GOOS + ")", helpLinux}}
	}
	list := []Gap{{"that commands ask no system service to do something for them", "a profile that denied that would break programs", helpLinux}}
	if s.Network == Loopback || s.Network == Proxied {
		list = append(list, Gap{"a loopback interface of the command's own, and a proxy there", "there are no network namespaces on this system", helpLinux})
	}
	if s.Limits != (Limits{}) {
		list = append(list, Gap{"limits", "commands have no supervisor on this system", helpLinux})
	}
	return list
}

// SideEffects is empty: a profile forbids nothing but what the spec does.
func (s Spec) SideEffects(Support) []string { return nil }

// ProgramDirs returns the directories that hold programs: those of the system and
// those in the server's PATH. On Windows there are none.
func ProgramDirs() (dirs []string) {
	seen := map[string]bool{}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin") {
		if path, err := filepath.EvalSymlinks(dir); err == nil && runtime.GOOS != "windows" && filepath.IsAbs(path) && path != "/" && !seen[path] {
			seen[path] = true
			dirs = append(dirs, path)
		}
	}
	return dirs
}
