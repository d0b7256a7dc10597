package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"toolserver/domain"
	"toolserver/domain/nearest"
	"toolserver/sandbox"
	"toolserver/sandbox/netguard"
	"toolserver/tools/httpcall"
)

// check holds the configuration to what its types do not say.
func (l *Loaded) check() error {
	var all []error
	lists := l.Config.Policy().Tools
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		all = append(all, l.checkTool(name, lists[name])...)
	}
	for _, level := range l.usedLevels() {
		if _, ok := (domain.Access{Levels: l.Compliance.Levels}).Known(level.name); !ok {
			all = append(all, l.mistake(level.key, "there is no compliance level %q; known: %s", level.name, known(slices.Sorted(maps.Keys(l.Compliance.Levels)))))
		}
	}
	for i, name := range l.Sandbox.Unprotected {
		if names := sandbox.ProtectedNames(); !slices.Contains(names, name) {
			hint := "it must be one that a refusal names"
			if near, ok := nearest.Word(name, names); ok {
				hint = "did you mean " + near + "?"
			}
			all = append(all, l.mistake(fmt.Sprintf("sandbox.unprotected[%d]", i), "nothing is protected as %q; %s", name, hint))
		}
	}
	for i, text := range l.Sandbox.PrivateHosts {
		if err := checkHost(text); err != nil {
			all = append(all, l.mistake(fmt.Sprintf("sandbox.private_hosts[%d]", i), "%s", err))
		}
	}
	if !httpguts.ValidHeaderFieldValue(l.Web.UserAgent) || strings.ContainsFunc(l.Web.UserAgent, func(r rune) bool { return r > '~' }) {
		all = append(all, l.mistake("web.user_agent", "has characters that cannot be sent in a header; use printable ASCII"))
	}
	for _, m := range l.Web.Search.Check() {
		all = append(all, l.mistake(m.Key, "%s", m.Problem))
	}
	for _, service := range []struct{ key, base string }{
		{"linkedin.base_url", l.LinkedIn.BaseURL}, {"anthropic.base_url", l.Anthropic.BaseURL},
	} {
		if _, err := httpcall.ParseBase(service.base); err != nil {
			all = append(all, l.mistake(service.key, "%s", err))
		}
	}
	if (l.Server.TLS.Cert == "") != (l.Server.TLS.Key == "") {
		all = append(all, l.mistake("server.tls", "cert and key belong together; one is missing"))
	}
	if !strings.HasPrefix(l.Server.Path, "/") {
		all = append(all, l.mistake("server.path", "must start with /, not %q", l.Server.Path))
	}
	if _, err := l.Tokens(); err != nil {
		all = append(all, l.mistake("server.tokens", "%s", strings.TrimPrefix(err.Error(), "server.tokens: ")))
	}
	return errors.Join(all...)
}

func known(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Names are the names of all items that sources offer or know of.
type Names struct {
	Tools, Resources, Prompts []string
	Open                      bool // sources may offer more later
}

// CheckNames reports settings of tools, resources and prompts that there are
// not. Where a source may offer the item later, that is a warning: a tool of
// another server is called server__tool.
func (l *Loaded) CheckNames(names Names) (warnings []string, err error) {
	var all []error
	check := func(kind string, set, known []string) {
		for _, name := range set {
			switch problem := l.unknownName(kind, name, known); {
			case problem == nil:
			case names.Open || strings.Contains(name, "__"):
				warnings = append(warnings, problem.Error()+"; the settings hold when it is there")
			default:
				all = append(all, problem)
			}
		}
	}
	check("tool", slices.Sorted(maps.Keys(l.Tools)), names.Tools)
	for _, name := range slices.Sorted(maps.Keys(l.Tools)) {
		if names.Open || strings.Contains(name, "__") || slices.Contains(names.Tools, name) {
			all = append(all, l.unknownKeys(name))
		}
	}
	check("resource", slices.Sorted(maps.Keys(l.Resources)), names.Resources)
	check("prompt", slices.Sorted(maps.Keys(l.Prompts)), names.Prompts)
	return warnings, errors.Join(all...)
}

func (l *Loaded) unknownName(kind, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	hint := "known: " + known(names)
	if near, ok := nearest.Word(name, names); ok {
		hint = "did you mean " + near + "?"
	}
	return l.mistake(kind+"s."+name, "there is no %s %q; %s", kind, name, hint)
}

// checkTool holds the lists of a tool to their notation.
func (l *Loaded) checkTool(name string, t sandbox.ToolPolicy) (all []error) {
	for _, list := range []struct {
		key     string
		entries []string
		check   func(string) error
	}{
		{"allowed_hosts", t.AllowedHosts, sandbox.CheckHostEntry},
		{"denied_hosts", t.DeniedHosts, sandbox.CheckHostEntry},
		{"private_hosts", t.PrivateHosts, checkHost},
	} {
		for i, text := range list.entries {
			if err := list.check(text); err != nil {
				all = append(all, l.mistake(fmt.Sprintf("tools.%s.%s[%d]", name, list.key, i), "%s", err))
			}
		}
	}
	return all
}

func checkHost(text string) error {
	_, err := netguard.ParseHost(text)
	return err
}

type usedLevel struct{ key, name string }

// usedLevels returns every mention of a compliance level.
func (l *Loaded) usedLevels() (used []usedLevel) {
	add := func(key, name string) {
		if name != "" {
			used = append(used, usedLevel{key, name})
		}
	}
	add("compliance.level", l.Compliance.Level)
	for _, name := range slices.Sorted(maps.Keys(l.Compliance.Levels)) {
		for i, other := range l.Compliance.Levels[name].AllowedWith {
			add(fmt.Sprintf("compliance.levels.%s.allowed_with[%d]", name, i), other)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Users)) {
		add("users."+name+".compliance_level", l.Users[name].ComplianceLevel)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tools)) {
		add("tools."+name+".compliance_level", l.Tools[name].ComplianceLevel)
	}
	addOffers := func(kind string, offers map[string]Offer) {
		for _, name := range slices.Sorted(maps.Keys(offers)) {
			add(kind+"."+name+".compliance_level", offers[name].ComplianceLevel)
		}
	}
	addOffers("resources", l.Resources)
	addOffers("prompts", l.Prompts)
	for i, t := range l.Server.Tokens {
		add(fmt.Sprintf("server.tokens[%d].compliance_level", i), t.ComplianceLevel)
	}
	return used
}
