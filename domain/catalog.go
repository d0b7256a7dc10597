package domain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Settings are what configuration can change while the executor runs. Calls in
// flight go on with those they began with.
type Settings struct {
	Limits  Limits
	Access  Access
	Secrets []string // texts that must not appear in anything that leaves the server

	// Overrides of single items, by the name their source gives them.
	Tools, Resources, Prompts map[string]Override
}

// Override is what configuration says of one tool, resource or prompt. The zero
// value changes nothing.
type Override struct {
	Disabled        bool
	Groups          []string // principals in any of these may use it; empty means everyone
	ComplianceLevel string
	Timeout         time.Duration // of a tool that does not keep its own time
	Confirm         bool          // of a tool: ask the user before each call
	Rename          string        // the name clients see
	Description     string        // what clients read instead of the item's own
}

// Catalog is one state of everything the server offers, and of the settings it
// is offered under. It is merged from what the sources offer, switched as a
// whole, and not changed once it is published.
type Catalog struct {
	Settings  Settings
	redactor  redactor
	byName    map[string]*Tool
	tools     []*Tool     // by name
	resources []*Resource // by key
	prompts   []*Prompt   // by name
	missing   []Missing
	private   bool // what is listed depends on who asks

	sources []*heldSource // whose items are in it
	users   atomic.Int64  // requests in flight under it, and one while it is in force
}

// Tool returns the named tool.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}

// Tools returns all tools, those that are disabled too, sorted by name.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Missing returns what is not offered although a source knows of it, with the
// reason: it lacks something, is not valid, or has a name that is taken.
func (c *Catalog) Missing() []Missing { return c.missing }

// Private reports whether what is listed depends on who asks.
func (c *Catalog) Private() bool { return c.private }

func (c *Catalog) restricted() bool {
	return c.Settings.Access.Strict || slices.ContainsFunc(c.tools, func(t *Tool) bool { return len(t.Groups) > 0 || t.ComplianceLevel != "" }) ||
		slices.ContainsFunc(c.resources, func(r *Resource) bool { return r.Audience.restricted() }) ||
		slices.ContainsFunc(c.prompts, func(p *Prompt) bool { return p.Audience.restricted() })
}

// Why says in a sentence why the named tool cannot be called by p, or returns
// "" if it can.
func (c *Catalog) Why(p Principal, name string) string {
	t, ok := c.byName[name]
	switch {
	case ok && !c.Settings.Access.Allowed(p, t):
		return name + " is not for " + p.Name + ": its groups or its compliance level exclude them"
	case ok && t.Disabled:
		return name + " is disabled in the configuration"
	case ok:
		return ""
	}
	for _, t := range c.tools {
		if t.Offered == name && c.Settings.Access.Allowed(p, t) {
			return fmt.Sprintf("no tool %q: the configuration renames it to %s", name, t.Name)
		}
	}
	for _, m := range c.missing {
		if m.Kind == KindTool && m.Name == name {
			return name + " is unavailable: it " + m.Reason
		}
	}
	return fmt.Sprintf("no tool %q: no source offers it", ClipName(name))
}

// allows reports whether p may know of something for audience a.
func (c *Catalog) allows(p Principal, a Audience) bool {
	access := &c.Settings.Access
	if !access.admits(p, a.Groups, a.ComplianceLevel) {
		return false
	}
	if a.Tool == "" {
		return true
	}
	t, ok := c.byName[a.Tool]
	return ok && !t.Disabled && access.Allowed(p, t)
}

// FindResource returns the resource that has uri, if p may know of it, and where
// in it that is. A document of its own comes before a template.
func (c *Catalog) FindResource(p Principal, uri string) (*Resource, Location, error) {
	for _, template := range []bool{false, true} {
		for _, r := range c.resources {
			if (r.Template != "") != template || !c.allows(p, r.Audience) {
				continue
			}
			if at, ok := r.locate(uri); ok {
				return r, at, nil
			}
		}
	}
	return nil, Location{}, ResourceNotFound(uri, fmt.Sprintf("no resource %q", ClipName(uri)))
}

// Watch has changed called whenever the document that p has under uri changes,
// until ctx ends. It returns the resource that has the document, or an [*Error]
// without secrets.
func (c *Catalog) Watch(ctx context.Context, p Principal, uri string, changed func()) (*Resource, error) {
	r, at, err := c.FindResource(p, uri)
	switch {
	case err != nil:
	case r.Watch == nil:
		err = &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("resource %s does not support subscriptions", ClipName(uri))}
	default:
		if err = r.Watch(ctx, at, changed); err == nil {
			return r, nil
		}
		err = publicError("resource "+r.Name, err)
	}
	e, _ := errors.AsType[*Error](err)
	seen := *e
	c.redactor.error(&seen)
	return nil, &seen
}

// findTool finds a tool that p may call.
func (c *Catalog) findTool(p Principal, name string) (*Tool, error) {
	t, ok := c.byName[name]
	switch {
	case !ok || !c.Settings.Access.Allowed(p, t):
		return nil, notFound(name)
	case t.Disabled:
		return nil, &Error{
			Code: CodeToolDisabled, Message: fmt.Sprintf("tool %q is disabled in the server's configuration", t.Name),
			Hint: "Use another tool, or ask the operator to enable this one.",
		}
	}
	return t, nil
}

func (c *Catalog) findPrompt(p Principal, name string) (*Prompt, error) {
	for _, prompt := range c.prompts {
		if prompt.Name == name && c.allows(p, prompt.Audience) {
			return prompt, nil
		}
	}
	return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no prompt %q", ClipName(name)), Hint: "Call prompts/list for the prompts there are."}
}

// completer returns what completes the argument that q is about.
func (c *Catalog) completer(q CompleteQuery) (Completer, error) {
	var complete Completer
	var fixed []string
	if q.Prompt != "" {
		p, err := c.findPrompt(q.Session.Principal, q.Prompt)
		if err != nil {
			return nil, err
		}
		complete = p.Complete
		for _, a := range p.Arguments {
			if a.Name == q.Argument {
				fixed = a.Values
			}
		}
	} else {
		i := slices.IndexFunc(c.resources, func(r *Resource) bool {
			return r.Template == q.Template && c.allows(q.Session.Principal, r.Audience)
		})
		if q.Template == "" || i < 0 {
			return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no resource template %q", ClipName(q.Template)), Hint: "Call resources/templates/list for those there are."}
		}
		complete = c.resources[i].Complete
	}
	if complete != nil && fixed == nil {
		return complete, nil
	}
	return func(context.Context, string, string, map[string]string) ([]string, error) {
		return filter(fixed, func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(q.Typed)) }), nil
	}, nil
}

// sourceItems are the items of one source, decorated with what configuration
// says of them. An item whose override has not changed is kept as it was, so
// that nobody has to look at it again.
type sourceItems struct {
	source    *heldSource
	offer     Offer
	tools     []decorated[Tool]
	resources []decorated[Resource]
	prompts   []decorated[Prompt]
}

type decorated[T any] struct {
	offered  T
	override Override
	item     *T
	err      error // why the item is not valid
}

func newSourceItems(source *heldSource) *sourceItems {
	offer := source.Offer()
	s := &sourceItems{source: source, offer: offer}
	for _, t := range offer.Tools {
		s.tools = append(s.tools, decorated[Tool]{offered: t, err: t.check()})
	}
	for _, r := range offer.Resources {
		s.resources = append(s.resources, decorated[Resource]{offered: r, err: r.check()})
	}
	for _, p := range offer.Prompts {
		s.prompts = append(s.prompts, decorated[Prompt]{offered: p, err: p.check()})
	}
	return s
}

// decorate returns the items under settings.
func (s *sourceItems) decorate(settings *Settings, switched map[string]bool) *sourceItems {
	return &sourceItems{
		source: s.source, offer: s.offer,
		tools: decorateAll(s.tools, func(t *Tool) Override {
			o := settings.Tools[t.Name]
			if off, ok := switched[t.Name]; ok {
				o.Disabled = off
			}
			return o
		}, (*Tool).override),
		resources: decorateAll(s.resources, func(r *Resource) Override { return settings.Resources[r.Name] }, (*Resource).override),
		prompts:   decorateAll(s.prompts, func(p *Prompt) Override { return settings.Prompts[p.Name] }, (*Prompt).override),
	}
}

func decorateAll[T any](items []decorated[T], of func(*T) Override, apply func(*T, Override)) []decorated[T] {
	all := slices.Clone(items)
	for i := range all {
		d := &all[i]
		o := of(&d.offered)
		if d.item != nil && reflect.DeepEqual(d.override, o) {
			continue
		}
		item := d.offered
		apply(&item, o)
		d.override, d.item = o, &item
	}
	return all
}

// merge makes a catalog of what sources offer, which are in the order in which
// they came: the first to offer a name has it.
func merge(settings Settings, sources []*sourceItems) *Catalog {
	c := &Catalog{Settings: settings, redactor: newRedactor(settings.Secrets), byName: map[string]*Tool{}}
	resources, resourceNames, prompts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		c.sources = append(c.sources, s.source)
		for _, m := range s.offer.Missing {
			m.Source = s.source.Name()
			c.missing = append(c.missing, m)
		}
		for _, d := range s.tools {
			err := d.err
			if err == nil && !validName(d.item.Name) {
				err = errName(d.item.Name)
			}
			if c.refuse(s, KindTool, d.offered.Name, err, c.byName[d.item.Name] != nil) {
				continue
			}
			c.byName[d.item.Name] = d.item
			c.tools = append(c.tools, d.item)
		}
		for _, d := range s.resources {
			if d.override.Disabled || c.refuse(s, KindResource, d.offered.Name, d.err, resources[d.item.key()] || resourceNames[d.item.Name]) {
				continue
			}
			resources[d.item.key()], resourceNames[d.item.Name] = true, true
			c.resources = append(c.resources, d.item)
		}
		for _, d := range s.prompts {
			if d.override.Disabled || c.refuse(s, KindPrompt, d.offered.Name, d.err, prompts[d.item.Name]) {
				continue
			}
			prompts[d.item.Name] = true
			c.prompts = append(c.prompts, d.item)
		}
	}
	slices.SortFunc(c.tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.resources, func(a, b *Resource) int { return cmp.Compare(a.key(), b.key()) })
	slices.SortFunc(c.prompts, func(a, b *Prompt) int { return cmp.Compare(a.Name, b.Name) })
	c.private = c.restricted()
	return c
}

// refuse notes why an item is left out, and reports whether it is.
func (c *Catalog) refuse(s *sourceItems, kind Kind, name string, err error, taken bool) bool {
	reason := ""
	switch {
	case err != nil:
		reason = "is not valid: " + err.Error()
	case taken:
		reason = "has a name or address that is taken already"
	default:
		return false
	}
	c.missing = append(c.missing, Missing{Kind: kind, Name: ClipName(name), Source: s.source.Name(), Reason: reason, Mistake: true})
	return true
}
