//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// programs are those of testdata that tests run, built when they are first needed.
var programs = struct {
	sync.Mutex
	dir   string
	built []string
}{}

// built returns the path of a program of testdata, which anybody may run.
func built(t *testing.T, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "e2e-programs-")
		must(t, err)
		must(t, os.Chmod(dir, 0o755))
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if !slices.Contains(programs.built, name) {
		cmd := exec.Command("go", "build", "-trimpath", "-o", path, "../"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		programs.built = append(programs.built, name)
	}
	return path
}

// TestMain removes the programs that tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}
