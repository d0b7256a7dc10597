package domain

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/redact"
)

// Settings are what configuration can change while the executor runs. Calls in
// flight go on with those they began with.
type Settings struct {
	Limits  Limits
	Access  Access
	Secrets []string // texts that must not appear in anything that leaves the server

	Discovery Discovery
	// StructuredContent says which half of results clients get: one of the forms, or "" for what fits the client.
	StructuredContent string
	Directory         string // where relative paths in arguments begin, as people who are elsewhere are told; "" if that is not on this machine

	// Overrides of single items, by the name their source gives them.
	Tools, Resources, Prompts, Skills map[string]Override

	OtherNames func() map[string][]string // tools by what other programs call them, for [nearest.Tool]
}

// listsOtherwise reports whether lists show the same tools in another way than under other settings.
func (s *Settings) listsOtherwise(other *Settings) bool {
	return s.Discovery != other.Discovery || s.StructuredContent != other.StructuredContent || s.Limits.MaxResultChars != other.Limits.MaxResultChars
}

// Override is what configuration says of one tool or, in part, of one resource,
// prompt or skill. The zero value changes nothing.
type Override struct {
	Enabled         *bool              `yaml:"enabled"`
	Timeout         time.Duration      `yaml:"timeout" min:"1ms" max:"24h"`
	Groups          []string           `yaml:"groups"`
	Scopes          []string           `yaml:"scopes" format:"scope" template:"-"`
	ComplianceLevel string             `yaml:"compliance_level" format:"level" template:"-"`
	RatePerMinute   int                `yaml:"rate_per_minute" min:"0" template:"-"`
	Cost            *int64             `yaml:"cost" min:"0" template:"-"`
	Confirm         *bool              `yaml:"confirm"`
	Rename          string             `yaml:"rename" template:"-"`
	Description     string             `yaml:"description" template:"-"`
	Annotations     AnnotationOverride `yaml:"annotations" template:"-"`
}

// following returns what o says, and where it says nothing of who may use the tool, what
// another override does.
func (o Override) following(other Override) Override {
	if o.Enabled == nil {
		o.Enabled = other.Enabled
	}
	if o.Groups == nil {
		o.Groups = other.Groups
	}
	if o.Scopes == nil {
		o.Scopes = other.Scopes
	}
	o.ComplianceLevel = cmp.Or(o.ComplianceLevel, other.ComplianceLevel)
	return o
}

// AnnotationOverride replaces single [Annotations].
type AnnotationOverride struct {
	ReadOnly    *bool `yaml:"read_only"`
	Destructive *bool `yaml:"destructive"`
	Idempotent  *bool `yaml:"idempotent"`
	OpenWorld   *bool `yaml:"open_world"`
}

func (o AnnotationOverride) over(a Annotations) Annotations {
	for _, f := range []struct {
		override *bool
		of       *bool
	}{{o.ReadOnly, &a.ReadOnly}, {o.Destructive, &a.Destructive}, {o.Idempotent, &a.Idempotent}, {o.OpenWorld, &a.OpenWorld}} {
		if f.override != nil {
			*f.of = *f.override
		}
	}
	return a
}

// Discovery says which tools clients find in lists, and which by search only.
type Discovery struct {
	Mode  string `yaml:"mode" short:"true" enum:"auto|all|search"`
	Limit int    `yaml:"limit" min:"0"`
}

// The modes of [Discovery] besides auto, which lists tools of other servers up to the limit, and all of them to a client
// that defers tools itself.
const (
	DiscoverAll    = "all"    // everything is listed
	DiscoverSearch = "search" // only what searches is listed
)

// lists returns the tools that lists of a session show.
func (d Discovery) lists(s Session, tools []*Tool) []*Tool {
	if d.Mode == DiscoverSearch {
		return filter(tools, func(t *Tool) bool { return t.Listing >= ListedAlways })
	}
	few := filter(tools, func(t *Tool) bool { return t.Listing != ListedIfFew })
	if d.Mode == DiscoverAll || s.ClaudeCode() || len(tools)-len(few) <= d.Limit {
		return tools
	}
	return few
}

func (o *Override) disabled() bool { return o != nil && o.Enabled != nil && !*o.Enabled }

// Catalog is one state of everything the server offers, and of the settings it
// is offered under. It is merged from what the sources offer, switched as a
// whole, and not changed once it is published.
type Catalog struct {
	Settings  Settings
	Redactor  redact.Redactor
	byName    map[string]*Tool
	byAlias   map[string][]*Tool
	tools     []*Tool     // by name
	resources []*Resource // by key
	prompts   []*Prompt   // by name
	skills    []*Skill    // by path
	disabled  []*Resource // by configuration
	missing   []Missing
	private   bool   // what is listed depends on the principal
	unknown   string // why a source does not know yet what it offers

	sources []*heldSource // whose items are in it
	users   atomic.Int64  // requests in flight under it, and one while it is in force
}

// Unknown returns why a source does not know yet what it offers, which [Registry.Look] waits for; "" if all do.
func (c *Catalog) Unknown() string { return c.unknown }

// Tool returns the named tool.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}

// Tools returns all tools, those that are disabled too, sorted by name.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Skills returns all skills, those that are disabled too, sorted by path.
func (c *Catalog) Skills() []*Skill { return c.skills }

// Missing returns what is not offered although a source knows of it, with the
// reason: it lacks something, is not valid, or has a name that is taken.
func (c *Catalog) Missing() []Missing { return c.missing }

// Private reports whether what is listed depends on the principal.
func (c *Catalog) Private() bool { return c.private }

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
		if scopes, lacks := c.Settings.Access.Lacks(p, t); lacks {
			return lacking(t, scopes).Message
		}
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
	return fmt.Sprintf("no tool %q: no source offers it", brief.Name(name))
}

// allows reports whether p may know of something for audience a.
func (c *Catalog) allows(p Principal, a Audience) bool {
	access := &c.Settings.Access
	if p.Anonymous || !access.admits(p, a.Groups, a.ComplianceLevel) || len(p.without(a.Scopes)) > 0 {
		return false
	}
	if a.Tool == "" {
		return true
	}
	t, ok := c.byName[a.Tool]
	if !ok { // the configuration may have renamed it
		if i := slices.IndexFunc(c.tools, func(t *Tool) bool { return t.Offered == a.Tool }); i >= 0 {
			t, ok = c.tools[i], true
		}
	}
	if !ok || t.Disabled || !access.Allowed(p, t) {
		return false
	}
	_, lacks := access.Lacks(p, t)
	return !lacks
}

// FindResource returns the resource that has uri, if p may know of it, and where
// in it that is. A file of a skill comes first. The most specific one has it: a document of its own before a template, and
// of templates the one with most that is literal. Then come aliases, if one resource is
// the most specific, and then sources whose documents need not be listed.
func (c *Catalog) FindResource(p Principal, uri string) (*Resource, Location, error) {
	if r := c.skillFile(p, uri); r != nil {
		return r, Location{URI: uri}, nil
	}
	if c.withheldOrigin(p, uri) {
		return nil, Location{}, ResourceNotFound(uri, fmt.Sprintf("no resource %q", brief.Name(uri)))
	}
	budget := matchBudget
	for _, alias := range []bool{false, true} {
		var found *Resource
		var at Location
		most, alone := -1, false
		for _, r := range c.resources {
			if r.Linked != nil || alias && r.Alias == "" || !c.allows(p, r.Audience) {
				continue
			}
			if place, specific, ok := r.locate(uri, alias, &budget); ok && specific >= most {
				if alone = specific > most; alone {
					found, at, most = r, place, specific
				}
			}
		}
		if found != nil && (alone || !alias) {
			return found, at, nil
		}
	}
	unlisted := filter(c.resources, func(r *Resource) bool { return r.Linked != nil && c.allows(p, r.Audience) && !c.withholds(p, r) })
	for _, linked := range []bool{false, true} {
		found := filter(unlisted, func(r *Resource) bool {
			return linked && r.Linked(p.ID, uri) || !linked && strings.HasPrefix(uri, r.URI)
		})
		if len(found) == 1 {
			return found[0], Location{URI: uri}, nil
		}
	}
	return nil, Location{}, ResourceNotFound(uri, fmt.Sprintf("no resource %q", brief.Name(uri)))
}

// withholds reports whether something that rest would give access to is withheld from p, who
// then reads what is listed only: nobody knows which other addresses stand for the same.
func (c *Catalog) withholds(p Principal, rest *Resource) bool {
	under := func(r *Resource) bool { return strings.HasPrefix(r.key(), rest.URI) }
	origin := func(text string) bool { return strings.HasPrefix(text, rest.URI) }
	return slices.ContainsFunc(c.withheldSkills(p), func(s *Skill) bool { return slices.ContainsFunc(s.Origins, origin) }) ||
		slices.ContainsFunc(c.disabled, under) ||
		slices.ContainsFunc(c.resources, func(r *Resource) bool { return under(r) && !c.allows(p, r.Audience) })
}

// Watch has changed called whenever the document that p has under uri changes,
// until ctx ends. It returns the resource that has the document, or an [*Error]
// without secrets.
func (c *Catalog) Watch(ctx context.Context, p Principal, uri string, changed func()) (*Resource, error) {
	r, at, err := c.FindResource(p, uri)
	switch {
	case err != nil:
	case r.Watch == nil:
		err = &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("resource %s does not support subscriptions", brief.Name(uri))}
	default:
		if err = r.Watch(ctx, at, changed); err == nil {
			return r, nil
		}
		err = PublicError("resource "+r.Name, err)
	}
	e, _ := errors.AsType[*Error](err)
	seen := *e
	seen.Redact(&c.Redactor)
	return nil, &seen
}

// FindTool finds a tool that p may call.
func (c *Catalog) FindTool(p Principal, name string) (*Tool, error) {
	t, ok := c.byName[name]
	if !ok {
		t, ok = c.aliased(p, name)
	}
	switch {
	case !ok || !c.Settings.Access.Allowed(p, t):
		var others map[string][]string
		if c.Settings.OtherNames != nil {
			others = c.Settings.OtherNames()
		}
		err := notFound(name, c.callable(p), others)
		for _, m := range c.missing {
			near, known := nearest.Tool(name, []string{m.Name}, others)
			itself := nearest.Plain(name) == nearest.Plain(m.Name)
			if m.Kind == KindTool && !c.private && known && near != nil && (itself || !strings.Contains(err.Message, "did you mean")) {
				err.Message = fmt.Sprintf("no tool %q: %s %s", brief.Name(name), m.Name, m.Reason)
				break
			}
		}
		return nil, err
	case t.Disabled:
		return nil, &Error{
			Code: CodeToolDisabled, Message: fmt.Sprintf("tool %q is disabled in the server's configuration", t.Name),
			Hint: "Use another tool, or ask the operator to enable this one.",
		}
	}
	if scopes, lacks := c.Settings.Access.Lacks(p, t); lacks {
		return nil, lacking(t, scopes)
	}
	return t, nil
}

// Lacks is [Access.Lacks] of the named tool; of one that p may not know of, nothing is lacking.
func (c *Catalog) Lacks(p Principal, name string) (scopes []string, lacks bool) {
	t, ok := c.byName[name]
	if !ok {
		t, ok = c.aliased(p, name)
	}
	if !ok || t.Disabled || !c.Settings.Access.Allowed(p, t) {
		return nil, false
	}
	return c.Settings.Access.Lacks(p, t)
}

func lacking(t *Tool, scopes []string) *Error {
	if len(scopes) == 0 {
		return &Error{Code: CodeMissingScope, Message: "tool " + t.Name + " is for people who have signed in", Hint: "Sign in."}
	}
	return &Error{
		Code: CodeMissingScope, Message: fmt.Sprintf("tool %s needs the scope %s, which the credentials do not have", t.Name, strings.Join(scopes, " and ")),
		Hint: "Sign in again, with that scope.",
	}
}

// callable returns the tools that p may call.
func (c *Catalog) callable(p Principal) []*Tool {
	return filter(c.tools, func(t *Tool) bool { return !t.Disabled && c.Settings.Access.Allowed(p, t) })
}

// aliased returns the tool that p may use under another name, if that stands for one
// only: a tool that p may not know of makes no difference.
func (c *Catalog) aliased(p Principal, name string) (*Tool, bool) {
	found := filter(c.byAlias[name], func(t *Tool) bool { return c.Settings.Access.Allowed(p, t) })
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// FindPrompt finds a prompt that p may have, or returns an [*Error].
func (c *Catalog) FindPrompt(p Principal, name string) (*Prompt, error) {
	for _, prompt := range c.prompts {
		if prompt.Name == name && c.allows(p, prompt.Audience) {
			return prompt, nil
		}
	}
	return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no prompt %q", brief.Name(name)), Hint: "Call prompts/list for the prompts there are."}
}

// CompleteQuery asks for completions of an argument.
type CompleteQuery struct {
	Session  Session
	Prompt   string // the prompt whose argument it is,
	Template string // or the resource template whose variable it is
	Argument string
	Typed    string
	Given    map[string]string // other arguments, as far as they are known
}

// completer returns what completes the argument that q is about.
func (c *Catalog) CompleterOf(q CompleteQuery) (Completer, error) {
	var complete Completer
	var fixed []string
	if q.Prompt != "" {
		p, err := c.FindPrompt(q.Session.Principal, q.Prompt)
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
		var found []*Resource
		for _, alias := range []bool{false, true} {
			if found == nil {
				found = filter(c.resources, func(r *Resource) bool {
					return r.Template != "" && (r.Template == q.Template || alias && r.Alias == q.Template) && c.allows(q.Session.Principal, r.Audience)
				})
			}
		}
		if len(found) != 1 {
			return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no resource template %q", brief.Name(q.Template)),
				Hint: "Call resources/templates/list for those there are."}
		}
		complete = found[0].Complete
	}
	if complete != nil && fixed == nil {
		return complete, nil
	}
	return func(context.Context, string, string, map[string]string) (Completions, error) {
		return Completions{Values: filter(fixed, func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(q.Typed)) })}, nil
	}, nil
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

// ListToolsQuery asks for the tools a session may use.
type ListToolsQuery struct {
	Session  Session
	Category string // empty means all
	Cursor   string // of an earlier page; empty means the first
}

// ToolPage is one page of an answer, sorted by name.
type ToolPage struct {
	Tools []*Tool
	Next  string // cursor of the next page; empty on the last
}

// List returns the enabled tools the session may use, as far as lists show them (see
// [Discovery]). A page is never empty
// unless there are none at all. The only error is a cursor that is none of
// ours, an [*Error] with [CodeInvalidParams].
func (c *Catalog) List(q ListToolsQuery) (ToolPage, error) {
	tools := filter(c.tools, func(t *Tool) bool {
		return !t.Disabled && (q.Category == "" || t.Category == q.Category) && c.Settings.Access.Allowed(q.Session.Principal, t)
	})
	page, next, err := pageOf(c.Settings.Discovery.lists(q.Session, tools), func(t *Tool) string { return t.Name }, q.Cursor, c.Settings.Limits.PageSize)
	return ToolPage{page, next}, err
}

// Hidden returns how many tools the session may use that lists leave out.
func (c *Catalog) Hidden(s Session) int {
	tools := c.callable(s.Principal)
	return len(tools) - len(c.Settings.Discovery.lists(s, tools))
}

// ListResources returns the page of the resources p may read that begins after
// cursor, with or without a template, and the cursor of the next page.
func (c *Catalog) ListResources(p Principal, templates bool, cursor string) (page []*Resource, next string, err error) {
	all := filter(c.resources, func(r *Resource) bool {
		return r.Linked == nil && !r.Unlisted && (r.Template != "") == templates && c.allows(p, r.Audience)
	})
	for _, s := range c.skills {
		if s.Listed && !templates && c.allowsSkill(p, s) {
			all = append(all, s.resource(SkillFile{URI: s.URI()}))
		}
	}
	slices.SortStableFunc(all, func(a, b *Resource) int { return cmp.Compare(a.key(), b.key()) })
	return pageOf(all, (*Resource).key, cursor, c.Settings.Limits.PageSize)
}

// ListPrompts returns the page of the prompts p may have that begins after
// cursor, and the cursor of the next page.
func (c *Catalog) ListPrompts(p Principal, cursor string) (page []*Prompt, next string, err error) {
	all := filter(c.prompts, func(prompt *Prompt) bool { return c.allows(p, prompt.Audience) })
	return pageOf(all, func(p *Prompt) string { return p.Name }, cursor, c.Settings.Limits.PageSize)
}

// pageOf returns the page of items, which are sorted by key, that begins after
// cursor, and the cursor of the next page.
func pageOf[T any](items []T, key func(T) string, cursor string, size int) (page []T, next string, err error) {
	if cursor != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(cursor)
		last, ours := strings.CutPrefix(string(decoded), cursorMark)
		if err != nil || !ours {
			return nil, "", &Error{Code: CodeInvalidParams, Message: "the cursor is not one that this list gave", Err: err, Hint: "Ask for the list without a cursor."}
		}
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i]) > last }):]
	}
	if size <= 0 || len(items) <= size {
		return items, "", nil
	}
	return items[:size], base64.RawURLEncoding.EncodeToString([]byte(cursorMark + key(items[size-1]))), nil
}

// cursorMark is what cursors begin with, so that others are not taken for one.
const cursorMark = "after:"
