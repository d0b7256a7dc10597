package domain

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// Registry merges what sources offer into one [Catalog] at a time. It is safe
// for concurrent use, and reading it takes no lock.
type Registry struct {
	now atomic.Pointer[Catalog]

	mu       sync.Mutex // held by writers
	settings Settings
	sources  []*sourceItems  // in the order in which they came
	switched map[string]bool // tools disabled or enabled at run time, over the settings
	watchers map[int]func(Change)
	nextID   int
}

// Change says what of a catalog clients can see to have changed, or who may see
// it.
type Change struct{ Tools, Resources, Prompts bool }

// heldSource is a source with the number of catalogs that have its items and
// are in force or have requests in flight.
type heldSource struct {
	Source
	catalogs int // guarded by Registry.mu
}

// NewRegistry returns a registry with one source, "built-in", that offers tools.
// The error says which of them is not valid or has a name that is taken.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{switched: map[string]bool{}, watchers: map[int]func(Change){}}
	first := &Catalog{}
	first.users.Add(1)
	r.now.Store(first)
	if len(tools) > 0 {
		r.Register(FixedSource("built-in", Offer{Tools: tools}, nil))
	}
	var all []error
	for _, m := range r.now.Load().missing {
		all = append(all, fmt.Errorf("tool %s %s", m.Name, m.Reason))
	}
	return r, errors.Join(all...)
}

// Revision is a set of changes that take effect together.
type Revision struct {
	Settings *Settings // nil leaves them as they are
	Add      []Source  // each takes the place of the one of the same name, or comes after all others
	Remove   []string  // names of sources
}

// Apply publishes a revision as a whole: no caller sees a part of it. Requests
// in flight go on with the catalog they began with. Sources that are removed or
// replaced are closed as soon as no request uses what they offered.
func (r *Registry) Apply(rev Revision) { closeAll(r.apply(rev)) }

func (r *Registry) apply(rev Revision) (closing []Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rev.Settings != nil {
		r.settings = *rev.Settings
	}
	r.sources = slices.DeleteFunc(slices.Clone(r.sources), func(s *sourceItems) bool { return slices.Contains(rev.Remove, s.source.Name()) })
	for _, source := range rev.Add {
		held := &heldSource{Source: source}
		source.OnChange(func() { r.refresh(held) })
		items := newSourceItems(held)
		if i := slices.IndexFunc(r.sources, func(s *sourceItems) bool { return s.source.Name() == source.Name() }); i >= 0 {
			r.sources[i] = items
		} else {
			r.sources = append(r.sources, items)
		}
	}
	return r.publish()
}

// refresh takes over what a source offers now.
func (r *Registry) refresh(source *heldSource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.sources, func(s *sourceItems) bool { return s.source == source }); i >= 0 {
		r.sources = slices.Clone(r.sources)
		r.sources[i] = newSourceItems(source)
		r.publish()
	}
}

// Register adds a source, in place of the one of the same name if there is one.
func (r *Registry) Register(source Source) { r.Apply(Revision{Add: []Source{source}}) }

// Unregister removes a source with all it offers. One that is not there is no
// error.
func (r *Registry) Unregister(source string) { r.Apply(Revision{Remove: []string{source}}) }

// Close removes all sources. Requests in flight keep those they use open until
// they end.
func (r *Registry) Close() {
	r.mu.Lock()
	r.sources = nil
	closing := r.publish()
	r.mu.Unlock()
	closeAll(closing)
}

// Configure replaces the settings for requests to come.
func (r *Registry) Configure(s Settings) { r.Apply(Revision{Settings: &s}) }

// Enable makes the named tool listed and callable, whatever the settings say.
func (r *Registry) Enable(name string) error { return r.setDisabled(name, false) }

// Disable leaves the named tool known, but neither listed nor callable.
func (r *Registry) Disable(name string) error { return r.setDisabled(name, true) }

func (r *Registry) setDisabled(name string, disabled bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.now.Load().byName[name]
	if !ok {
		return notFound(name)
	}
	r.switched[t.offeredName()] = disabled
	r.publish()
	return nil
}

// publish merges what there is into a new catalog, with mu held, and calls the
// watchers. It returns the sources that are to be closed.
func (r *Registry) publish() (closing []Source) {
	for i, s := range r.sources {
		r.sources[i] = s.decorate(&r.settings, r.switched)
	}
	next := merge(r.settings, r.sources)
	next.users.Add(1)
	for _, s := range next.sources {
		s.catalogs++
	}
	before := r.now.Swap(next)
	access := (before.private || next.private) && !reflect.DeepEqual(before.Settings.Access, next.Settings.Access)
	change := Change{
		Tools:     access || !slices.EqualFunc(before.tools, next.tools, func(a, b *Tool) bool { return a == b || a.looksLike(b) }),
		Resources: access || !slices.EqualFunc(before.resources, next.resources, func(a, b *Resource) bool { return a == b || a.looksLike(b) }),
		Prompts:   access || !slices.EqualFunc(before.prompts, next.prompts, func(a, b *Prompt) bool { return a == b || a.looksLike(b) }),
	}
	for _, notify := range r.watchers {
		notify(change)
	}
	return r.unused(before)
}

// acquire returns the catalog in force, which keeps its sources open until
// release.
func (r *Registry) acquire() *Catalog {
	for {
		c := r.now.Load()
		if n := c.users.Load(); n > 0 && c.users.CompareAndSwap(n, n+1) {
			return c
		}
	}
}

// release ends the use of a catalog.
func (r *Registry) release(c *Catalog) {
	if n := c.users.Load(); n > 1 && c.users.CompareAndSwap(n, n-1) {
		return
	}
	r.mu.Lock()
	closing := r.unused(c)
	r.mu.Unlock()
	closeAll(closing)
}

// unused ends the use of a catalog, with mu held, and returns the sources that
// are in no catalog that is still used.
func (r *Registry) unused(c *Catalog) (closing []Source) {
	if c.users.Add(-1) > 0 {
		return nil
	}
	for _, s := range c.sources {
		if s.catalogs--; s.catalogs == 0 {
			closing = append(closing, s.Source)
		}
	}
	return closing
}

func closeAll(sources []Source) {
	for _, s := range sources {
		_ = s.Close() // there is nobody to tell; a source logs what matters to it
	}
}

// Catalog returns the catalog in force.
func (r *Registry) Catalog() *Catalog { return r.now.Load() }

// Get returns the named tool.
func (r *Registry) Get(name string) (*Tool, bool) { return r.now.Load().Tool(name) }

// List returns the tools of a category, or all if it is empty, sorted by name.
func (r *Registry) List(category string) []*Tool {
	return filter(r.now.Load().tools, func(t *Tool) bool { return category == "" || t.Category == category })
}

// ListEnabled returns the tools that are not disabled, sorted by name.
func (r *Registry) ListEnabled() []*Tool {
	return filter(r.now.Load().tools, func(t *Tool) bool { return !t.Disabled })
}

func filter[T any](items []T, keep func(T) bool) []T {
	var kept []T
	for _, t := range items {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// OnChange has f called after each publication, until the returned function is.
// Calls of f are not concurrent, and f must not write to the registry.
func (r *Registry) OnChange(f func(Change)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextID
	r.nextID++
	r.watchers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, id)
	}
}
