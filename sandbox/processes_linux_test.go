package sandbox

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// newProcesses returns a policy's sandbox in which upstream holds processes and reader
// filters files, and a runner for at most one command.
func newProcesses(t *testing.T, p Policy) (*Sandbox, *runner.Runner) {
	t.Helper()
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	l := process.NewLauncher(process.Options{Supervisor: self})
	t.Cleanup(l.Close)
	r := runner.New(l, runner.Options{MaxConcurrent: 1})
	t.Cleanup(r.Close)
	k := NewKernel(r)
	t.Cleanup(func() { k.Close() })
	p.Owners = append([]Owner{
		{Tool: "upstream", Holds: true, Reads: "read_file", Writes: "write_file"},
		{Tool: "reader", Reads: "read_file", Filters: []string{"sh", "no-such-program"}},
	}, owners...)
	s, err := New(p, k)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// A long-lived process is confined as commands are, and takes no place from them,
// nor they from it.
func TestProcesses(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, r := newProcesses(t, Policy{WorkingDirectory: dir})
	job, err := r.Start(t.Context(), "session", runner.Request{Shell: "sleep 1000"}) // all places are taken
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join("/var/tmp", filepath.Base(dir)+rand.Text()) // not in /tmp, of which commands have their own
	t.Cleanup(func() { os.Remove(outside) })
	const script = `while read file; do if echo x 2>/dev/null >"$file"; then echo "wrote as $NAME"; else echo refused; fi; done`
	request := ProcessRequest{Argv: []string{"sh", "-c", script}, Env: map[string]string{"NAME": "upstream"}}
	for _, unconfined := range []bool{false, true} {
		request.Unconfined = unconfined
		child, err := s.For("upstream").Processes().Start(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		defer child.Close()
		answers := bufio.NewScanner(child.Stdout)
		for file, want := range map[string]string{"inside": "wrote as upstream", outside: "refused"} {
			if file == outside && (unconfined || !s.commands["upstream"].Confined()) {
				want = "wrote as upstream"
			}
			io.WriteString(child.Stdin, file+"\n")
			if !answers.Scan() || answers.Text() != want {
				t.Errorf("unconfined %t, %s: %q; want %q", unconfined, file, answers.Text(), want)
			}
		}
	}
	job.Stop()
	if res, err := r.Run(t.Context(), runner.Request{Shell: "true"}); err != nil || res.Code != 0 { // beside the children
		t.Errorf("%+v %v", res, err)
	}
	if _, err := s.For("upstream").Commands().Run(t.Context(), CommandRequest{Command: "true"}); !errors.Is(err, errNoCommands) {
		t.Errorf("it runs commands, which it does not declare: %v", err)
	}
	if _, err := s.For("bash").Processes().Start(t.Context(), request); err == nil || !strings.Contains(err.Error(), "does not declare") {
		t.Errorf("a tool that does not declare it holds processes: %v", err)
	}
}
