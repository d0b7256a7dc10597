package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// mask is the set of field names to leave out.
type mask map[string]bool

// schema returns an output schema without the masked fields.
func (m mask) schema(of *schema.Output) *schema.Output {
	if len(m) == 0 {
		return of
	}
	shown, _ := rawjson.Decode(of.Raw()) // never fails: it is ours
	objects(shown, func(s map[string]any) {
		properties, _ := s["properties"].(map[string]any)
		m.drop(properties)
		if required, ok := s["required"].([]any); ok {
			s["required"] = slices.DeleteFunc(required, func(name any) bool { return m[fmt.Sprint(name)] })
		}
	})
	raw, _ := json.Marshal(shown)
	without, err := schema.ParseOutput(raw)
	if err != nil {
		panic(err) // it is still ours
	}
	return without
}

// Fields returns the fields that a mask can name: those of all output schemas.
func Fields() []string {
	known := map[string]any{}
	for _, output := range []*schema.Output{schema.OutputOf[systemInfo](), schema.OutputOf[diskInfo](), schema.OutputOf[networkInfo]()} {
		shown, _ := rawjson.Decode(output.Raw())
		objects(shown, func(s map[string]any) {
			properties, _ := s["properties"].(map[string]any)
			maps.Copy(known, properties)
		})
	}
	return slices.Sorted(maps.Keys(known))
}

// CheckField reports that no tool has a field that a mask names.
func CheckField(name string) error {
	fields := Fields()
	if slices.Contains(fields, name) {
		return nil
	}
	if near, ok := nearest.Word(name, fields); ok {
		return fmt.Errorf("no system tool has a field %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("no system tool has a field %q; they have %s", name, strings.Join(fields, ", "))
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
