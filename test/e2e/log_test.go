//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// streams are what standard error can be if another process reads it. Each has
// its reader first.
var streams = map[string]func() (r, w *os.File, err error){
	"pipe": os.Pipe,
	"socket": func() (r, w *os.File, err error) { // as of Node.js
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, nil, err
		}
		if err := syscall.SetNonblock(fds[0], true); err != nil { // so that reads have deadlines
			return nil, nil, err
		}
		return os.NewFile(uintptr(fds[0]), "reader"), os.NewFile(uintptr(fds[1]), "writer"), nil
	},
}

// logsTo starts a server whose standard error is a stream.
func logsTo(t *testing.T, open func() (r, w *os.File, err error), dir string) (*wire, *os.File) {
	t.Helper()
	r, stderr, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return launchLogging(t, stderr, binary(), "serve", "--stdio", dir), r
}

// echoes makes calls, some at a time, and waits for their answers.
func (w *wire) echoes(calls, atATime int) {
	w.t.Helper()
	for done := 0; done < calls; done += atATime {
		for i := range atATime {
			w.send(request(strconv.Itoa(done+i), "tools/call", `{"name":"echo","arguments":{"message":"hello"}}`))
		}
		for range atATime {
			if r := w.receive(); r.Error != nil {
				w.t.Fatalf("got %s", r.Raw)
			}
		}
	}
}

// callLines returns how many finished calls a log has.
func callLines(log string) int { return strings.Count(log, "\tcall\t") }

// TestLogUnread leaves standard error unread, and then reads it: it reports the
// lines that are missing. SIGTERM ends the server, read or not.
func TestLogUnread(t *testing.T) {
	const calls = 8000
	for name, open := range streams {
		for _, read := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, read %t", name, read), func(t *testing.T) {
				t.Parallel()
				w, stderr := logsTo(t, open, t.TempDir())
				w.echoes(calls/2, 1)
				w.echoes(calls/2, 50)
				w.ping()
				if read {
					got := 0
					stderr.SetReadDeadline(time.Now().Add(patience))
					report := regexp.MustCompile(`log lines were dropped.*"lines":(\d+)`)
					lines := bufio.NewReader(stderr)
					for {
						line, err := lines.ReadString('\n')
						if err != nil {
							t.Fatal(err)
						}
						if m := report.FindStringSubmatch(line); m != nil {
							if dropped, _ := strconv.Atoi(m[1]); got+dropped < calls {
								t.Errorf("%d calls and %d dropped lines for %d calls", got, dropped, calls)
							}
							break
						}
						got += callLines(line)
					}
				}
				w.cmd.Process.Signal(syscall.SIGTERM)
				w.end()
				if code := w.cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		}
	}
}

// TestLogClosed closes the reader of standard error while calls run.
func TestLogClosed(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, stderr := logsTo(t, open, dir)
			w.echoes(10, 1)
			w.send(bash(`"slow"`, "until [ -e go ]; do sleep 0.01; done"))
			stderr.Close()
			w.echoes(100, 1)
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := w.answer(`"slow"`); r.Error != nil {
				t.Errorf("got %s", r.Raw)
			}
			w.send(request("1", "tools/call", `{"name":"no_such_tool"}`)) // logs a warning
			w.receive()
			w.ping()
			w.in.Close()
			w.end()
			if code := w.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestLogFull logs to a full disk.
func TestLogFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	config, _ := configured(t, "logging: {file: /dev/full}\n")
	for _, w := range []*wire{
		launchLogging(t, full, binary(), "serve", "--stdio", t.TempDir()),
		open(t, binary(), "--config", config),
	} {
		w.echoes(500, 1)
		w.echoes(500, 50)
		w.ping()
	}
}

// TestLogSurvives kills the server right after an answer: the log has the calls
// that have been answered.
func TestLogSurvives(t *testing.T) {
	const calls = 120 // which fit into a pipe or a socket that nobody reads
	check := func(t *testing.T, log []byte, err error) {
		t.Helper()
		if got := callLines(string(log)); got != calls || err != nil {
			t.Errorf("the log has %d of %d answered calls, %v", got, calls, err)
		}
	}
	for _, atATime := range []int{1, 40} {
		t.Run(fmt.Sprintf("file, %d at a time", atATime), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "log")
			config, _ := configured(t, fmt.Sprintf("logging: {file: %q}\n", file))
			w := open(t, binary(), "--config", config)
			w.echoes(calls, atATime)
			w.kill()
			log, err := os.ReadFile(file)
			check(t, log, err)
		})
		t.Run(fmt.Sprintf("standard error, %d at a time", atATime), func(t *testing.T) {
			t.Parallel()
			w := open(t, binary(), t.TempDir())
			w.echoes(calls, atATime)
			w.kill()
			check(t, []byte(w.log()), nil)
		})
		for name, open := range streams {
			t.Run(fmt.Sprintf("%s, %d at a time", name, atATime), func(t *testing.T) {
				t.Parallel()
				w, stderr := logsTo(t, open, t.TempDir())
				w.echoes(calls, atATime)
				w.kill()
				log, err := io.ReadAll(stderr)
				check(t, log, err)
			})
		}
	}
	for _, version := range []string{"2025-11-25", modernVersion} {
		t.Run("HTTP "+version, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "log")
			s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), fmt.Sprintf("logging: {file: %q}", file))...)
			p := s.newPeer(t, version, "")
			for range calls {
				p.call(t, "echo", map[string]any{"message": "hello"})
			}
			s.cmd.Process.Kill()
			log, err := os.ReadFile(file)
			check(t, log, err)
		})
	}
}
