package domain

import (
	"strings"

	"toolserver/rawjson"
)

// coerce mends, in place, what models get wrong about v without anything being
// lost: a number or boolean in quotes, and null for an argument that may be
// absent.
func coerce(v any, p *Param) any {
	switch concrete := v.(type) {
	case map[string]any:
		for i := range p.Fields {
			f := &p.Fields[i]
			member, ok := concrete[f.Name]
			switch {
			case !ok:
			case member == nil && !f.Required:
				delete(concrete, f.Name)
			default:
				concrete[f.Name] = coerce(member, f)
			}
		}
	case []any:
		if p.Items != nil {
			for i, element := range concrete {
				concrete[i] = coerce(element, p.Items)
			}
		}
	case string:
		if unquoted := unquote(concrete, p.Type); unquoted != nil {
			return unquoted
		}
	}
	return v
}

// maxQuoted is the longest number in quotes that is taken out of them.
const maxQuoted = 400

// unquote returns the number or boolean that s spells, if want is its type, or
// nil.
func unquote(s, want string) any {
	s = strings.TrimSpace(s)
	switch want {
	case "boolean":
		if s == "true" || s == "false" {
			return s == "true"
		}
	case "integer", "number":
		if s == "" || len(s) > maxQuoted || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
			return nil
		}
		if v, err := rawjson.Decode([]byte(s)); err == nil {
			return v
		}
	}
	return nil
}
