package domain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/redact"
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
	looked   bool // somebody has asked for skills: before, none are seen to change

	closing int        // sources that are being closed
	closed  *sync.Cond // on mu, signaled when one of them is
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
	r.closed = sync.NewCond(&r.mu)
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
func (r *Registry) Apply(rev Revision) {
	r.update(func() bool {
		if rev.Settings != nil {
			r.settings = *rev.Settings
		}
		r.sources = slices.DeleteFunc(slices.Clone(r.sources), func(s *sourceItems) bool { return slices.Contains(rev.Remove, s.source.Name()) })
		for _, source := range rev.Add {
			held := &heldSource{Source: source}
			source.OnChange(func() { r.refresh(held) })
			if i := slices.IndexFunc(r.sources, func(s *sourceItems) bool { return s.source.Name() == source.Name() }); i >= 0 {
				r.sources[i] = newSourceItems(held)
			} else {
				r.sources = append(r.sources, newSourceItems(held))
			}
		}
		return true
	})
}

// refresh takes over what a source offers now.
func (r *Registry) refresh(source *heldSource) {
	r.update(func() bool {
		i := slices.IndexFunc(r.sources, func(s *sourceItems) bool { return s.source == source })
		if i >= 0 {
			r.sources[i] = newSourceItems(source)
		}
		return i >= 0
	})
}

// How long callers wait for sources that look: who needs to know all, and who shows what is known already otherwise.
const (
	LookTime   = 20 * time.Second
	GlanceTime = 2 * time.Second
)

// Look has sources look whether they offer something else, and returns the catalog in force then, at the latest after limit.
func (r *Registry) Look(ctx context.Context, limit time.Duration) *Catalog {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := r.Acquire()
	defer r.Release(c)
	for _, s := range c.sources {
		if l, ok := s.Source.(Looker); ok {
			l.Look(ctx, c.Settings.Secrets)
		}
	}
	r.mu.Lock()
	r.looked = true
	r.mu.Unlock()
	return r.Catalog()
}

// Register adds a source, in place of the one of the same name if there is one.
func (r *Registry) Register(source Source) { r.Apply(Revision{Add: []Source{source}}) }

// Unregister removes a source with all it offers. One that is not there is no
// error.
func (r *Registry) Unregister(source string) { r.Apply(Revision{Remove: []string{source}}) }

// Close removes all sources, and waits until those are closed that no request in flight
// uses. Requests keep those they use open until they end.
func (r *Registry) Close() {
	r.update(func() bool {
		r.sources = nil
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.closing > 0 {
		r.closed.Wait()
	}
}

// Configure replaces the settings for requests to come.
func (r *Registry) Configure(s Settings) { r.Apply(Revision{Settings: &s}) }

// Enable makes the named tool listed and callable, whatever the settings say.
func (r *Registry) Enable(name string) error { return r.setDisabled(name, false) }

// Disable leaves the named tool known, but neither listed nor callable.
func (r *Registry) Disable(name string) error { return r.setDisabled(name, true) }

func (r *Registry) setDisabled(name string, disabled bool) (err error) {
	r.update(func() bool {
		t, ok := r.now.Load().byName[name]
		if !ok {
			err = notFound(name, nil, nil)
			return false
		}
		r.switched[cmp.Or(t.Offered, t.Name)] = disabled
		return true
	})
	return err
}

// update changes what there is and, if change returns true, merges it into a new
// catalog and calls the watchers.
func (r *Registry) update(change func() bool) {
	r.mu.Lock()
	var closing []Source
	if change() {
		closing = r.publish()
	}
	r.closeAll(closing)
	r.mu.Unlock()
}

// publish returns the sources that are to be closed.
func (r *Registry) publish() (closing []Source) {
	for _, s := range r.sources {
		s.override(r)
	}
	next := merge(r.settings, r.sources)
	next.users.Add(1)
	for _, s := range next.sources {
		s.catalogs++
	}
	before := r.now.Swap(next)
	access := (before.private || next.private) && !reflect.DeepEqual(before.Settings.Access, next.Settings.Access)
	change := Change{
		Tools: access || before.Settings.listsOtherwise(&next.Settings) || changed(before.tools, next.tools, (*Tool).looksLike),
		Resources: access || changed(before.resources, next.resources, (*Resource).looksLike) ||
			r.looked && changed(before.skills, next.skills, (*Skill).looksLike),
		Prompts: access || changed(before.prompts, next.prompts, (*Prompt).looksLike),
	}
	for _, notify := range r.watchers {
		notify(change)
	}
	return r.unused(before)
}

// changed reports whether callers can tell two lists of items apart.
func changed[T any](before, now []*T, looksLike func(a, b *T) bool) bool {
	return !slices.EqualFunc(before, now, func(a, b *T) bool { return a == b || looksLike(a, b) })
}

// Acquire returns the catalog in force, which keeps its sources open until
// release.
func (r *Registry) Acquire() *Catalog {
	for {
		c := r.now.Load()
		if n := c.users.Load(); n > 0 && c.users.CompareAndSwap(n, n+1) {
			return c
		}
	}
}

// Release ends the use of a catalog.
func (r *Registry) Release(c *Catalog) {
	if n := c.users.Load(); n > 1 && c.users.CompareAndSwap(n, n-1) {
		return
	}
	r.mu.Lock()
	r.closeAll(r.unused(c))
	r.mu.Unlock()
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

// closeAll closes sources, each on a goroutine of its own: the program of a server may take
// seconds to end. The caller holds mu.
func (r *Registry) closeAll(sources []Source) {
	for _, s := range sources {
		r.closing++
		go func() {
			_ = s.Close() // a source logs its own errors
			r.mu.Lock()
			defer r.mu.Unlock()
			r.closing--
			r.closed.Broadcast()
		}()
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

// item is what a catalog has to know of a tool, resource, prompt or skill.
type item interface {
	kind() (Kind, string)    // with the name
	ids() (id, other string) // neither of which another item of the kind may have
	with(Override) item      // a copy with what configuration says of it
	check() error            // what keeps it from being offered
}

// sourceItems are the items of one source.
type sourceItems struct {
	source  *heldSource
	missing []Missing
	items   []offeredItem
	unknown string
}

// offeredItem is an item with the override of the configuration. If that has not
// changed, the item is kept as it was, so that subscriptions to it go on.
type offeredItem struct {
	offered  item
	override *Override // nil for one that says nothing
	item     item
	err      error // why the item is not valid
}

func newSourceItems(source *heldSource) *sourceItems {
	o := source.Offer()
	return &sourceItems{source, o.Missing, slices.Concat(itemsOf(o.Tools), itemsOf(o.Resources), itemsOf(o.Prompts), itemsOf(o.Skills)), o.Unknown}
}

func itemsOf[T any, P interface {
	*T
	item
}](offered []T) []offeredItem {
	items := make([]offeredItem, len(offered))
	for i := range offered {
		items[i].offered = P(&offered[i])
	}
	return items
}

// override applies what the registry's settings say of the items, by the names
// their source gives them.
func (s *sourceItems) override(r *Registry) {
	overrides := map[Kind]map[string]Override{
		KindTool: r.settings.Tools, KindResource: r.settings.Resources, KindPrompt: r.settings.Prompts, KindSkill: r.settings.Skills,
	}
	for i := range s.items {
		it := &s.items[i]
		kind, name := it.offered.kind()
		o := overrides[kind][name]
		if t, ok := it.offered.(*Tool); ok && t.Follows != "" {
			o = o.following(overrides[kind][t.Follows])
		}
		if off, ok := r.switched[name]; ok && kind == KindTool {
			o.Enabled = new(!off)
		}
		var set *Override
		if !reflect.ValueOf(o).IsZero() {
			set = &o
		}
		if it.item == nil || !reflect.DeepEqual(it.override, set) {
			if it.override, it.item = set, it.offered; set != nil {
				it.item = it.offered.with(o)
			}
			it.err = it.item.check()
		}
	}
}

// merge makes a catalog of what sources offer, which are in the order in which
// they came: the first to offer a name has it.
func merge(settings Settings, sources []*sourceItems) *Catalog {
	c := &Catalog{
		Settings: settings, Redactor: redact.New(settings.Secrets), private: settings.Access.Strict,
		byName: map[string]*Tool{}, byAlias: map[string][]*Tool{},
	}
	taken := map[[2]string]bool{}
	for _, s := range sources {
		c.sources, c.unknown = append(c.sources, s.source), cmp.Or(c.unknown, s.unknown)
		for _, m := range s.missing {
			m.Source = s.source.Name()
			c.missing = append(c.missing, m)
		}
		for i := range s.items {
			it := &s.items[i]
			kind, name := it.offered.kind()
			id, other := it.item.ids()
			reason := "has a name or address that is taken already"
			skill, _ := it.item.(*Skill)
			switch {
			case it.override.disabled() && kind != KindTool && skill == nil: // which are offered as disabled
				if r, ok := it.item.(*Resource); ok {
					c.disabled = append(c.disabled, r)
				}
				continue
			case it.err != nil && (skill == nil || !skill.Disabled): // whatever that is, nobody may read its files
				reason = "is not valid: " + it.err.Error()
			case skill != nil && !skill.Disabled && !bytes.Equal(c.Redactor.JSON(skill.Frontmatter), skill.Frontmatter):
				reason = "is left out: its frontmatter has a secret of the configuration"
			case !taken[[2]string{string(kind), id}] && !taken[[2]string{string(kind), other}]:
				taken[[2]string{string(kind), id}], taken[[2]string{string(kind), other}] = true, true
				c.add(it.item)
				continue
			}
			c.missing = append(c.missing, Missing{Kind: kind, Name: brief.Name(name), Source: s.source.Name(), Reason: reason, Mistake: true})
		}
	}
	slices.SortFunc(c.tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.resources, func(a, b *Resource) int { return cmp.Compare(a.key(), b.key()) })
	slices.SortFunc(c.skills, func(a, b *Skill) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(c.prompts, func(a, b *Prompt) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

func (c *Catalog) add(it item) {
	audience := Audience{}
	switch it := it.(type) {
	case *Tool:
		c.tools, c.byName[it.Name] = append(c.tools, it), it
		if it.Alias != "" {
			c.byAlias[it.Alias] = append(c.byAlias[it.Alias], it)
		}
		audience = Audience{Groups: it.Groups, ComplianceLevel: it.ComplianceLevel}
	case *Resource:
		c.resources, audience = append(c.resources, it), it.Audience
	case *Prompt:
		c.prompts, audience = append(c.prompts, it), it.Audience
	case *Skill:
		c.skills, audience = append(c.skills, it), it.Audience
	}
	c.private = c.private || len(audience.Groups) > 0 || audience.ComplianceLevel != "" || len(audience.Scopes) > 0 || len(c.Settings.Access.Open) > 0
}
