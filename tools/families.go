// Package tools assembles the built-in tools, family by family.
package tools

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/text/jq"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/google/signin"
	"github.com/toolserver/toolserver/tools/linkedin"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/tools/prompts"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/tools/shell"
	"github.com/toolserver/toolserver/tools/skills"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/tools/utility"
	"github.com/toolserver/toolserver/tools/web"
	"github.com/toolserver/toolserver/tools/websearch"
)

// Deps is what the built-in families are made from.
type Deps struct {
	Server
	Sandbox  *Sandbox
	Settings declare.Settings // of single tools and families

	// What the configuration says of each family.
	Files     files.Options
	Shell     shell.Options
	Web       web.Options
	Search    websearch.Options
	LinkedIn  linkedin.Options
	Anthropic anthropic.Options
	Google    google.Config
	Meta      meta.Options
	Discovery discovery.Options
	Resources resources.Options
	Skills    skills.Options
}

// Server is what families work with that stays while the program runs.
type Server struct {
	Results     *call.ResultStore
	Selector    *jq.Selector
	Catalog     func() *domain.Catalog                // what is in force
	Callable    func(domain.Principal) []*domain.Tool // what a principal can call, all tools considered
	Host        pages.Host
	OpenBrowser func(address string)
	Status      resources.Server
}

// Sandbox is the part of the machine that one policy lets tools use.
type Sandbox struct {
	*sandbox.Sandbox
	Policy sandbox.Policy
}

// list returns the families, each with what of d it is made from.
func list(d Deps, accounts *signin.Accounts) []family {
	aboutServer := meta.Server{Results: d.Results, Selector: d.Selector, Catalog: d.Callable, Headings: headings}
	return []family{
		of(d, utility.Family(), struct{}{}),
		of(d, files.Family(), d.Files),
		of(d, shell.Family(d.Results), d.Shell),
		of(d, system.Family(), struct{}{}),
		of(d, web.Family(), d.Web),
		of(d, websearch.Family(), d.Search),
		of(d, linkedin.Family(), d.LinkedIn),
		of(d, anthropic.Family(), d.Anthropic),
		of(d, google.Family(accounts), d.Google),
		of(d, meta.Family(aboutServer), d.Meta),
		of(d, discovery.Family(d.Server.Catalog, d.Results, d.Selector), d.Discovery),
		of(d, resources.Family(d.Status), d.Resources),
		of(d, prompts.Family(), struct{}{}),
		of(d, skills.Family(d.Skills), d.Skills),
	}
}

// A family is a [declare.Family] of whatever types, with what it is made from.
type family interface {
	name() string
	declared() []declare.Tool
	section() any
	offer() (domain.Offer, error)
	// same reports whether another would be the same: that one stays, and keeps its state.
	same(other family) bool
	// once reports whether all share the family whose tools have the same policy.
	once() bool
}

type bound[C, D any] struct {
	declare.Family[C, D]
	from declare.From[C]
}

// of returns a family with what of d it is made from.
func of[C, D any](d Deps, f declare.Family[C, D], config C) family {
	from := declare.From[C]{Client: d.client, Config: config, Settings: declare.Settings{}}
	if d.Sandbox != nil {
		from.Sandbox = d.Sandbox.Sandbox
	}
	for name, set := range d.Settings {
		if name == f.Name && f.Settings != nil || slices.ContainsFunc(f.Tools, func(e declare.Entry[D]) bool { return e.Owner.Tool == name }) {
			from.Settings[name] = set
		}
	}
	return &bound[C, D]{f, from}
}

func (b *bound[C, D]) name() string                 { return b.Name }
func (b *bound[C, D]) declared() []declare.Tool     { return b.Declared() }
func (b *bound[C, D]) section() any                 { return b.Family.Settings }
func (b *bound[C, D]) offer() (domain.Offer, error) { return b.Offer(b.from) }

func (b *bound[C, D]) same(other family) bool {
	o, ok := other.(*bound[C, D])
	return ok && (!b.ByPolicy || b.from.Sandbox == o.from.Sandbox) &&
		reflect.DeepEqual(b.from.Config, o.from.Config) && reflect.DeepEqual(b.from.Settings, o.from.Settings)
}

func (b *bound[C, D]) once() bool { return b.Once }

// client returns what a tool sends HTTP requests with.
func (d Deps) client(tool string) *http.Client { return d.Sandbox.For(tool).Fetcher().Client() }

// Declared returns what the built-in tools declare, whether or not the configuration
// has what each needs.
func Declared() (all []declare.Tool) {
	for _, f := range list(Deps{}, nil) {
		all = append(all, f.declared()...)
	}
	return all
}

// Sections returns the families that the section tools of the configuration has settings for, with their zero value.
func Sections() map[string]any {
	all := map[string]any{}
	for _, f := range list(Deps{}, nil) {
		if s := f.section(); s != nil {
			all[f.name()] = s
		}
	}
	return all
}

// Categories returns the categories of the built-in tools, sorted. Which of them
// have tools depends on the configuration.
func Categories() []string { return slices.Sorted(maps.Keys(headings())) }

// headings returns the names of the categories, for people.
func headings() map[string]string {
	all := map[string]string{}
	for _, t := range Declared() {
		all[t.Category.Name] = t.Category.Heading
	}
	return all
}

// Families keeps the sources of the built-in families from one configuration to
// the next. The zero value is ready to use. It is not safe for concurrent use.
type Families struct{ families }

// families are the families of a configuration, with what they share.
type families struct {
	made     []madeFamily
	accounts google.Accounts
}

type madeFamily struct {
	family
	source domain.Source
}

// Update is the families of a configuration that is not in force yet.
type Update struct {
	Changed []domain.Source // those that are new or others than before
	of      *Families
	families
}

// Prepare makes the families of d, as far as they do not exist already. The error
// is of an option of d that is not valid.
func (f *Families) Prepare(d Deps) (*Update, error) {
	accounts := declare.From[google.Config]{Sandbox: d.Sandbox.Sandbox, Client: d.client, Config: d.Google, Settings: d.Settings}
	u := &Update{of: f, families: families{accounts: f.accounts.Update(accounts, d.Sandbox.Policy.StateDirectory, d.Host, d.OpenBrowser)}}
	for i, wanted := range list(d, u.accounts.Accounts) {
		if f.made != nil && f.made[i].same(wanted) {
			u.made = append(u.made, f.made[i])
			continue
		}
		o, err := wanted.offer()
		if err != nil {
			return nil, fmt.Errorf("%s tools: %w", wanted.name(), err)
		}
		m := madeFamily{wanted, domain.FixedSource(wanted.name(), o, nil)}
		u.made = append(u.made, m)
		u.Changed = append(u.Changed, m.source)
	}
	return u, nil
}

// Family returns the one of that name for d.
func (u *Update) Family(name string, d Deps) (domain.Source, error) {
	all := list(d, u.accounts.Accounts)
	o, err := all[slices.IndexFunc(all, func(f family) bool { return f.name() == name })].offer()
	return domain.FixedSource(name, o, nil), err
}

// Beside returns the families for d, another policy that is in force at the same time, as far as they differ from those of the update, and those
// of the update otherwise.
func (u *Update) Beside(d Deps, policy sandbox.Policy) (own, shared []domain.Source, err error) {
	for i, wanted := range list(d, u.accounts.Accounts) {
		samePolicy := !slices.ContainsFunc(wanted.declared(), func(t declare.Tool) bool {
			return !reflect.DeepEqual(d.Sandbox.Policy.Tools[t.Tool], policy.Tools[t.Tool])
		})
		if u.made[i].once() && u.made[i].same(wanted) && samePolicy {
			shared = append(shared, u.made[i].source)
			continue
		}
		o, err := wanted.offer()
		if err != nil {
			return nil, nil, fmt.Errorf("%s tools: %w", wanted.name(), err)
		}
		own = append(own, domain.FixedSource(wanted.name(), o, nil))
	}
	return own, shared, nil
}

// Offers returns what all families of the configuration offer.
func (u *Update) Offers() (all []domain.Offer) {
	for _, m := range u.made {
		all = append(all, m.source.Offer())
	}
	return all
}

// Commit puts the update into force. Sign-ins that wait end if Google's settings have changed.
func (u *Update) Commit() {
	if before := u.of.accounts.Accounts; before != nil && before != u.accounts.Accounts {
		_ = before.Close() // nothing of it is needed any more
	}
	u.of.families = u.families
}

// Accounts returns the accounts of Google, or nil without credentials.
func (f *Families) Accounts() *signin.Accounts { return f.accounts.Accounts }

// Close ends the sign-ins that wait.
func (f *Families) Close() {
	if f.accounts.Accounts != nil {
		_ = f.accounts.Accounts.Close() // the process ends
	}
}
