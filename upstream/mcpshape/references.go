package mcpshape

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Bounds of what checking one value may take: as many schemas, one in another.
const (
	maxApplied = 10_000
	maxNested  = 200
)

// graph is a schema whose references are followed. A schema in it is known by where it
// begins.
type graph struct {
	root    []byte
	targets map[string][]byte  // of references
	applied map[*byte]*applied // nil while they are counted
	broken  map[string]bool    // references that lead nowhere, or round in a circle
	tooMuch bool
}

// applied is what a value is checked against by one schema: how many, and how many in one
// another.
type applied struct{ schemas, nested int }

// references follows the references of a schema.
func references(schema []byte) *graph {
	g := &graph{root: schema, targets: map[string][]byte{}, applied: map[*byte]*applied{}, broken: map[string]bool{}}
	g.each(schema, func(object []byte) {
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if name, err := rawjson.String(rawjson.Member(object, keyword)); err == nil {
				g.targets["#"+name] = object
			}
		}
	})
	g.each(schema, func(object []byte) {
		if a := g.count(object); a.schemas > maxApplied || a.nested > maxNested {
			g.tooMuch = true
		}
	})
	return g
}

// each visits all objects in a value.
func (g *graph) each(raw []byte, visit func(object []byte)) {
	switch raw[0] {
	case '{':
		visit(raw)
		_ = rawjson.Object(raw, func(_, value []byte) error {
			g.each(value, visit)
			return nil
		})
	case '[':
		_ = rawjson.Array(raw, func(element []byte) error {
			g.each(element, visit)
			return nil
		})
	}
}

// count returns what a value is checked against that is checked against a schema.
func (g *graph) count(schema []byte) applied {
	if a := g.applied[&schema[0]]; a != nil {
		return *a
	}
	g.applied[&schema[0]] = nil
	sum := applied{schemas: 1}
	add := func(schema []byte) error {
		a := g.count(schema)
		sum.schemas, sum.nested = min(sum.schemas+a.schemas, maxApplied+1), max(sum.nested, a.nested)
		return nil
	}
	_ = rawjson.Object(schema, func(key, value []byte) error {
		switch string(key) {
		case "$ref", "$dynamicRef":
			ref, err := rawjson.String(value)
			if err != nil {
				return nil
			}
			target := g.resolve(ref)
			if target != nil {
				if a, begun := g.applied[&target[0]]; !begun || a != nil {
					return add(target)
				}
			}
			g.broken[ref] = true
		case "allOf", "anyOf", "oneOf":
			return rawjson.Array(value, add)
		case "not", "if", "then", "else":
			return add(value)
		case "dependentSchemas":
			return rawjson.Object(value, func(_, schema []byte) error { return add(schema) })
		}
		return nil
	})
	sum.nested++
	g.applied[&schema[0]] = &sum
	return sum
}

// resolve returns the schema that a reference leads to; nil if that is none, or outside.
func (g *graph) resolve(ref string) []byte {
	target, known := g.targets[ref]
	if !known {
		target = pointed(g.root, ref)
		if target != nil && target[0] != '{' && !isFlag(target) {
			target = nil
		}
		g.targets[ref] = target
	}
	return target
}

// pointed returns what a reference with a JSON pointer (RFC 6901) leads to; nil if that is
// nothing.
func pointed(schema []byte, ref string) []byte {
	pointer, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	switch {
	case !ok || err != nil || pointer != "" && pointer[0] != '/':
		return nil
	case pointer == "":
		return schema
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if len(schema) > 0 && schema[0] == '[' {
			all := elements(schema)
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(all) {
				return nil
			}
			schema = all[i]
			continue
		}
		schema = rawjson.Member(schema, step)
	}
	return schema
}

// elements returns the elements of an array; nil if there are none.
func elements(array []byte) (all [][]byte) {
	_ = rawjson.Array(array, func(element []byte) error {
		all = append(all, element)
		return nil
	})
	return all
}

// list returns an array of elements.
func list(elements [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}
