// Package tools assembles the built-in tools, family by family.
package tools

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/text/jq"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/google/signin"
	"github.com/toolserver/toolserver/tools/linkedin"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/tools/prompts"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/tools/shell"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/tools/utility"
	"github.com/toolserver/toolserver/tools/web"
	"github.com/toolserver/toolserver/tools/websearch"
)

// Deps is what the built-in families are made from.
type Deps struct {
	Sandbox   *Sandbox
	Settings  declare.Settings // of single tools
	Results   *domain.ResultStore
	Selector  *jq.Selector
	Catalog   func(domain.Principal) []*domain.Tool // what a principal can call, all tools considered
	Resources resources.Deps                        // its files are those of Sandbox

	FileOptions  files.Options // without Settings
	ShellOptions shell.Options
	Web          web.Options
	Search       websearch.Options
	LinkedIn     linkedin.Options
	Anthropic    anthropic.Options
	Google       google.Deps // without what the others say

	Finder  discovery.Finder
	Servers int // of mcp_servers

	CapabilitiesFile string // empty for [meta.DefaultFile]
}

// from returns what accounts are made from.
func (d Deps) googleFrom() any {
	return []any{d.Google.Options, d.Google.Host.Keeping, d.Google.Disabled, d.googleTier(), d.Sandbox.Policy.StateDirectory}
}

func (d Deps) googleTier() google.Tier { return declare.Of[google.Tier](d.Settings, google.Section) }

func (d Deps) google() google.Deps {
	d.Google.Full, d.Google.Sandbox = d.googleTier().Tier == google.Full, d.Sandbox.Sandbox
	return d.Google
}

// Sandbox is the part of the machine that one policy lets tools use.
type Sandbox struct {
	*sandbox.Sandbox
	Policy sandbox.Policy
}

// A family is tools, resources and prompts that are made together. What it is made
// from is compared when configuration changes: a family that would be the same
// stays, and keeps its state.
type family struct {
	name     string
	declared func() declare.Group // nil if nothing of it can be missing
	from     any                  // apart from the policy; nil if it is made from nothing that changes
	boxed    bool                 // it uses the sandbox, and so depends on the policy
	make     func(Deps) (domain.Offer, error)
}

// list returns the families that d makes.
func list(d Deps) []family {
	d.FileOptions.Settings = d.Settings.Only(files.Declared())
	onSystem := system.Options{WorkingDirectory: d.Sandbox.WorkingDirectory(), Settings: d.Settings.Only(system.Declared())}
	return []family{
		{"utility", nil, nil, false, func(d Deps) (domain.Offer, error) { return offer(utility.Tools(d.Sandbox.Sandbox), nil) }},
		{"files", nil, d.FileOptions, true, func(Deps) (domain.Offer, error) { return offer(files.Tools(d.Sandbox.Sandbox, d.FileOptions), nil) }},
		{"shell", shell.Declared, d.ShellOptions, true, func(d Deps) (domain.Offer, error) {
			return offer(shell.Tools(d.Sandbox.Sandbox, d.ShellOptions), nil)
		}},
		{"system", nil, onSystem, false, func(Deps) (domain.Offer, error) { return offer(system.Tools(onSystem)) }},
		{"web", nil, d.Web, true, func(d Deps) (domain.Offer, error) {
			held := d.Sandbox.For(web.Name)
			return offer(web.Tools(held.Fetcher(), content.NewReader(held.Filters()), d.Web), nil)
		}},
		{"websearch", websearch.Declared, d.Search, false, func(d Deps) (domain.Offer, error) { return offer(websearch.Tools(d.client, d.Search)) }},
		{"linkedin", nil, d.LinkedIn, false, func(d Deps) (domain.Offer, error) { return offer(linkedin.Tools(d.client, d.LinkedIn)) }},
		{"anthropic", anthropic.Declared, d.Anthropic, false, func(d Deps) (domain.Offer, error) { return offer(anthropic.Tools(d.client, d.Anthropic)) }},
		{"google", nil, d.googleFrom(), true, func(d Deps) (domain.Offer, error) { return google.Offer(d.google()) }},
		{"meta", nil, []any{d.CapabilitiesFile, d.Anthropic}, true, func(d Deps) (domain.Offer, error) {
			ask, err := asker(d)
			return domain.Offer{Tools: append(meta.Tools(d.Results, d.Selector), meta.RefreshTool(meta.Capabilities{
				Catalog: d.Catalog, Files: d.Sandbox.For(meta.RefreshName).Writer(), File: d.CapabilitiesFile, Headings: headings(), Ask: ask,
			}))}, err
		}},
		{"mcp", nil, []any{d.Servers > 0, d.Finder.Everything}, false, func(d Deps) (domain.Offer, error) { return d.Finder.Offer(d.Servers), nil }},
		{"resources", nil, []any{d.Resources.WorkingDirectory, d.Servers > 0}, true, func(d Deps) (domain.Offer, error) {
			if d.Servers == 0 {
				d.Resources.Upstreams = nil
			}
			d.Resources.Files, d.Resources.Listed = d.Sandbox.For(files.ReadFile).Reader(), d.Sandbox.For(files.ListDirectory).Reader()
			return domain.Offer{Resources: resources.All(d.Resources)}, nil
		}},
		{"prompts", nil, nil, false, func(Deps) (domain.Offer, error) { return domain.Offer{Prompts: prompts.All()}, nil }},
	}
}

// client returns what a tool sends HTTP requests with.
func (d Deps) client(tool string) *http.Client { return d.Sandbox.For(tool).Fetcher().Client() }

func offer(tools []domain.Tool, err error) (domain.Offer, error) {
	return domain.Offer{Tools: tools}, err
}

// Families keeps the sources of the built-in families from one configuration to
// the next. The zero value is ready to use. It is not safe for concurrent use.
type Families struct{ families }

// families are the families of a configuration, with what they share.
type families struct {
	made       []madeFamily
	accounts   *signin.Accounts // of Google; nil without credentials
	googleFrom any              // what they were made from
}

type madeFamily struct {
	family
	box    *Sandbox
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
	// Sign-ins that wait survive a change of the policy.
	u := &Update{of: f, families: families{accounts: f.accounts, googleFrom: d.googleFrom()}}
	if !reflect.DeepEqual(u.googleFrom, f.googleFrom) {
		u.accounts = google.Accounts(d.google())
	}
	d.Google.Accounts = u.accounts
	for i, wanted := range list(d) {
		if f.made != nil && f.made[i].same(wanted, d.Sandbox) {
			u.made = append(u.made, f.made[i])
			continue
		}
		o, err := wanted.make(d)
		if err != nil {
			return nil, fmt.Errorf("%s tools: %w", wanted.name, err)
		}
		o.Missing = append(o.Missing, wanted.missing(o.Tools)...)
		m := madeFamily{family: wanted}
		if wanted.boxed {
			m.box = d.Sandbox
		}
		m.source = domain.FixedSource(wanted.name, o, nil)
		u.made = append(u.made, m)
		u.Changed = append(u.Changed, m.source)
	}
	return u, nil
}

func (m *madeFamily) same(wanted family, box *Sandbox) bool {
	return (!wanted.boxed || m.box == box) && reflect.DeepEqual(m.from, wanted.from)
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
	if before := u.of.accounts; before != nil && before != u.accounts {
		_ = before.Close() // nothing of it is needed any more
	}
	u.of.families = u.families
}

// Accounts returns the accounts of Google, or nil without credentials.
func (f *Families) Accounts() *signin.Accounts { return f.accounts }

// Close ends the sign-ins that wait.
func (f *Families) Close() {
	if f.accounts != nil {
		_ = f.accounts.Close() // the process ends
	}
}
