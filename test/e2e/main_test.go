// Package e2e tests the built binary from outside: its processes, its memory,
// and what is left when it is killed. make test runs the tests that core.txt lists,
// make verify the others; TOOLSERVER names the binary, and FIXTURE that of
// test/fixture, which has more tools.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func binary() string { return os.Getenv("TOOLSERVER") }

// fixtureBinary is the product with tools that fail on purpose.
func fixtureBinary(t *testing.T) string {
	t.Helper()
	return named(t, "FIXTURE")
}

// named returns the program that an environment variable names.
func named(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s names no binary; make test builds it", variable)
	}
	return path
}

// patience is how long a test waits for what should come at once: long enough
// for a machine that has much else to do.
const patience = 60 * time.Second

// programs are those that tests run, made when they are first needed.
var programs = struct {
	sync.Mutex
	dir  string
	made []string
}{}

// built returns the path of a program of testdata, which anybody may run.
func built(t *testing.T, name string) string {
	t.Helper()
	return made(t, name, func(path string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-trimpath", "-o", path, "../"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		return cmd
	})
}

// made returns the path of a program which the first to need it makes. Another process
// does: a program that this one has had open for writing could still be so in what it
// forks meanwhile, and cannot be run then.
func made(t *testing.T, name string, how func(path string) *exec.Cmd) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("/var/tmp", "e2e-programs-") // commands do not see the /tmp of the system
		must(t, err)
		must(t, os.Chmod(dir, 0o755))
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if !slices.Contains(programs.made, name) {
		if out, err := how(path).CombinedOutput(); err != nil {
			t.Fatalf("making %s: %v\n%s", name, err, out)
		}
		programs.made = append(programs.made, name)
	}
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMain runs nothing where TOOLSERVER names no binary, so that go test ./...
// stays fast, and removes the programs that tests have built.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLSERVER") == "" {
		fmt.Println("end-to-end tests not run: TOOLSERVER names no binary; make test builds one and runs them")
		return
	}
	// Commands have a /tmp of their own, in which they do not see that of the system.
	if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
		panic(err)
	}
	// What nohup or a shell in the background has this process ignore, its children would ignore,
	// too, and not end when tests send it. They do not inherit what is caught.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	const home = "/nonexistent" // of servers, who as root make it
	_, missing := os.Lstat(home)
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	if missing != nil {
		_ = os.RemoveAll(home)
	}
	os.Exit(code)
}

// contain checks that a text has all parts.
func contain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not say %q: %.3000s", what, part, text)
		}
	}
}
