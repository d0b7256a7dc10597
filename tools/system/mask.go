package system

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/domain/nearest"
	"toolserver/rawjson"
)

// mask is the set of field names to leave out.
type mask map[string]bool

// newMask checks names against the fields that the tools' results have.
func newMask(names []string, tools []domain.Tool) (mask, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, t := range tools {
		schema, err := decode(t.Output)
		if err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", t.Name, err)
		}
		collectFields(schema, known)
	}
	m := mask{}
	for _, name := range names {
		if !known[name] {
			return nil, unknownField(name, slices.Sorted(maps.Keys(known)))
		}
		m[name] = true
	}
	return m, nil
}

func unknownField(name string, known []string) error {
	if near, ok := nearest.Word(name, known); ok {
		return fmt.Errorf("mask: no system tool tells %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("mask: no system tool tells %q; they tell %s", name, strings.Join(known, ", "))
}

// apply returns tools that neither tell masked fields nor promise them.
func (m mask) apply(tools []domain.Tool) ([]domain.Tool, error) {
	if len(m) == 0 {
		return tools, nil
	}
	for i := range tools {
		t := &tools[i]
		schema, err := decode(t.Output)
		if err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", t.Name, err)
		}
		m.dropFromSchema(schema)
		raw, err := json.Marshal(schema)
		if err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", t.Name, err)
		}
		if t.Output, err = domain.ParseOutputSchema(raw); err != nil {
			return nil, fmt.Errorf("%s: output schema: %w", t.Name, err)
		}
		t.Run = m.around(t.Run)
	}
	return tools, nil
}

// around returns a handler that does what run does and leaves out masked fields.
func (m mask) around(run domain.Handler) domain.Handler {
	return func(ctx context.Context, args domain.Arguments) (domain.ToolResult, error) {
		res, err := run(ctx, args)
		if err != nil || res.IsError {
			return res, err
		}
		v, err := decode(res.Results)
		if err != nil {
			return domain.ToolResult{}, err
		}
		m.drop(v)
		return domain.JSON(v)
	}
}

// drop removes masked fields from v, at any depth.
func (m mask) drop(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, _ any) bool { return m[name] })
		for _, member := range v {
			m.drop(member)
		}
	case []any:
		for _, element := range v {
			m.drop(element)
		}
	}
}

// dropFromSchema removes masked fields from the objects that schema describes.
func (m mask) dropFromSchema(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if required, ok := s["required"].([]any); ok {
		s["required"] = slices.DeleteFunc(required, func(name any) bool { return m[fmt.Sprint(name)] })
	}
	properties, _ := s["properties"].(map[string]any)
	maps.DeleteFunc(properties, func(name string, _ any) bool { return m[name] })
	for _, p := range properties {
		m.dropFromSchema(p)
	}
	m.dropFromSchema(s["items"])
}

// collectFields adds the names of all fields that schema describes to names.
func collectFields(schema any, names map[string]bool) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		names[name] = true
		collectFields(p, names)
	}
	collectFields(s["items"], names)
}

// decode returns v as maps and slices.
func decode(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return rawjson.Decode(b)
}
