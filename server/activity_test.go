package server

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// TestActivity looks at what clients of all kinds do, and cancels it.
func TestActivity(t *testing.T) {
	s, _ := fixture(t)
	state := t.TempDir()
	s.tasks.store.Directory = func() (*os.Root, error) { return os.OpenRoot(state) }
	s.opts.Connected = func(domain.Session, string) {}
	add(s, detaching(func(ctx context.Context) (domain.ToolResult, error) {
		<-ctx.Done()
		return domain.ToolResult{}, ctx.Err()
	}),
		domain.Define(domain.Tool{Name: "caught", Description: "Answers all the same."}, func(ctx context.Context, _ noInput) (domain.ToolResult, error) {
			<-ctx.Done()
			return domain.Failure("canceled", "killed", ""), nil
		}))
	a := Activity{s}
	if len(a.Calls()) != 0 || len(a.Clients()) != 0 || a.Cancel("x") == nil {
		t.Error("there is something before anybody comes")
	}
	const canceled = `was canceled by the operator","data":{"error_type":"canceled_by_operator"`

	c := dial(t, s)
	c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{"extensions":{"a/b":{},"c/d":null}}`, 1))
	c.receive()
	for _, name := range []string{"wait", "caught"} {
		c.send(request(`7`, "tools/call", `{"name":"`+name+`"}`, false))
		waitFor(t, func() bool { return len(a.Calls()) == 1 })
		call := a.Calls()[0]
		if call.Tool != name || call.Method != "tools/call" || call.Session != StdioSession || call.Client != "t 1" || call.Principal != "user:local" || call.Task {
			t.Errorf("%+v", call)
		}
		if err := a.Cancel(call.ID); err != nil {
			t.Error(err)
		}
		if got := c.receive(); !strings.Contains(got, canceled) {
			t.Errorf("%s: %s", name, got)
		}
		if err := a.Cancel(call.ID); err == nil {
			t.Error("what has ended is canceled")
		}
	}

	ts := httpFixture(t, s, nil)
	session := begin(t, ts.URL+"/mcp", nil)
	answers := make(chan string)
	for modern, id := range map[bool]string{false: session, true: ""} {
		go func() {
			resp := post(t, ts.URL+"/mcp", id, request(`7`, "tools/call", `{"name":"wait"}`, modern), modern, nil)
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			answers <- string(b)
		}()
	}
	waitFor(t, func() bool { return len(a.Calls()) == 2 })
	all := a.Clients()
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []Client{
		{Name: "t", Version: "1", Protocol: "2025-11-25", Principal: "user:local", Session: StdioSession},
		{Name: "t", Version: "1", Protocol: "2025-11-25", Principal: "user:anonymous", Session: session, InFlight: 1},
		{Name: "t", Version: "1", Protocol: "2026-07-28", Principal: "user:anonymous", InFlight: 1},
	} {
		got := all[i]
		if i == 0 && strings.Join(got.Extensions, " ") != "a/b c/d" || got.Seen.Before(got.Since) {
			t.Errorf("%+v", got)
		}
		if got.Name != want.Name || got.Version != want.Version || got.Protocol != want.Protocol || got.Principal != want.Principal ||
			got.Session != want.Session || got.InFlight != want.InFlight {
			t.Errorf("%+v; want %+v", got, want)
		}
	}
	for _, call := range a.Calls() {
		if err := a.Cancel(call.ID); err != nil {
			t.Error(err)
		}
		if got := <-answers; !strings.Contains(got, canceled) {
			t.Error(got)
		}
	}

	post(t, ts.URL+"/mcp", "", taking(request(`8`, "tools/call", `{"name":"background"}`, true)), true, nil).Body.Close()
	tasks := a.Calls()
	if len(tasks) != 1 || !tasks[0].Task || tasks[0].Tool != "background" {
		t.Fatalf("%+v", tasks)
	}
	s.tasks.mu.Lock()
	var id string
	for id = range s.tasks.live {
	}
	s.tasks.mu.Unlock()
	if err := a.Cancel(tasks[0].ID); err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return len(a.Calls()) == 0 })
	is, err := s.tasks.get("user:anonymous", id)
	if err != nil || is.Status != "failed" || !strings.Contains(string(is.State.Error), canceled) {
		t.Errorf("%+v, %v", is, err)
	}
}

// TestClientNames takes apart what clients are called.
func TestClientNames(t *testing.T) {
	for text, want := range map[string][2]string{"claude-code 2.1.3": {"claude-code", "2.1.3"}, "Visual Studio Code": {"Visual Studio Code", ""}, "": {}, "v1": {"v1", ""}} {
		if c := clientOf(text, "", nil, newSession("", ""), time.Time{}); c.Name != want[0] || c.Version != want[1] {
			t.Errorf("%q: %+v", text, c)
		}
	}
}
