// Package top shows what the servers of a user do: now, as they say themselves, and in the last minute, as the record has it.
package top

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/live"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/cmd/toolserver/screen"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/upstream"
)

const (
	period    = time.Minute
	maxEnded  = 200_000 // calls of the last minute
	answering = time.Second
	slowest   = 3 // tools that a line has
)

// Server is a server with what it has done in the last minute.
type Server struct {
	live.Snapshot
	Minute Minute `json:"last_minute"`
	Error  string `json:"error,omitempty"` // why there is nothing else

	remote *live.Remote
}

// Minute is what was done in a minute.
type Minute struct {
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"`
	Tools  []Tool `json:"tools"` // the slowest first
}

// Tool is what was done with a tool.
type Tool struct {
	Tool    string  `json:"tool"`
	Calls   int     `json:"calls"`
	Failed  int     `json:"failed"`
	Mean    float64 `json:"mean_ms"`
	Longest float64 `json:"longest_ms"`
}

// Top looks at the servers of a user.
type Top struct {
	processes func() (*os.Root, error) // opens the directory of their sockets
	record    *record.Reader
	ended     []ended // within the last minute, the oldest first

	typing string // what follows c
	listed []row  // the calls that numbers stand for
	said   string // what came of it
}

// ended is a call that has ended.
type ended struct {
	at        time.Time
	run, tool string
	took      float64
	failed    bool
}

// row is a call that can be chosen.
type row struct {
	remote *live.Remote
	call   live.Call
}

// New returns what looks at the servers whose sockets are in one directory, and whose record is in another.
func New(processes, recorded func() (*os.Root, error)) *Top {
	r := record.NewReader(recorded)
	r.Since = time.Now().Add(-period)
	return &Top{processes: processes, record: r}
}

// Servers returns what there is now, the oldest server first.
func (t *Top) Servers(ctx context.Context) ([]Server, error) {
	remotes, err := live.Processes(t.processes)
	if err != nil {
		return nil, err
	}
	if err := t.read(time.Now().Add(-period)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	all := make([]Server, len(remotes))
	var asking sync.WaitGroup
	for i, r := range remotes {
		asking.Go(func() {
			s, err := r.Get(ctx)
			if all[i] = (Server{Snapshot: s, remote: r}); err != nil {
				all[i].Process.PID, all[i].Error = r.PID, err.Error()
			}
		})
	}
	asking.Wait()
	for i := range all {
		all[i].Minute = t.minute(all[i].Process.Run)
	}
	slices.SortFunc(all, func(a, b Server) int {
		return cmp.Or(a.Process.Started.Compare(b.Process.Started), a.Process.PID-b.Process.PID)
	})
	return all, nil
}

// read reads what has ended since the last time, and forgets what did before a time.
func (t *Top) read(since time.Time) error {
	found, err := t.record.Next(func(e *record.Entry) bool {
		return e.What == record.Call && e.Outcome != "running" && e.Time.After(since)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record cannot be read: %w", err)
	}
	for _, e := range found {
		t.ended = append(t.ended, ended{e.Time, e.Run, e.Tool, e.Took, e.Failed()})
	}
	old, _ := slices.BinarySearchFunc(t.ended, since, func(e ended, at time.Time) int { return e.at.Compare(at) })
	t.ended = slices.Delete(t.ended, 0, max(old, len(t.ended)-maxEnded))
	return nil
}

// minute returns what a process has done.
func (t *Top) minute(run string) Minute {
	m, tools := Minute{Tools: []Tool{}}, map[string]*Tool{}
	for _, e := range t.ended {
		if e.run != run {
			continue
		}
		tool := tools[e.tool]
		if tool == nil {
			tool = &Tool{Tool: e.tool}
			tools[e.tool] = tool
		}
		m.Calls++
		tool.Calls++
		if e.failed {
			m.Failed++
			tool.Failed++
		}
		tool.Mean += (e.took - tool.Mean) / float64(tool.Calls)
		tool.Longest = max(tool.Longest, e.took)
	}
	for tool := range maps.Values(tools) {
		m.Tools = append(m.Tools, *tool)
	}
	slices.SortFunc(m.Tools, func(a, b Tool) int { return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Tool, b.Tool)) })
	return m
}

// Lines returns servers as a person reads them, and notes which call has which number.
func (t *Top) Lines(all []Server, now time.Time) (lines []string) {
	calls, minute, failed := 0, 0, 0
	choosable := t.typing == "" // else the numbers stay those that were seen
	if choosable {
		t.listed = nil
	}
	add := func(format string, args ...any) { lines = append(lines, call.Visible(fmt.Sprintf(format, args...))) }
	for _, s := range all {
		p := s.Process
		add("")
		if s.Error != "" {
			add("%d does not answer: %s", p.PID, s.Error)
			continue
		}
		calls, minute, failed = calls+len(s.Calls)+s.MoreCalls, minute+s.Minute.Calls, failed+s.Minute.Failed
		add("%d %s %s  %d calls a minute, %d failed  up %s  %s  version %s", p.PID, p.Transport, p.Listening, s.Minute.Calls, s.Minute.Failed,
			age(now.Sub(p.Started)), p.Directory, p.Version)
		for _, c := range s.Calls {
			number := ""
			if choosable {
				t.listed = append(t.listed, row{s.remote, c})
			}
			if i := slices.IndexFunc(t.listed, func(r row) bool { return r.call.ID == c.ID && r.remote.PID == s.remote.PID }); i >= 0 {
				number = strconv.Itoa(i + 1)
			}
			kind := "call"
			if c.Task {
				kind = "task"
			}
			add("  %s %4s %s %s  %s, %s", kind, number, age(now.Sub(c.Started)), cmp.Or(c.Tool, c.Method), c.Principal, c.Client)
		}
		more(add, s.MoreCalls, "calls")
		for _, tool := range s.Minute.Tools[:min(slowest, len(s.Minute.Tools))] {
			add("  slow      %s up to %s, %s on average of %d, %d failed", tool.Tool, millis(tool.Longest), millis(tool.Mean), tool.Calls, tool.Failed)
		}
		for _, c := range s.Clients {
			add("  client    %s %s, %s, %s, %d in flight, seen %s ago%s", c.Name, c.Version, c.Protocol, c.Principal, c.InFlight, age(now.Sub(c.Seen)),
				strings.Join(append([]string{""}, c.Extensions...), " "))
		}
		more(add, s.MoreClients, "clients")
		var servers []upstream.Report
		_ = json.Unmarshal(s.Upstreams, &servers) // of another version, perhaps
		for _, u := range servers {
			add("  upstream  %s %s, %d tools, %d left out, %d in flight, %d failures  %s", u.Name, u.Status, u.Tools, u.Missing, u.InFlight, u.Failures, u.Reason)
		}
	}
	head := fmt.Sprintf("%d servers, %d calls in flight, %d calls in the last minute, %d failed", len(all), calls, minute, failed)
	return append([]string{head}, lines...)
}

// more says how many are not listed.
func more(add func(string, ...any), n int, what string) {
	if n > 0 {
		add("  and %d more %s", n, what)
	}
}

// age writes a duration in few characters.
func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func millis(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0fms", max(1, ms)) // the record has no less
	}
	return age(time.Duration(ms * float64(time.Millisecond)))
}

// Watch shows what there is on a terminal, until the person ends it or ctx does.
func (t *Top) Watch(ctx context.Context, in, out *os.File) error {
	return screen.Full(ctx, in, out, func(_, lines int) []string {
		all, err := t.Servers(ctx)
		shown := t.Lines(all, time.Now())
		if err != nil {
			shown = []string{"", call.Visible(err.Error())}
		}
		shown[0] = time.Now().Format(time.TimeOnly) + "  " + shown[0]
		foot := "q quits, c NUMBER Enter cancels a call  " + call.Visible(t.said)
		if t.typing != "" {
			foot = "cancel call number " + t.typing[1:] + "_"
		}
		if len(shown) > lines-1 && lines > 2 {
			shown = append(shown[:lines-2], fmt.Sprintf("... %d more lines", len(shown)-lines+2))
		}
		return append(shown, foot)
	}, func(key byte) { t.typed(ctx, key) })
}

// typed takes in a key: c, a number and Enter cancel a call.
func (t *Top) typed(ctx context.Context, key byte) {
	switch {
	case t.typing == "" && key == 'c':
		t.typing, t.said = "c", ""
	case t.typing != "" && '0' <= key && key <= '9' && len(t.typing) < 6:
		t.typing += string(key)
	case t.typing != "" && (key == '\r' || key == '\n'):
		n, _ := strconv.Atoi(t.typing[1:])
		if t.typing = ""; n < 1 || n > len(t.listed) {
			t.said = "there is no such number"
			return
		}
		r := t.listed[n-1]
		ctx, cancel := context.WithTimeout(ctx, answering)
		defer cancel()
		if t.said = "canceled " + cmp.Or(r.call.Tool, r.call.Method); r.remote.Cancel(ctx, r.call.ID) != nil {
			t.said = "it has ended already"
		}
	default:
		t.typing = ""
	}
}
