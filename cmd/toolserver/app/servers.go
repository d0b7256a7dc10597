package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/upstream"
)

// Servers returns the servers of the configuration that are enabled, by name.
func (a *App) Servers() []*upstream.Server { return a.servers.Servers() }

// Attach adds the sources whose offers may change. New does not, since they may
// be slow or start processes: commands that use built-in tools, and completion,
// do without them.
func (a *App) Attach() { a.attach(a.Servers(), true) }

// attach adds the sources of the program and those servers, which that starts. If they are
// not to be called, those that are known are not started.
func (a *App) attach(servers []*upstream.Server, call bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attached {
		return
	}
	a.attached = true
	add := slices.Clone(a.program.Sources)
	for _, s := range servers {
		if call || !s.Known() {
			add = append(add, s)
		} else {
			add = append(add, domain.FixedSource(s.Name(), s.Offer(), nil))
		}
	}
	a.exec.Registry.Apply(domain.Revision{Add: add})
}

// settle waits until all servers have settled, or until ctx ends.
func (a *App) settle(ctx context.Context, servers []*upstream.Server) {
	user := a.User().ID
	var waiting sync.WaitGroup
	for _, s := range servers {
		waiting.Go(func() { s.Settle(ctx, user) })
	}
	waiting.Wait()
}

// AttachServers attaches those servers only, which starts them.
func (a *App) AttachServers(servers []*upstream.Server) { a.attach(servers, true) }

// StartServers attaches those servers only, and waits until they are ready or have failed,
// or until ctx ends.
func (a *App) StartServers(ctx context.Context, servers []*upstream.Server) {
	a.AttachServers(servers)
	a.settle(ctx, servers)
}

// KnowServers attaches those servers only, to be listed and not called: what is kept of
// them, and if that is nothing, what they say until ctx ends.
func (a *App) KnowServers(ctx context.Context, servers []*upstream.Server) {
	a.attach(servers, false)
	a.settle(ctx, slices.DeleteFunc(slices.Clone(servers), (*upstream.Server).Known))
}

// CallServers attaches those servers only, to be called, and waits for those of which nothing
// is known, until ctx ends.
func (a *App) CallServers(ctx context.Context, servers []*upstream.Server) {
	a.AttachServers(servers)
	a.settle(ctx, slices.DeleteFunc(slices.Clone(servers), (*upstream.Server).Known))
}

// KeptServers adds what is kept of the servers, and starts nothing.
func (a *App) KeptServers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attached {
		return
	}
	var add []domain.Source
	for _, s := range a.servers.Servers() {
		if s.Known() {
			add = append(add, domain.FixedSource(s.Name(), s.Offer(), nil))
		}
	}
	a.exec.Registry.Apply(domain.Revision{Add: add})
}

// Find returns the first tool that has one of the names, with the catalog that offers it.
// If none does it attaches the servers that can, to be called or only to be described. The
// error says why there is none.
func (a *App) Find(ctx context.Context, call bool, names ...string) (*domain.Tool, *domain.Catalog, error) {
	tool, catalog, err := a.look(names)
	if err == nil {
		return tool, catalog, nil
	}
	servers := slices.DeleteFunc(a.Servers(), func(s *upstream.Server) bool { return !a.mayOffer(s, names) })
	a.attach(servers, call)
	if tool, catalog, err := a.look(names); err == nil {
		return tool, catalog, nil
	}
	if !call { // what is kept does not have it, and nothing newer was asked for
		servers = slices.DeleteFunc(servers, (*upstream.Server).Known)
	}
	a.settle(ctx, servers)
	if tool, catalog, err = a.look(names); err != nil {
		err = a.because(err, servers)
	}
	return tool, catalog, err
}

// mayOffer reports whether a tool of one of the names can be one of the server.
func (a *App) mayOffer(s *upstream.Server, names []string) bool {
	for offered, o := range a.Config().Tools {
		if slices.Contains(names, o.Rename) && upstream.MayOffer(s.Server(), offered) {
			return true
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return upstream.MayOffer(s.Server(), name) })
}

// look returns the first tool that has one of the names, or the alias if only one has that.
func (a *App) look(names []string) (*domain.Tool, *domain.Catalog, error) {
	catalog, user := a.exec.Registry.Catalog(), a.User()
	for _, name := range names {
		if tool, ok := catalog.Tool(name); ok {
			return tool, catalog, nil
		}
		aliased := slices.DeleteFunc(slices.Clone(catalog.Tools()), func(t *domain.Tool) bool {
			return t.Alias != name || !catalog.Settings.Access.Allowed(user, t)
		})
		if len(aliased) == 1 {
			return aliased[0], catalog, nil
		}
	}
	known := func(name string) bool { // such as one with missing credentials
		return slices.ContainsFunc(catalog.Missing(), func(m domain.Missing) bool { return m.Kind == domain.KindTool && m.Name == name })
	}
	why := names[0]
	if i := slices.IndexFunc(names, known); i >= 0 {
		why = names[i]
	}
	return nil, nil, errors.New(catalog.Why(user, why))
}

// Why returns why a server is not ready, after it was waited for.
func Why(r *upstream.Report, waited time.Duration) string {
	switch {
	case r.Status == upstream.StatusSignIn:
		return r.Reason + "; toolserver upstream login " + r.Name + " signs in"
	case r.Status == upstream.StatusStarting && r.Reason == "":
		return fmt.Sprintf("it was not ready within %v", waited)
	}
	return r.Reason
}

// because adds to the error of a missing tool which servers that may have it are not ready.
func (a *App) because(err error, servers []*upstream.Server) error {
	access := a.exec.Registry.Catalog().Settings.Access
	for _, s := range servers {
		if r := s.ReportFor(a.User().ID); r.Allowed(access, a.User()) && r.Status != upstream.StatusReady && !s.Known() {
			err = fmt.Errorf("%w; server %s is unavailable: %s", err, r.Name, Why(&r, s.Timeout()))
		}
	}
	return err
}

// Reports returns how the servers of the configuration are to a principal, by name.
func (a *App) Reports(p domain.Principal) (all []upstream.Report) {
	for name, s := range a.Config().Servers {
		if !s.IsEnabled() {
			all = append(all, upstream.Disabled(name, s))
		}
	}
	for _, s := range a.Servers() {
		all = append(all, s.ReportFor(p.ID))
	}
	slices.SortFunc(all, func(x, y upstream.Report) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// upstreams returns what status://upstreams says to a principal: how those servers are that
// it may use, with the number of tools that it can call.
func (a *App) upstreams(p domain.Principal) any {
	catalog := a.exec.Registry.Catalog()
	shown := []upstream.Report{}
	for _, r := range a.Reports(p) {
		if !r.Allowed(catalog.Settings.Access, p) {
			continue
		}
		r.Tools = 0
		for _, t := range catalog.Tools() {
			if t.Origin.Server == r.Name && catalog.Why(p, t.Name) == "" {
				r.Tools++
			}
		}
		shown = append(shown, r)
	}
	return shown
}

// statuses returns how many servers that a principal may use are in which state.
func (a *App) statuses(p domain.Principal) map[string]int {
	counts, access := map[string]int{}, a.exec.Registry.Catalog().Settings.Access
	for _, r := range a.Reports(p) {
		if r.Allowed(access, p) {
			counts[string(r.Status)]++
		}
	}
	return counts
}

// watchUpstreams calls changed when the state of a server has changed, until ctx ends.
func (a *App) watchUpstreams(ctx context.Context, changed func()) {
	look := func() (states []string) {
		for _, r := range a.Reports(domain.Principal{}) {
			states = append(states, fmt.Sprint(r.Name, r.Status, r.Since, r.Tools, r.Resources, r.Prompts, r.Changed))
		}
		return states
	}
	go filewatch.Poll(ctx, configPause, look(), look, slices.Equal[[]string], changed)
}

// Warnings returns the warnings about the configuration in force, without those about tools
// that have become available since.
func (a *App) Warnings() []string {
	catalog := a.exec.Registry.Catalog()
	return slices.DeleteFunc(slices.Clone(a.now.Load().warnings), func(warning string) bool {
		return slices.ContainsFunc(catalog.Tools(), func(t *domain.Tool) bool {
			return strings.Contains(warning, fmt.Sprintf("there is no tool %q;", cmp.Or(t.Offered, t.Name)))
		})
	})
}
