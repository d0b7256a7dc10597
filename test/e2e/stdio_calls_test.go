package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestStdioEndOfInput checks what becomes of calls under way when the input
// ends.
func TestStdioEndOfInput(t *testing.T) {
	t.Run("a slow call is answered", func(t *testing.T) {
		for _, call := range []string{bash("7", "sleep 0.4; echo done"), modern(bash("7", "sleep 0.4; echo done"))} {
			got := play(t, call, t.TempDir())
			if len(got) != 1 || string(got[0].ID) != "7" || !strings.Contains(string(got[0].Result), `"text":"done"`) {
				t.Errorf("%d answers: %s", len(got), got)
			}
		}
	})
	t.Run("50 calls are answered", func(t *testing.T) {
		// The grace is long since 50 processes are much for a slow machine.
		config, _ := configured(t, "server: {grace: 50s}\n")
		var input strings.Builder
		for i := range 50 {
			input.WriteString(bash(strconv.Itoa(i), fmt.Sprintf("sleep 0.2; echo done %d", i)) + "\n")
		}
		answered := map[string]bool{}
		for _, r := range play(t, input.String(), "--config", config) {
			if !strings.Contains(string(r.Result), fmt.Sprintf(`"text":"done %s"`, r.ID)) {
				t.Errorf("got %s", r.Raw)
			}
			answered[string(r.ID)] = true
		}
		if len(answered) != 50 {
			t.Errorf("%d of 50 calls are answered", len(answered))
		}
	})
	t.Run("a call longer than the grace ends", func(t *testing.T) {
		exe := own(t, binary())
		config, _ := configured(t, "server: {grace: 300ms}\n")
		marker := newMarker()
		w := open(t, exe, "--config", config)
		w.send(bash("1", detached(marker)+"sleep 1000."+marker))
		sleeping(t, marker, 4)
		start := time.Now()
		w.in.Close()
		w.end()
		took := time.Since(start)
		if took < 300*time.Millisecond || took > 5*time.Second {
			t.Errorf("the server ends after %v; its grace is 300ms", took)
		}
		gone(t, marker)
		ended(t, exe)
		for _, r := range w.rest() {
			if r.Error == nil && !strings.Contains(string(r.Result), `"isError":true`) {
				t.Errorf("got %s", r.Raw)
			}
		}
	})
}

// sleeping waits until so many processes with the marker sleep, and returns
// them.
func sleeping(t *testing.T, marker string, n int) (pids []string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d processes sleep", n), func() bool {
		pids = slices.DeleteFunc(marked(t, "1000."+marker), func(pid string) bool {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			return string(name) != "sleep\n"
		})
		return len(pids) >= n
	})
	return pids
}

// TestStdioPingBehindStarts checks that a ping does not wait until the commands before it
// have been analyzed, here to be denied.
func TestStdioPingBehindStarts(t *testing.T) {
	const calls = 200
	config, _ := configured(t, "tools: {bash: {denied_commands: [cat]}}\n")
	w := open(t, binary(), "--config", config)
	w.handshake("2025-11-25")
	var lines strings.Builder
	for i := range calls {
		lines.WriteString(bash(strconv.Itoa(i), strings.Repeat("true; ", 1000)+"cat denied") + "\n")
	}
	go io.WriteString(w.in, lines.String()+request(`"p"`, "ping", "{}")+"\n") // the answer tells if it fails
	w.answer(`"p"`)
	if earlier := len(w.before); earlier > calls/4 {
		t.Errorf("%d of %d calls were answered before the ping behind them", earlier, calls)
	}
}

// TestStdioQueue checks that 200 calls in line delay neither a ping nor the end
// of a call that is taken back, and that those in line can be taken back.
func TestStdioQueue(t *testing.T) {
	const calls = 200
	const limit = 50 * time.Millisecond // a requirement
	config, _ := configured(t, "limits: {per_tool: 4, queue_wait: 10m}\n")
	marker := newMarker()
	w, idle := open(t, binary(), "--config", config), open(t, binary(), "--config", config)
	ids := map[string]bool{}
	for i := range calls {
		id := fmt.Sprintf(`"%03d"`, i)
		w.send(bash(id, fmt.Sprintf("exec sleep 1000.%s%03d", marker, i)))
		ids[id] = true
	}
	idle.ping()
	w.ping()
	sleeping(t, marker, 4)

	// A machine that has much else to do can be late: the best of some tries
	// counts, and none does in which a server with nothing to do is late too.
	bestPing, bestCancel, tries := time.Hour, time.Hour, 0
	for try := 0; tries < 3 && try < 30 && max(bestPing, bestCancel) > limit; try++ {
		var pings, idlePings []time.Duration
		for range 20 {
			pings, idlePings = append(pings, w.ping()), append(idlePings, idle.ping())
		}
		slices.Sort(pings)
		slices.Sort(idlePings)
		running := sleeping(t, marker, 4)[0]
		id, took := takeBack(t, w, running, marker)
		delete(ids, id)
		t.Logf("pings: median %v, max %v (without calls %v, %v); a canceled call has ended after %v",
			pings[10], pings[19], idlePings[10], idlePings[19], took)
		bestPing, bestCancel = min(bestPing, pings[19]), min(bestCancel, took)
		if idlePings[19] < limit/2 {
			tries++
		}
	}
	if tries == 0 {
		t.Log("this machine is too busy to tell")
	} else if bestPing > limit || bestCancel > limit {
		t.Errorf("a ping takes %v, the end of a canceled call %v; at most %v are allowed", bestPing, bestCancel, limit)
	}

	for id := range ids {
		w.send(cancel(id))
	}
	w.ping()
	gone(t, marker)
	w.in.Close()
	w.end()
	if silent := append(w.before, w.rest()...); len(silent) > 0 {
		t.Errorf("%d canceled calls are answered, one with %s", len(silent), silent[0].Raw)
	}
}

// takeBack cancels the call that runs a process, and returns its id and how
// long it takes until the process has ended.
func takeBack(t *testing.T, w *wire, pid, marker string) (id string, took time.Duration) {
	t.Helper()
	dir := "/proc/" + pid
	cmdline, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := strings.Cut(strings.TrimRight(string(cmdline), "\x00"), marker)
	start := time.Now()
	w.send(cancel(`"` + number + `"`))
	for { // one without processes has ended, be it waited for or not
		if b, err := os.ReadFile(dir + "/cmdline"); err != nil || len(b) == 0 {
			return `"` + number + `"`, time.Since(start)
		}
		if time.Since(start) > patience {
			t.Fatalf("the canceled call %s goes on", number)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestStdioCancel checks that a call that is taken back gives no answer and
// leaves no process, running or in line.
func TestStdioCancel(t *testing.T) {
	plain := func(request string) string { return request }
	for era, in := range map[string]func(string) string{"legacy": plain, "modern": modern} {
		t.Run(era+", running", func(t *testing.T) {
			exe := own(t, binary())
			w := open(t, exe, t.TempDir())
			for i, id := range []string{"1", `"a"`, "9007199254740993", `"\u0061\/"`, `"é"`} {
				marker := newMarker()
				w.send(in(bash(id, detached(marker)+"trap '' TERM; sleep 1000."+marker+"; sleep 1000."+marker)))
				sleeping(t, marker, 4)
				w.send(cancel(id))
				gone(t, marker)
				after := strconv.Itoa(100 + i)
				w.send(in(bash(after, "echo after")))
				if r := w.answer(after); !strings.Contains(string(r.Result), "after") {
					t.Errorf("got %s", r.Raw)
				}
				eventually(t, "the call is forgotten", func() bool { // its id is free once more
					w.send(in(bash(id, "echo again")))
					return strings.Contains(string(w.answer(id).Result), "again")
				})
			}
			w.in.Close()
			w.end()
			if silent := append(w.before, w.rest()...); len(silent) > 0 {
				t.Errorf("a canceled call is answered with %s", silent[0].Raw)
			}
			ended(t, exe)
		})
		t.Run(era+", in line", func(t *testing.T) {
			config, dir := configured(t, "limits: {per_tool: 1, queue_wait: 10m}\n")
			w := open(t, binary(), "--config", config)
			w.send(in(bash("1", "touch started; until [ -e go ]; do sleep 0.01; done; echo done")))
			eventually(t, "the first call runs", func() bool {
				_, err := os.Stat(filepath.Join(dir, "started"))
				return err == nil
			})
			w.send(in(bash("2", "touch ran")))
			w.send(in(bash("3", "echo last")))
			w.send(cancel("2"))
			w.send(in(request("4", "tools/call", `{"name":"echo","arguments":{}}`)))
			w.answer("4") // by now the server has read what came before
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := w.answer("3"); !strings.Contains(string(r.Result), "last") {
				t.Errorf("got %s", r.Raw)
			}
			w.in.Close()
			w.end()
			if all := append(w.before, w.rest()...); len(all) != 1 || string(all[0].ID) != "1" {
				t.Errorf("got %s", all)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("the canceled call has run")
			}
		})
	}
}

// TestStdioCancelAtOnce takes calls back in the same breath: whoever serves the
// call, the cancellation behind it must find it.
func TestStdioCancelAtOnce(t *testing.T) {
	const calls = 500
	w, marker := open(t, binary(), t.TempDir()), newMarker()
	for i := range calls {
		id := strconv.Itoa(i)
		w.write(bash(id, "exec sleep 1000."+marker) + "\n" + cancel(id) + "\n")
	}
	w.ping()
	gone(t, marker)
	w.in.Close()
	w.end()
	if silent := append(w.before, w.rest()...); len(silent) > 0 {
		t.Errorf("%d canceled calls are answered, one with %s", len(silent), silent[0])
	}
}
