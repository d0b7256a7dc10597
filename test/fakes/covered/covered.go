// Package covered counts what child processes of tests run, too, which are the same program:
// go test -cover then includes it.
package covered

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/coverage"
	"testing"
	"time"
)

const variable = "GOCOVERDIR"

// Start is called by TestMain, before its tests run. Children find in the environment where
// they count.
func Start() {
	flag.Parse()
	if f := flag.Lookup("test.gocoverdir"); f != nil && f.Value.String() != "" {
		os.Setenv(variable, f.Value.String())
	}
}

// Env returns what a child gets besides its environment.
func Env() (env []string) {
	if dir := os.Getenv(variable); dir != "" {
		env = append(env, variable+"="+dir)
	}
	return env
}

// Args returns the arguments with which this program counts when it runs as another user,
// in a directory of theirs.
func Args(dir string, user int) ([]string, error) {
	if testing.CoverMode() == "" {
		return nil, nil
	}
	counts := filepath.Join(dir, "counts")
	return []string{"-test.gocoverdir=" + counts}, errors.Join(os.Mkdir(counts, 0o755), os.Chown(counts, user, user))
}

// Keep counts what this process runs, which may be killed at any moment.
func Keep() {
	dir := os.Getenv(variable)
	if dir == "" {
		return
	}
	go func() {
		for {
			_ = coverage.WriteCountersDir(dir)
			time.Sleep(50 * time.Millisecond)
		}
	}()
}
