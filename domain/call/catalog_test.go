package call

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
)

func fine(context.Context) (domain.ToolResult, error) { return domain.Text("fine"), nil }

// changing is a source that changes when it is told to.
type changing struct {
	name    string
	offer   atomic.Pointer[domain.Offer]
	changed func()
	closed  atomic.Int32
}

func (s *changing) Name() string            { return s.name }
func (s *changing) Offer() domain.Offer     { return *s.offer.Load() }
func (s *changing) OnChange(changed func()) { s.changed = changed }
func (s *changing) Close() error            { s.closed.Add(1); return nil }

func (s *changing) now(tools ...domain.Tool) {
	s.offer.Store(&domain.Offer{Tools: tools, Open: true})
	if s.changed != nil {
		s.changed()
	}
}

func names(tools []*domain.Tool) (all []string) {
	for _, t := range tools {
		name := t.Name
		if t.Disabled {
			name += "-"
		}
		all = append(all, name)
	}
	return all
}

func TestSources(t *testing.T) {
	r, err := domain.NewRegistry(tool("a", fine))
	if err != nil {
		t.Fatal(err)
	}
	var changes []domain.Change
	stop := r.OnChange(func(c domain.Change) { changes = append(changes, c) })
	up := &changing{name: "up"}
	up.now(tool("b", fine), tool("c", fine))
	noText := tool("x", fine)
	noText.Description = " "
	noHandler := tool("y", fine)
	noHandler.Run = nil
	for _, step := range []struct {
		name  string
		do    func()
		want  string
		tools bool // clients can see the change
	}{
		{"register", func() { r.Register(up) }, "a b c", true},
		{"bad ones cost themselves", func() { up.now(tool("b", fine), tool("a", fine), tool("no.dots", fine), noText, noHandler) }, "a b", true},
		{"same again", func() { up.now(tool("b", fine)) }, "a b", false},
		{"disable", func() { r.Disable("a") }, "a- b", true},
		{"enable", func() { r.Enable("a") }, "a b", true},
		{"settings", func() {
			r.Configure(domain.Settings{Tools: map[string]domain.Override{"b": {Rename: "bee", Description: "Hums.", Groups: []string{"g"}, Timeout: time.Minute, Confirm: new(true)}, "a": {Enabled: new(false)}, "later": {Enabled: new(false)}}})
		}, "a bee", true}, // a was enabled at run time
		{"renamed, at run time", func() { r.Disable("bee") }, "a bee-", true},
		{"of a tool that comes later", func() { up.now(tool("b", fine), tool("later", fine)) }, "a bee- later-", true},
		{"unregister", func() { r.Unregister("up"); r.Unregister("zz") }, "a", true},
	} {
		changes = nil
		step.do()
		if got := strings.Join(names(r.List("")), " "); got != step.want {
			t.Errorf("%s: %s; want %s", step.name, got, step.want)
		}
		if len(changes) == 0 || changes[0].Tools != step.tools || changes[0].Prompts || changes[0].Resources {
			t.Errorf("%s: changes %+v", step.name, changes)
		}
		switch step.name {
		case "bad ones cost themselves":
			var reasons []string
			for _, m := range r.Catalog().Missing() {
				reasons = append(reasons, m.Source+" "+m.Name+" "+m.Reason)
			}
			if got := strings.Join(reasons, "\n"); len(reasons) != 4 || !strings.Contains(got, "up a has a name or address that is taken") ||
				!strings.Contains(got, "does not match") || !strings.Contains(got, "no description") || !strings.Contains(got, "no handler") {
				t.Errorf("missing:\n%s", got)
			}
		case "settings":
			if why := r.Catalog().Why(domain.Principal{Groups: []string{"g"}}, "b"); !strings.Contains(why, "renames it to bee") {
				t.Errorf("b: %s", why)
			}
			bee, _ := r.Get("bee")
			if bee.Description != "Hums." || !bee.Confirm || bee.Timeout != time.Minute || !slices.Equal(bee.Groups, []string{"g"}) {
				t.Errorf("bee is %+v", bee)
			}
		}
	}
	if err := r.Enable("zz"); domain.CodeOf(err) != domain.CodeToolNotFound {
		t.Errorf("unknown: %v", err)
	}
	stop()
	changes = nil
	r.Close()
	if changes != nil {
		t.Error("notified after stop")
	}
	if _, err := domain.NewRegistry(tool("a", fine), tool("a", fine)); err == nil {
		t.Error("a name was taken twice")
	}
}

// TestUntouched checks that what has not changed stays the same item, so that
// nobody who holds it has to start again.
func TestUntouched(t *testing.T) {
	resource := domain.Resource{URI: "x://a", Name: "a", Read: func(context.Context, domain.Location) ([]domain.Content, error) { return nil, nil }}
	r, _ := domain.NewRegistry(tool("a", fine))
	r.Register(domain.FixedSource("docs", domain.Offer{Resources: []domain.Resource{resource}}, nil))
	before, _, err := r.Catalog().FindResource(domain.Principal{}, "x://a")
	if err != nil {
		t.Fatal(err)
	}
	r.Configure(domain.Settings{Tools: map[string]domain.Override{"a": {Enabled: new(false)}}, Resources: map[string]domain.Override{"a": {}}})
	r.Register(domain.FixedSource("built-in", domain.Offer{Tools: []domain.Tool{tool("other", fine)}}, nil))
	if after, _, _ := r.Catalog().FindResource(domain.Principal{}, "x://a"); after != before {
		t.Error("the resource is another one after a change of tools")
	}
	r.Configure(domain.Settings{Resources: map[string]domain.Override{"a": {Groups: []string{"g"}}}})
	if _, _, err := r.Catalog().FindResource(domain.Principal{}, "x://a"); err == nil {
		t.Error("the resource is still for everyone")
	}
}

// TestClosedWhenUnused checks that a source that is gone stays open as long as a
// call uses what it offered, and no longer.
func TestClosedWhenUnused(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	up := &changing{name: "up"}
	up.now(tool("wait", func(context.Context) (domain.ToolResult, error) {
		close(entered)
		<-release
		return domain.Text("done"), nil
	}))
	exec := executor(t, domain.Settings{}, nil)
	exec.Registry.Register(up)
	ended := make(chan error)
	go func() {
		_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "wait"})
		ended <- err
	}()
	<-entered
	next := &changing{name: "up"}
	next.now()
	exec.Registry.Register(next)
	for range 3 {
		exec.Registry.Configure(domain.Settings{})
	}
	if up.closed.Load() != 0 {
		t.Error("closed under a call")
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	exec.Registry.Close() // waits for nobody, but comes after the call has left
	eventually(t, func() bool { return up.closed.Load() == 1 })
	if up.closed.Load() != 1 || next.closed.Load() != 1 {
		t.Errorf("closed %d and %d times", up.closed.Load(), next.closed.Load())
	}
}

// TestChangingUnderLoad has sources come, change and go while calls are made.
func TestChangingUnderLoad(t *testing.T) {
	exec := executor(t, domain.Settings{}, nil, tool("steady", fine))
	stop := make(chan struct{})
	callers := make(chan error, 4)
	for range cap(callers) {
		go func() {
			for {
				select {
				case <-stop:
					callers <- nil
					return
				default:
				}
				if _, err := exec.Call(context.Background(), ExecuteToolCommand{Tool: "steady"}); err != nil {
					callers <- err
					return
				}
				_, _ = exec.Call(context.Background(), ExecuteToolCommand{Tool: "t7"})
			}
		}()
	}
	var all []*changing
	for i := range 200 {
		s := &changing{name: fmt.Sprint("source", i%3)}
		s.now(tool("t7", fine))
		all = append(all, s)
		exec.Registry.Register(s)
		s.now(tool("t7", fine), tool("t8", fine))
	}
	close(stop)
	for range cap(callers) {
		if err := <-callers; err != nil {
			t.Error(err)
		}
	}
	exec.Registry.Close()
	for _, s := range all { // some calls leave after they were answered
		eventually(t, func() bool { return s.closed.Load() == 1 })
	}
}

// eventually waits for what comes about soon after a call was answered.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}
