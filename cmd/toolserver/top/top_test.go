package top

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/live"
)

// fake is a server with calls.
type fake struct {
	pid      int
	started  time.Time
	calls    []live.Call
	canceled []string
}

func (f *fake) Process() live.Process {
	return live.Process{PID: f.pid, Run: fmt.Sprint("run", f.pid), Transport: "stdio", Started: f.started, Directory: "/work"}
}
func (f *fake) Calls() []live.Call { return f.calls }
func (f *fake) Clients() []live.Client {
	return []live.Client{{Name: "a\x1b[2J", Version: "2", Protocol: "2025-11-25", Principal: "user:local", Extensions: []string{"x/y"}, Seen: time.Now()}}
}
func (f *fake) Upstreams() json.RawMessage {
	return json.RawMessage(`[{"name":"u","status":"failed","reason":"gone","tools":3,"missing":1,"failures":4,"left_out":[{}]}]`)
}
func (f *fake) Cancel(id string) error {
	if f.calls[0].ID != id {
		return errors.New("not in flight")
	}
	f.canceled = append(f.canceled, id)
	return nil
}

func opener(dir string) func() (*os.Root, error) {
	return func() (*os.Root, error) { return os.OpenRoot(dir) }
}

// TestTop shows two servers with what the record has, and cancels a call.
func TestTop(t *testing.T) {
	sockets, recorded := t.TempDir(), t.TempDir()
	begun := time.Now().Add(-90 * time.Minute)
	busy := &fake{pid: 1, started: begun, calls: []live.Call{{ID: "a", Tool: "bash", Method: "tools/call", Principal: "user:local", Client: "a 2", Started: time.Now().Add(-75 * time.Second), Task: true}}}
	for _, f := range []*fake{busy, {pid: 2, started: begun.Add(time.Second)}} {
		stop, err := live.Serve(opener(sockets), f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	var lines strings.Builder
	write := func(run, tool, outcome string, took int, age time.Duration) {
		fmt.Fprintf(&lines, `{"time":%q,"what":"call","run":%q,"id":"%s%d","tool":%q,"outcome":%q,"took":%d}`+"\n", time.Now().Add(-age).UTC().Format(time.RFC3339Nano), run, run, lines.Len(), tool, outcome, took)
	}
	keep := func() {
		if err := os.WriteFile(filepath.Join(recorded, "record.jsonl"), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("run1", "old", "ok", 1, 2*time.Minute)
	write("run1", "bash", "tool_error", 1500, time.Second)
	write("run1", "bash", "ok", 500, time.Second)
	write("run1", "grep", "input_required", 20, time.Second)
	write("run3", "grep", "error", 20, time.Second)
	keep()
	top := New(opener(sockets), opener(recorded))
	all, err := top.Servers(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[0].Minute; m.Calls != 3 || m.Failed != 1 || len(m.Tools) != 2 || m.Tools[0] != (Tool{"bash", 2, 1, 1000, 1500}) {
		t.Errorf("%+v", m)
	}
	shown := strings.Join(top.Lines(all, time.Now()), "\n")
	for _, part := range []string{
		"2 servers, 1 calls in flight, 3 calls in the last minute, 1 failed", "1 stdio ", "up 1h30m  /work", "task    1 1m15s bash  user:local, a 2",
		"slow      bash up to 1.5s, 1.0s on average of 2, 1 failed", "slow      grep up to 20ms", `client    a\u001b[2J 2, 2025-11-25, user:local, 0 in flight`, " x/y\n",
		"upstream  u failed, 3 tools, 1 left out, 0 in flight, 4 failures  gone",
	} {
		if !strings.Contains(shown, part) {
			t.Errorf("not shown: %q in\n%s", part, shown)
		}
	}
	type typing struct{ keys, said string }
	for _, test := range []typing{{"c1\r", "canceled bash"}, {"c2\n", "there is no such number"}, {"c\r", "there is no such number"}, {"c99999999\r", ""}, {"1\r", ""}, {"cx1\r", ""}} {
		top.said, busy.canceled = "", nil
		for _, key := range []byte(test.keys) {
			top.typed(t.Context(), key)
		}
		if top.said != test.said || top.typing != "" || len(busy.canceled) > 0 != strings.HasPrefix(test.said, "canceled") {
			t.Errorf("%q: said %q, canceled %v", test.keys, top.said, busy.canceled)
		}
	}
	top.typed(t.Context(), 'c') // from now on numbers stay
	busy.calls = append([]live.Call{{ID: "b", Tool: "grep"}}, busy.calls...)
	write("run1", "bash", "ok", 100, 0)
	keep()
	if all, err = top.Servers(t.Context()); err != nil || all[0].Minute.Calls != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	if shown := strings.Join(top.Lines(all, time.Now()), "\n"); !strings.Contains(shown, "task    1 ") || !strings.Contains(shown, "call      ") {
		t.Errorf("numbers change while one is typed:\n%s", shown)
	}
	top.typed(t.Context(), '1')
	if top.typed(t.Context(), '\r'); top.said != "it has ended already" {
		t.Error(top.said)
	}
}

// TestNobody has no server, no record and then no directory.
func TestNobody(t *testing.T) {
	none := func() (*os.Root, error) { return nil, os.ErrNotExist }
	if all, err := New(opener(t.TempDir()), none).Servers(t.Context()); err != nil || len(all) != 0 || all == nil {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := New(none, none).Servers(t.Context()); err == nil {
		t.Error("there is no error")
	}
}
