package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
)

// unusedGroups returns a warning for each group that something is for and nobody is in,
// and for each user that nobody is, with its place.
func (l *Loaded) unusedGroups() (warnings []string) {
	if len(l.Auth.Issuers) > 0 || l.Server.TLS.ClientCA != "" {
		return nil // tokens and certificates say who there is
	}
	people := []string{l.Server.User, "anonymous"}
	var groups []string
	for _, t := range l.Server.Tokens {
		people, groups = append(people, t.Name), append(groups, t.Groups...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Users)) {
		if slices.Contains(people, name) {
			groups = append(groups, l.Users[name].Groups...)
			continue
		}
		text := l.Mistake("users."+name, "no token has the name %q, nor has server.user; %s", name, hint(name, people, listed(people)))
		warnings = append(warnings, text.Error())
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	for _, use := range l.groups() {
		for i, group := range use.groups {
			if slices.ContainsFunc(groups, func(has string) bool { return domain.SameGroup(has, group) }) {
				continue
			}
			text := l.Mistake(fmt.Sprintf("%s.groups[%d]", use.path, i), "nobody is in the group %q: no entry of server.tokens has it, nor the user %s; %s",
				group, l.Server.User, hint(group, groups, listed(groups)))
			warnings = append(warnings, text.Error())
		}
	}
	return warnings
}

// A use is what is for some groups only.
type use struct {
	path   string
	groups []string
}

// groups returns the groups that the configuration keeps things to.
func (c *Config) groups() (all []use) {
	for name, t := range c.Tools {
		all = append(all, use{"tools." + name, t.Groups})
	}
	for name, s := range c.Servers {
		all = append(all, use{"mcp_servers." + name, s.Groups})
	}
	for name, r := range c.Resources {
		all = append(all, use{"resources." + name, r.Groups})
	}
	for name, p := range c.Prompts {
		all = append(all, use{"prompts." + name, p.Groups})
	}
	for name, s := range c.Skills.Settings {
		all = append(all, use{"skills.settings." + name, s.Groups})
	}
	slices.SortFunc(all, func(a, b use) int { return strings.Compare(a.path, b.path) })
	return all
}
