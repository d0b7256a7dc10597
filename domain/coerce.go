package domain

import (
	"encoding/json"
	"strings"

	"toolserver/domain/rawjson"
)

// coerce mends, in place, what models get wrong about v without anything being
// lost: a number or boolean in quotes, and null for an argument that may be
// absent.
func coerce(v any, p *Param) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			f, ok := p.field(name)
			switch {
			case !ok:
			case member == nil && !f.Required:
				delete(v, name)
			default:
				v[name] = coerce(member, f)
			}
		}
	case []any:
		if p.Items != nil {
			for i, element := range v {
				v[i] = coerce(element, p.Items)
			}
		}
	case string:
		return unquote(v, p.Type)
	}
	return v
}

// unquote returns the number or boolean that s spells, if want is its type.
func unquote(s, want string) any {
	switch want {
	case "integer", "number", "boolean":
	default:
		return s
	}
	v, err := rawjson.Decode([]byte(strings.TrimSpace(s)))
	if err != nil {
		return s
	}
	switch v := v.(type) {
	case json.Number:
		if want != "boolean" {
			return v
		}
	case bool:
		if want == "boolean" {
			return v
		}
	}
	return s
}
