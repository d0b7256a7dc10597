package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the tools of a server. It is safe for concurrent use, and
// reading it takes no lock.
type Registry struct {
	now atomic.Pointer[catalog]

	mu       sync.Mutex // held by writers
	watchers map[int]func()
	nextID   int
}

// catalog is one state of a registry. It is not changed once it is published.
type catalog struct {
	byName map[string]*Tool
	sorted []*Tool // by name
}

// NewRegistry returns a registry of tools.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{watchers: map[int]func(){}}
	r.now.Store(&catalog{byName: map[string]*Tool{}})
	return r, r.Register(tools...)
}

// Register adds tools, all or none. A name can be registered once.
func (r *Registry) Register(tools ...Tool) error {
	return r.update(func(byName map[string]*Tool) (bool, error) {
		for _, t := range tools {
			if err := t.check(); err != nil {
				return false, err
			}
			if _, taken := byName[t.Name]; taken {
				return false, fmt.Errorf("tool %s is registered twice", t.Name)
			}
			byName[t.Name] = &t
		}
		return len(tools) > 0, nil
	})
}

// Unregister removes the named tools; those that are not there are no error.
func (r *Registry) Unregister(names ...string) {
	r.must(func(byName map[string]*Tool) bool {
		before := len(byName)
		for _, name := range names {
			delete(byName, name)
		}
		return len(byName) != before
	})
}

// Replace makes tools the only ones there are. Calls under way go on with the
// tools they began with. It counts as a change only if clients can see one.
func (r *Registry) Replace(tools ...Tool) error {
	return r.update(func(byName map[string]*Tool) (bool, error) {
		before := maps.Clone(byName)
		clear(byName)
		changed := len(tools) != len(before)
		for _, t := range tools {
			if err := t.check(); err != nil {
				return false, err
			}
			if _, taken := byName[t.Name]; taken {
				return false, fmt.Errorf("tool %s is registered twice", t.Name)
			}
			byName[t.Name] = &t
			changed = changed || !t.looksLike(before[t.Name])
		}
		return changed, nil
	})
}

// Enable makes the named tool listed and callable again.
func (r *Registry) Enable(name string) error { return r.setDisabled(name, false) }

// Disable leaves the named tool known, but neither listed nor callable.
func (r *Registry) Disable(name string) error { return r.setDisabled(name, true) }

func (r *Registry) setDisabled(name string, disabled bool) error {
	return r.update(func(byName map[string]*Tool) (bool, error) {
		t, ok := byName[name]
		if !ok {
			return false, notFound(name)
		}
		changed := *t
		changed.Disabled = disabled
		byName[name] = &changed
		return t.Disabled != disabled, nil
	})
}

// Get returns the named tool.
func (r *Registry) Get(name string) (*Tool, bool) {
	t, ok := r.now.Load().byName[name]
	return t, ok
}

// List returns the tools of a category, or all if it is empty, sorted by name.
func (r *Registry) List(category string) []*Tool {
	return filter(r.now.Load().sorted, func(t *Tool) bool { return category == "" || t.Category == category })
}

// ListEnabled returns the tools that are not disabled, sorted by name.
func (r *Registry) ListEnabled() []*Tool {
	return filter(r.now.Load().sorted, func(t *Tool) bool { return !t.Disabled })
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

// Generation identifies the registry's present state: of two that are equal,
// the registry has not been written to between.
func (r *Registry) Generation() any { return r.now.Load() }

// OnChange has f called after each change, until the returned function is.
// Calls of f are not concurrent.
func (r *Registry) OnChange(f func()) (stop func()) {
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

// update publishes a changed copy of the catalog, and tells of it if change says
// that there is something to tell.
func (r *Registry) update(change func(map[string]*Tool) (tell bool, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	byName := maps.Clone(r.now.Load().byName)
	tell, err := change(byName)
	if err != nil {
		return err
	}
	next := &catalog{byName: byName, sorted: slices.Collect(maps.Values(byName))}
	slices.SortFunc(next.sorted, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	r.now.Store(next)
	if !tell {
		return nil
	}
	for _, notify := range r.watchers {
		notify()
	}
	return nil
}

// must is update with a change that cannot fail.
func (r *Registry) must(change func(map[string]*Tool) bool) {
	_ = r.update(func(byName map[string]*Tool) (bool, error) { return change(byName), nil })
}
