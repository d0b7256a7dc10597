// Package declare holds what a package of tools exports: a [Family]. The configuration, the sandbox, the documentation and
// the catalog follow from it.
package declare

import (
	"net/http"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// A Family is tools, resources and prompts that are made together. What it works with that stays while the program runs, its package
// has from the arguments of the function that returns the family; C is what the configuration says of it, and D what its tools share.
type Family[C, D any] struct {
	Name     string
	Category Category // of its tools
	// Settings are those that the section tools.NAME of the configuration has for all of its tools together; see [Entry.Settings].
	Settings any
	// ByPolicy says that a family is made anew when the policy changes, and not only when C or settings do: what it shares is then
	// made from the sandbox. Other families keep their state.
	ByPolicy bool
	// Once says that people who work under policies of their own share the family: it limits how often a service is asked.
	Once  bool
	Tools []Entry[D]
	// Share makes what the tools share; nil if that is nothing. The error is a setting that cannot be used.
	Share func(From[C]) (D, error)
	// Others are its resources and prompts; nil if there are none.
	Others func(D) domain.Offer
}

// A Category is that of tools.
type Category struct {
	Name    string // as [domain.Tool] has it
	Heading string // for people
}

// An Entry is a tool of a family.
type Entry[D any] struct {
	Owner sandbox.Owner
	// Settings are those that only the tool has: the zero value of a struct with the tags of package structschema, or nil.
	Settings any
	Category Category       // if it is not that of the family
	Lacks    func(D) string // says why the tool is not offered, as a clause, "" if it is; nil if it always is
	Make     func(D, sandbox.Capabilities) domain.Tool
}

// From is what a family is made from.
type From[C any] struct {
	Sandbox  *sandbox.Sandbox
	Client   func(tool string) *http.Client // sends the requests of a tool
	Config   C
	Settings Settings // of its tools
}

// Config is a [Family.Share] of tools that share what the configuration says.
func Config[C any](from From[C]) (C, error) { return from.Config, nil }

// A Tool is what an [Entry] declares, whatever its tools share.
type Tool struct {
	sandbox.Owner
	Category Category
	Settings any
}

func (f Family[C, D]) category(e Entry[D]) Category {
	if e.Category.Name != "" {
		return e.Category
	}
	return f.Category
}

// Declared returns what the tools declare, whether or not they are offered.
func (f Family[C, D]) Declared() (tools []Tool) {
	for _, e := range f.Tools {
		tools = append(tools, Tool{e.Owner, f.category(e), e.Settings})
	}
	return tools
}

// Offer makes the family.
func (f Family[C, D]) Offer(from From[C]) (o domain.Offer, err error) {
	var shared D
	if f.Share != nil {
		if shared, err = f.Share(from); err != nil {
			return o, err
		}
	}
	if f.Others != nil {
		o = f.Others(shared)
	}
	for _, e := range f.Tools {
		category := f.category(e).Name
		if e.Lacks != nil {
			if reason := e.Lacks(shared); reason != "" {
				o.Missing = append(o.Missing, domain.Missing{Kind: domain.KindTool, Name: e.Owner.Tool, Category: category, Reason: reason})
				continue
			}
		}
		var held sandbox.Capabilities
		if from.Sandbox != nil {
			held = from.Sandbox.For(e.Owner.Tool)
		}
		t := e.Make(shared, held)
		t.Category = category
		o.Tools = append(o.Tools, t)
	}
	return o, nil
}

// Owners returns what tools declare to the sandbox.
func Owners(tools []Tool) []sandbox.Owner {
	owners := make([]sandbox.Owner, len(tools))
	for i, t := range tools {
		owners[i] = t.Owner
	}
	return owners
}

// Settings are the settings of single tools and families as the configuration has them, by name: pointers to the structs that they
// declare.
type Settings map[string]any

// Of returns the settings of a tool or family, or the zero value if the configuration says nothing about it.
func Of[T any](s Settings, name string) (settings T) {
	if set, ok := s[name].(*T); ok {
		return *set
	}
	return settings
}
