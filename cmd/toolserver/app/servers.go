package app

import (
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

// Servers are the other MCP servers of the configuration, and what else has an offer that may change. New does not add
// them to the registry, since they may be slow or start processes: commands that use built-in tools, and completion, do
// without them.
type Servers struct {
	*inForce
	registry *domain.Registry
	others   []domain.Source // of the program

	mu       sync.Mutex // held while they are added, or a configuration is applied
	manager  upstream.Manager
	attached bool // they are in the registry
}

// All returns the servers that are enabled, by name.
func (s *Servers) All() []*upstream.Server { return s.manager.Servers() }

// Attach adds the sources of the program and those servers only, which that starts. If they are
// not to be called, those that are known are not started.
func (s *Servers) Attach(chosen []*upstream.Server, call bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached {
		return
	}
	s.attached = true
	add := slices.Clone(s.others)
	for _, u := range chosen {
		if call || !u.Known() {
			add = append(add, u)
		} else {
			add = append(add, kept(u))
		}
	}
	s.registry.Apply(domain.Revision{Add: add})
}

// settle waits until servers are ready or have failed, or until ctx ends.
func (s *Servers) settle(ctx context.Context, chosen []*upstream.Server) {
	user := s.User().ID
	var waiting sync.WaitGroup
	for _, u := range chosen {
		waiting.Go(func() { u.Settle(ctx, user) })
	}
	waiting.Wait()
}

// Start attaches those servers only, and waits until they are ready or have failed,
// or until ctx ends.
func (s *Servers) Start(ctx context.Context, chosen []*upstream.Server) {
	s.Attach(chosen, true)
	s.settle(ctx, chosen)
}

// Know attaches those servers only, to be called or only listed, and waits for those of which nothing
// is known, until ctx ends.
func (s *Servers) Know(ctx context.Context, chosen []*upstream.Server, call bool) {
	s.Attach(chosen, call)
	s.settle(ctx, unknown(chosen))
}

// unknown returns the servers of which nothing is kept.
func unknown(servers []*upstream.Server) []*upstream.Server {
	return slices.DeleteFunc(slices.Clone(servers), (*upstream.Server).Known)
}

// kept is what is kept of a server.
func kept(u *upstream.Server) domain.Source { return domain.FixedSource(u.Name(), u.Offer(), nil) }

// Kept adds what is kept of the servers, and starts nothing.
func (s *Servers) Kept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached {
		return
	}
	var add []domain.Source
	for _, u := range s.All() {
		if u.Known() {
			add = append(add, kept(u))
		}
	}
	s.registry.Apply(domain.Revision{Add: add})
}

// Find returns the first tool that has one of the names, with the catalog that offers it.
// If none does it attaches the servers that can, to be called or only to be described. The
// error says why there is none.
func (s *Servers) Find(ctx context.Context, call bool, names ...string) (*domain.Tool, *domain.Catalog, error) {
	tool, catalog, err := s.look(names)
	if err == nil {
		return tool, catalog, nil
	}
	servers := slices.DeleteFunc(s.All(), func(u *upstream.Server) bool { return !s.mayOffer(u, names) })
	s.Attach(servers, call)
	if tool, catalog, err := s.look(names); err == nil {
		return tool, catalog, nil
	}
	if !call { // what is kept does not have it, and nothing newer was asked for
		servers = unknown(servers)
	}
	s.settle(ctx, servers)
	if tool, catalog, err = s.look(names); err != nil {
		err = s.because(err, servers)
	}
	return tool, catalog, err
}

// mayOffer reports whether a tool of one of the names can be one of the server.
func (s *Servers) mayOffer(u *upstream.Server, names []string) bool {
	for offered, o := range s.Config().Tools {
		if slices.Contains(names, o.Rename) && upstream.MayOffer(u.Server(), offered) {
			return true
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return upstream.MayOffer(u.Server(), name) })
}

// look returns the first tool that has one of the names, or the alias if only one has that.
func (s *Servers) look(names []string) (*domain.Tool, *domain.Catalog, error) {
	catalog, user := s.registry.Catalog(), s.User()
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
func (s *Servers) because(err error, servers []*upstream.Server) error {
	access := s.registry.Catalog().Settings.Access
	for _, u := range servers {
		if r := u.ReportFor(s.User().ID); r.Allowed(access, s.User()) && r.Status != upstream.StatusReady && !u.Known() {
			err = fmt.Errorf("%w; server %s is unavailable: %s", err, r.Name, Why(&r, u.Timeout()))
		}
	}
	return err
}

// Reports returns how the servers of the configuration are to a principal, by name.
func (s *Servers) Reports(p domain.Principal) (all []upstream.Report) {
	for name, settings := range s.Config().Servers {
		if !settings.IsEnabled() {
			all = append(all, upstream.Disabled(name, settings))
		}
	}
	for _, u := range s.All() {
		all = append(all, u.ReportFor(p.ID))
	}
	slices.SortFunc(all, func(x, y upstream.Report) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// seen returns what status://upstreams says to a principal: how those servers are that
// it may use, with the number of tools that it can call.
func (s *Servers) seen(p domain.Principal) any {
	catalog := s.registry.Catalog()
	shown := []upstream.Report{}
	for _, r := range s.Reports(p) {
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
func (s *Servers) statuses(p domain.Principal) map[string]int {
	counts, access := map[string]int{}, s.registry.Catalog().Settings.Access
	for _, r := range s.Reports(p) {
		if r.Allowed(access, p) {
			counts[string(r.Status)]++
		}
	}
	return counts
}

// watch calls changed when the state of a server has changed, until ctx ends.
func (s *Servers) watch(ctx context.Context, changed func()) {
	look := func() (states []string) {
		for _, r := range s.Reports(domain.Principal{}) {
			states = append(states, fmt.Sprint(r.Name, r.Status, r.Since, r.Tools, r.Resources, r.Prompts, r.Changed))
		}
		return states
	}
	go filewatch.Poll(ctx, configPause, look(), look, slices.Equal[[]string], changed)
}
