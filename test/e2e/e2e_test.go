// Package e2e tests the built binary from outside: its processes, its memory,
// and what is left when it is killed. make test runs it; TOOLSERVER names the
// binary, and FIXTURE that of test/fixture, which has more tools.
package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func binary() string {
	return os.Getenv("TOOLSERVER")
}

// server is a running binary that is talked to over stdio.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	lastID int
}

// start starts the binary with almost no environment, as desktop clients do.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.Command(binary(), append([]string{"serve", "--stdio"}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		s.in.Close()
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
	return s
}

// send sends a call and returns its id.
func (s *server) send(tool string, args any) int {
	s.t.Helper()
	s.lastID++
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.lastID, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", msg); err != nil {
		s.t.Fatal(err)
	}
	return s.lastID
}

// answer is what tests look at of an answer.
type answer struct {
	ID     int
	Result struct {
		Content           []struct{ Text string }
		StructuredContent map[string]any
		IsError           bool
		Meta              map[string]any `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func (s *server) receive() answer {
	s.t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		s.t.Fatalf("standard output has %q: %v", line, err)
	}
	return a
}

func (s *server) call(tool string, args any) answer {
	s.t.Helper()
	s.send(tool, args)
	return s.receive()
}

func (a answer) text() string {
	if a.Error != nil {
		return a.Error.Message
	}
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// status reads a number in kB, or a count, from /proc.
func (s *server) status(key string) int {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	s.t.Fatalf("no %s in /proc", key)
	return 0
}

// marked returns the processes whose command line holds marker.
func marked(t *testing.T, marker string) (pids []string) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(entries) == 0 {
		t.Skip("no /proc here")
	}
	for _, path := range entries {
		b, _ := os.ReadFile(path)
		if strings.Contains(string(b), marker) {
			pids = append(pids, strings.Split(path, "/")[2])
		}
	}
	return pids
}

// gone waits until no process holds marker.
func gone(t *testing.T, marker string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for len(marked(t, marker)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", marked(t, marker))
		}
		time.Sleep(5 * time.Millisecond)
	}
}
