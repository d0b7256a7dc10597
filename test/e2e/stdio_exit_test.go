package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ends are the ways a server is told to end.
var ends = []struct {
	name string
	do   func(*program)
}{
	{"end of input", func(w *program) { w.in.Close() }},
	{"SIGTERM", func(w *program) { w.cmd.Process.Signal(syscall.SIGTERM) }},
	{"SIGINT", func(w *program) { w.cmd.Process.Signal(syscall.SIGINT) }},
	{"SIGHUP", func(w *program) { w.cmd.Process.Signal(syscall.SIGHUP) }},
	{"SIGKILL", func(w *program) { w.cmd.Process.Kill() }},
}

// soon is how long a server may take to end, besides the grace.
const soon = 5 * time.Second

// TestStdioExit checks that the server ends when it should, by itself, soon, and
// with all its processes.
func TestStdioExit(t *testing.T) {
	for _, end := range ends {
		if end.name == "SIGKILL" {
			continue
		}
		for _, state := range []struct {
			name   string
			config string
			grace  time.Duration
			call   bool
		}{
			{"idle", "", 0, false},
			{"with a call", "server: {grace: 300ms}\n", 300 * time.Millisecond, true},
			{"with a call and the usual grace", "", 5 * time.Second, true},
		} {
			t.Run(end.name+", "+state.name, func(t *testing.T) {
				t.Parallel()
				exe, marker := own(t, binary()), newMarker()
				config, _ := configured(t, state.config)
				w := open(t, exe, "--config", config)
				w.ping()
				if state.call {
					w.send(bash("1", detached(marker)+"sleep 1000."+marker))
					sleeping(t, marker, 4)
				}
				start := time.Now()
				end.do(w.program)
				w.end()
				if took := time.Since(start); took < state.grace || took > state.grace+soon {
					t.Errorf("the server ends after %v; its grace is %v", took, state.grace)
				}
				if code := w.cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("exit code %d", code)
				}
				gone(t, marker)
				ended(t, exe)
				w.rest() // is no more to come: nothing holds the output
			})
		}
	}
}

// TestStdioParentDies kills the process that has started the server, which gets
// neither a signal nor the end of its input by that.
func TestStdioParentDies(t *testing.T) {
	for _, call := range []bool{false, true} {
		t.Run(fmt.Sprintf("call %t", call), func(t *testing.T) {
			t.Parallel()
			exe, marker := own(t, binary()), newMarker()
			config, _ := configured(t, "server: {grace: 300ms}\n")
			// Not its last command, or the shell would become the server.
			w := launch(t, "sh", "-c", `"$0" "$@"; exit $?`, exe, "serve", "--stdio", "--config", config)
			w.ping()
			if call {
				w.send(bash("1", detached(marker)+"sleep 1000."+marker))
				sleeping(t, marker, 4)
			}
			w.cmd.Process.Kill()
			start := time.Now()
			w.end() // the shell
			ended(t, exe)
			if took := time.Since(start); took > 300*time.Millisecond+soon {
				t.Errorf("the server ends %v after its parent", took)
			}
			gone(t, marker)
			w.rest()
		})
	}
}

// TestStdioStuckClient ends servers whose client has stopped reading: they must
// not wait until what they have to say is read. The end of the input comes after
// what they cannot read before that.
func TestStdioStuckClient(t *testing.T) {
	for _, end := range ends {
		if end.name == "end of input" {
			continue
		}
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			exe, marker := own(t, binary()), newMarker()
			config, _ := configured(t, "server: {grace: 300ms}\n")
			unread, stdout, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer unread.Close()
			p := spawn(t, stdout, nil, exe, "serve", "--stdio", "--config", config)
			_, err = io.WriteString(p.in, bash("1", detached(marker)+"sleep 1000."+marker)+"\n")
			must(t, err)
			sleeping(t, marker, 4)
			// What cannot answer does not read for ever.
			for err == nil {
				p.in.SetWriteDeadline(time.Now().Add(time.Second))
				_, err = io.WriteString(p.in, request("2", "tools/list", "{}")+"\n")
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			end.do(p)
			// The grace, and the time for what is left to be read.
			if took := p.end(); took > 300*time.Millisecond+2*soon {
				t.Errorf("the server ends after %v", took)
			}
			gone(t, marker)
			ended(t, exe)
		})
	}
}

// TestStdioNoOrphans ends 100 servers at random moments, in every way there is,
// and looks for what they leave.
func TestStdioNoOrphans(t *testing.T) {
	t.Parallel()
	const workers, rounds = 4, 25
	var hit atomic.Int64 // rounds in which the command ran
	t.Run("side by side", func(t *testing.T) {
		for worker := range workers {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				exe := own(t, binary())
				config, _ := configured(t, "server: {grace: 20ms}\n")
				for round := range rounds {
					orphans(t, exe, config, worker*rounds+round, &hit)
				}
			})
		}
	})
	t.Logf("in %d of %d rounds the command ran", hit.Load(), workers*rounds)
	if hit.Load() < workers*rounds/4 {
		t.Error("those are too few to tell anything")
	}
}

// orphans is one round: the end comes at any moment from the start on, or, in
// every other round, at any moment after the first sign of the command.
func orphans(t *testing.T, exe, config string, round int, hit *atomic.Int64) {
	t.Helper()
	end, marker := ends[round%len(ends)], newMarker()
	w := open(t, exe, "--config", config)
	defer w.in.Close()
	w.send(bash("1", fmt.Sprintf("sleep 1000.%[1]s & MARK=%[1]s setsid sleep 1000.%[1]s & sleep 1000.%[1]s", marker)))
	if round/len(ends)%2 == 0 {
		eventually(t, "the command is there", func() bool { return len(marked(t, marker)) > 0 })
	}
	time.Sleep(rand.N(40 * time.Millisecond)) // the moment is what is random here
	if len(marked(t, marker)) > 0 {
		hit.Add(1)
	}
	end.do(w.program)
	w.end()
	gone(t, marker)
	ended(t, exe)
	if left := marked(t, marker); len(left) > 0 { // a supervisor that was alive till now may have started it
		t.Errorf("round %d (%s): %v came later", round, end.name, left)
	}
}
