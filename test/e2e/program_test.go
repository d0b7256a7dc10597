package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// program is a running program. Its streams are files, so that waiting for it does
// not wait for what it leaves behind.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *os.File
	exited chan struct{}
	stderr string // the temporary file that gets it, if it does
}

// spawn starts a program with almost no environment, as desktop clients do, and
// closes the files that are its standard output and error; if nil these are the null
// device and a temporary file. It must not break: net/http, for one, hides panics
// from clients.
func spawn(t *testing.T, stdout, stderr *os.File, argv ...string) *program {
	t.Helper()
	stdin, in, err := os.Pipe()
	must(t, err)
	defer stdin.Close()
	if stdout == nil {
		stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		must(t, err)
	}
	defer stdout.Close()
	path := ""
	if stderr == nil {
		stderr, err = os.CreateTemp(t.TempDir(), "stderr")
		must(t, err)
		path = stderr.Name()
	}
	defer stderr.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(covered.Env(), "PATH="+os.Getenv("PATH"), "HOME=/nonexistent")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	must(t, cmd.Start())
	p := &program{t: t, cmd: cmd, in: in, exited: make(chan struct{}), stderr: path}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // the state has it all
	}()
	t.Cleanup(func() {
		p.kill()
		log := p.log()
		for _, sign := range []string{"http: panic", "\npanic: ", "fatal error: ", "DATA RACE"} {
			if strings.Contains(log, sign) {
				t.Errorf("the program broke: %q", sign)
			}
		}
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", argv, log)
		}
	})
	return p
}

// kill ends the program if it still runs.
func (p *program) kill() {
	p.in.Close()
	p.cmd.Process.Kill()
	<-p.exited
}

// end waits for the program to end, and returns how long that takes.
func (p *program) end() time.Duration {
	p.t.Helper()
	start := time.Now()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatal("the server does not end")
	}
	return time.Since(start)
}

// succeeded waits for the program to end with success.
func (p *program) succeeded() {
	p.t.Helper()
	p.end()
	if !p.cmd.ProcessState.Success() {
		p.t.Errorf("the program ended with %v", p.cmd.ProcessState)
	}
}

func (p *program) log() string {
	if p.stderr == "" {
		return ""
	}
	b, err := os.ReadFile(p.stderr)
	must(p.t, err)
	return string(b)
}

// status reads a number in kB, or a count, from /proc.
func (p *program) status(key string) int {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			must(p.t, err)
			return n
		}
	}
	p.t.Fatalf("no %s in /proc", key)
	return 0
}

// processes returns those whose file of a name in /proc meets the condition.
func processes(t *testing.T, file string, is func(path string) bool) (pids []string) {
	t.Helper()
	proc, err := os.Open("/proc")
	if err != nil {
		t.Skip("no /proc here")
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	must(t, err)
	for _, pid := range names {
		if pid[0] >= '0' && pid[0] <= '9' && is("/proc/"+pid+"/"+file) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// marked returns the processes whose command line holds marker.
func marked(t *testing.T, marker string) []string {
	t.Helper()
	return processes(t, "cmdline", func(path string) bool {
		b, _ := os.ReadFile(path)
		return strings.Contains(string(b), marker)
	})
}

// gone waits until no process holds marker.
func gone(t *testing.T, marker string) {
	t.Helper()
	eventually(t, "no process has the marker", func() bool { return len(marked(t, marker)) == 0 })
}

var unique atomic.Int64

// newMarker returns a fraction of seconds that no other command sleeps.
func newMarker() string { return fmt.Sprintf("%d%06d7", os.Getpid(), unique.Add(1)) }

// own returns a path of a binary that is the test's own, by which its processes can be
// told from those of others.
func own(t *testing.T, binary string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as the kernel names it
	must(t, err)
	path := filepath.Join(dir, "toolserver")
	must(t, os.Link(made(t, "copy of "+filepath.Base(binary), func(path string) *exec.Cmd { return exec.Command("cp", binary, path) }), path))
	return path
}

// running returns the processes that run the binary: a server, its supervisors.
func running(t *testing.T, binary string) []string {
	t.Helper()
	return processes(t, "exe", func(path string) bool {
		exe, _ := os.Readlink(path)
		return exe == binary
	})
}

// ended waits until no process runs the binary.
func ended(t *testing.T, path string) {
	t.Helper()
	eventually(t, "every process of the server ends", func() bool { return len(running(t, path)) == 0 })
}

// eventually waits for something that must come.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(patience); !so(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		pause = min(2*pause, 50*time.Millisecond) // looking costs what the tests beside this one need
	}
}
