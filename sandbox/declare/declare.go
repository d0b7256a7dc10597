// Package declare holds what tools declare before they are built. The configuration,
// the sandbox and the documentation follow from it.
package declare

import (
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// A Tool is what a tool declares: what it is handed, and the settings that only it
// has. The settings are the zero value of a struct with the tags of package structschema,
// or nil if there are none.
type Tool struct {
	sandbox.Owner
	Settings any
	Lacks    string // why it is not offered, where it is not: "needs the environment variable X"
}

// A Group is what the tools of a package declare.
type Group struct {
	Category string // as [domain.Tool] has it
	Heading  string // the category for people
	Tools    []Tool
}

// An Entry is a tool in the list of its package, whose tools share D.
type Entry[D any] struct {
	Owner    sandbox.Owner
	Settings any                                       // see [Tool]
	Make     func(D, sandbox.Capabilities) domain.Tool // nil if its package makes it in another way
}

// Tools returns what the entries declare.
func Tools[D any](entries []Entry[D]) []Tool {
	tools := make([]Tool, len(entries))
	for i, e := range entries {
		tools[i] = Tool{Owner: e.Owner, Settings: e.Settings}
	}
	return tools
}

// Make makes the tools of the entries. Each gets what s hands to it.
func Make[D any](s *sandbox.Sandbox, shared D, entries []Entry[D]) []domain.Tool {
	tools := make([]domain.Tool, len(entries))
	for i, e := range entries {
		tools[i] = e.Make(shared, s.For(e.Owner.Tool))
	}
	return tools
}

// Owners returns what the tools of groups declare to the sandbox.
func Owners(groups ...Group) (owners []sandbox.Owner) {
	for _, g := range groups {
		for _, t := range g.Tools {
			owners = append(owners, t.Owner)
		}
	}
	return owners
}

// Settings are the settings of single tools as the configuration has them, by tool:
// pointers to the structs that the tools declare.
type Settings map[string]any

// Only returns the settings of the tools of a group.
func (s Settings) Only(g Group) Settings {
	some := Settings{}
	for _, t := range g.Tools {
		if set, ok := s[t.Tool]; ok {
			some[t.Tool] = set
		}
	}
	return some
}

// Of returns the settings of a tool, or the zero value if the configuration says
// nothing about it.
func Of[T any](s Settings, tool string) (settings T) {
	if set, ok := s[tool].(*T); ok {
		return *set
	}
	return settings
}
