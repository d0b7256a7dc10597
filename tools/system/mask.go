package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// mask is the set of field names to leave out.
type mask map[string]bool

// schemas leaves the masked fields out of the output schemas of tools, and returns all that they had.
// The error is a mask that no field of theirs has.
func (m mask) schemas(tools []domain.Tool) (fields []string, err error) {
	known := mask{}
	for i := range tools {
		shown, _ := rawjson.Decode(tools[i].Output.Raw()) // never fails: it is ours
		objects(shown, func(s map[string]any) {
			properties, _ := s["properties"].(map[string]any)
			for name := range properties {
				known[name] = true
			}
			m.drop(properties)
			if required, ok := s["required"].([]any); ok {
				s["required"] = slices.DeleteFunc(required, func(name any) bool { return m[fmt.Sprint(name)] })
			}
		})
		raw, _ := json.Marshal(shown)
		if tools[i].Output, err = schema.ParseOutput(raw); err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", tools[i].Name, err)
		}
	}
	fields = slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if known[name] {
			continue
		}
		if near, ok := nearest.Word(name, fields); ok {
			return nil, fmt.Errorf("no system tool has a field %q; did you mean %s?", name, near)
		}
		return nil, fmt.Errorf("no system tool has a field %q; they have %s", name, strings.Join(fields, ", "))
	}
	return fields, nil
}

// hide returns a result without masked fields.
func (m mask) hide(result any) any {
	if len(m) == 0 {
		return result
	}
	b, _ := json.Marshal(result) // never fails: results are ours
	v, _ := rawjson.Decode(b)
	objects(v, m.drop)
	return v
}

// masked is [mask.hide] for text: masked fields are zero.
func masked[T any](m mask, result T) (kept T) {
	if len(m) == 0 {
		return result
	}
	b, _ := json.Marshal(m.hide(result))
	_ = json.Unmarshal(b, &kept)
	return kept
}

func (m mask) drop(fields map[string]any) {
	maps.DeleteFunc(fields, func(name string, _ any) bool { return m[name] })
}

// objects calls f for every object in v, and then for those left within it.
func objects(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, member := range v {
			objects(member, f)
		}
	case []any:
		for _, element := range v {
			objects(element, f)
		}
	}
}
