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

// schemas returns tools whose output schemas have none of the masked fields. The
// error is a mask that no field of theirs has.
func (m mask) schemas(tools []domain.Tool) ([]domain.Tool, error) {
	if len(m) == 0 {
		return tools, nil
	}
	known := mask{}
	for i := range tools {
		output, err := m.schema(tools[i].Output, known)
		if err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", tools[i].Name, err)
		}
		tools[i].Output = output
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if known[name] {
			continue
		}
		if near, ok := nearest.Word(name, names); ok {
			return nil, fmt.Errorf("no system tool has a field %q; did you mean %s?", name, near)
		}
		return nil, fmt.Errorf("no system tool has a field %q; they have %s", name, strings.Join(names, ", "))
	}
	return tools, nil
}

// schema returns a schema without the masked fields, and adds all its fields to
// known.
func (m mask) schema(of *schema.Output, known mask) (*schema.Output, error) {
	shown, err := decode(of)
	if err != nil {
		return nil, err
	}
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
	raw, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	return schema.ParseOutput(raw)
}

// hide returns a result without masked fields.
func (m mask) hide(result any) any {
	if len(m) == 0 {
		return result
	}
	v, _ := decode(result) // never fails: results are ours
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

// decode returns v as maps and slices.
func decode(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return rawjson.Decode(b)
}
