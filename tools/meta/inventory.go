package meta

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"toolserver/domain"
)

// inventory is the catalog by what it is good for.
type inventory struct {
	internal []theme
	external []theme // one a server
	headings map[string]string
	counts   struct{ internal, external int }
}

// theme is a group of tools that belong together.
type theme struct {
	name  string
	tools []*domain.Tool
}

// serverSeparator stands between the name of an upstream server and that of its
// tool.
const serverSeparator = "__"

// take groups tools: ours by category, those of other servers by server.
func take(tools []*domain.Tool, withServers bool) (inv inventory) {
	internal, external := map[string][]*domain.Tool{}, map[string][]*domain.Tool{}
	for _, t := range tools {
		server, _, upstream := strings.Cut(t.Name, serverSeparator)
		switch {
		case !upstream:
			internal[t.Category] = append(internal[t.Category], t)
			inv.counts.internal++
		case withServers:
			external[server] = append(external[server], t)
			inv.counts.external++
		}
	}
	inv.internal, inv.external = themes(internal), themes(external)
	return inv
}

func themes(groups map[string][]*domain.Tool) (list []theme) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		tools := groups[name]
		slices.SortFunc(tools, func(a, b *domain.Tool) int { return cmp.Compare(a.Name, b.Name) })
		list = append(list, theme{name, tools})
	}
	return list
}

// heading returns the name of a category, for people.
func (t theme) heading(headings map[string]string) string {
	if h := headings[t.name]; h != "" {
		return h
	}
	if t.name == "" {
		return "Other"
	}
	return strings.ToUpper(t.name[:1]) + t.name[1:]
}

// summary says what the tools of a category are good for.
func (t theme) summary() string {
	var all []string
	for _, tool := range t.tools {
		if tool.Ability != "" {
			all = append(all, tool.Ability)
		}
	}
	if len(all) < len(t.tools) {
		all = append(all, count(len(t.tools)-len(all)))
	}
	return strings.Join(all, "; ")
}
