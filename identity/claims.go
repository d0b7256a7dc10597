package identity

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
)

// principal returns whom claims are about. A claim that is missing gives nothing.
func (v *Verifier) principal(from *issuer, c *claims) domain.Principal {
	p := domain.Principal{ID: ID(from.Issuer.Issuer, c.Subject), Expires: c.Expires.Add(v.settings.Leeway), Scoped: true, Client: cmp.Or(c.ClientID, c.Party)}
	for _, text := range slices.Concat(c.Scope, c.Scopes) {
		p.Scopes = slices.DeleteFunc(append(p.Scopes, strings.Fields(text)...), func(scope string) bool { return CheckScope(scope) != nil })
	}
	p.Scopes = v.settings.implied(p.Scopes)
	for _, path := range orDefault(from.GroupsFrom, groupClaims) {
		for _, group := range listOf(at(c.all, path)) {
			p.Groups = append(p.Groups, from.GroupPrefix+group)
		}
	}
	for _, path := range orDefault(from.NameFrom, nameClaims) {
		if name, ok := at(c.all, path).(string); ok && p.Name == "" {
			p.Name = shown(name)
		}
	}
	p.Name = cmp.Or(p.Name, shown(c.Subject))
	p.ComplianceLevel = from.Level
	if level, ok := at(c.all, from.LevelFrom).(string); ok && from.LevelFrom != "" {
		p.ComplianceLevel = level
	}
	return p
}

// ID returns the ID of the principal that an issuer calls by a subject. No issuer has a #.
func ID(issuer, subject string) string { return issuer + "#" + subject }

// shown returns a name as it can be shown on a line.
func shown(name string) string {
	return brief.Name(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, name))
}

func orDefault(paths, otherwise []string) []string {
	if len(paths) == 0 {
		return otherwise
	}
	return paths
}

// at returns what claims have at a path: a claim of that name, or else a member of the claim before the first dot.
func at(claims map[string]any, path string) any {
	if value, ok := claims[path]; ok {
		return value
	}
	for i, r := range path {
		if r != '.' {
			continue
		}
		if inner, ok := claims[path[:i]].(map[string]any); ok {
			if value := at(inner, path[i+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}

// listOf returns the texts of a claim that is one text or a list.
func listOf(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}
