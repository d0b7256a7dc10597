package api

import (
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// A Family is the tools of one of Google's services.
type Family struct {
	Service  signin.Service
	Category declare.Category
	Tools    []Tool
}

// A Tool is one of a family.
type Tool struct {
	sandbox.Owner
	Full   bool     // only the full tier has it
	Scopes []string // any of them will do; the first is the least, and asked for
	Also   []string // asked for, too
	Make   func(sandbox.Capabilities) domain.Tool
}

// Need returns what a tool requires of a grant.
func (f Family) Need(tool, failing string) Need {
	i := slices.IndexFunc(f.Tools, func(t Tool) bool { return t.Owner.Tool == tool })
	return Need{Service: f.Service, Scopes: f.Tools[i].Scopes, Failing: failing}
}

// Scopes returns the fewest scopes with which the enabled tools work, sorted.
func (f Family) Scopes(enabled func(Tool) bool) (scopes []string) {
	used := slices.DeleteFunc(slices.Clone(f.Tools), func(t Tool) bool { return !enabled(t) || t.Scopes == nil })
	asked := map[string]bool{}
	for _, t := range used {
		asked[t.Scopes[0]] = true
	}
	for _, t := range used {
		if !slices.ContainsFunc(t.Scopes[1:], func(broader string) bool { return asked[broader] }) {
			scopes = append(scopes, t.Scopes[0])
		}
		scopes = append(scopes, t.Also...)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}
