package mcpshape

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"toolserver/rawjson"
)

// Bounds of a schema.
const (
	maxSchema = 256 << 10
	maxDepth  = 100
)

// anything is the schema of any value, nothing that of none.
const (
	anything = `{}`
	nothing  = `{"not":{}}`
)

// schemaShape returns what a JSON Schema may be, as draft 2020-12 has it and, where
// [repair.keywords] translates that, earlier drafts.
var schemaShape = sync.OnceValue(func() *shape {
	text, flag, number, any := &shape{value: isText}, &shape{value: isFlag}, &shape{value: isNumber}, &shape{value: func([]byte) bool { return true }}
	exclusive := &shape{value: func(raw []byte) bool { return isNumber(raw) || isFlag(raw) }}
	size := &shape{value: func(raw []byte) bool {
		n, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && n >= 0 && n == float64(int64(n))
	}}
	factor := &shape{value: func(raw []byte) bool {
		n, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && isNumber(raw) && n > 0
	}}
	names := &shape{elements: text, distinct: true}
	kind := among("string", "integer", "number", "boolean", "array", "object", "null")
	schema := &shape{value: isFlag, settle: (*repair).keywords}
	list := &shape{elements: schema, least: 1, instead: anything}
	schemas := &shape{every: schema, instead: anything}
	schema.members = map[string]*shape{
		"$schema": text, "$comment": text, "$ref": text, "$dynamicRef": text, "$anchor": text, "$dynamicAnchor": text,
		"title": text, "description": text, "format": text, "pattern": text, "contentEncoding": text, "contentMediaType": text, "x-mcp-header": text,
		"deprecated": flag, "readOnly": flag, "writeOnly": flag, "uniqueItems": flag,
		"type": {value: kind.value, elements: kind, distinct: true, whole: true, least: 1},
		"enum": {elements: any, least: 1}, "examples": {elements: any}, "required": names, "dependentRequired": {every: names},
		"dependencies": {every: &shape{value: isFlag, members: map[string]*shape{}, elements: text, distinct: true}},
		"minimum":      number, "maximum": number, "exclusiveMinimum": exclusive, "exclusiveMaximum": exclusive, "multipleOf": factor,
		"properties": {every: schema, instead: anything, settle: (*repair).properties},
		"items":      {value: isFlag, elements: schema, instead: anything, settle: schema.settle},
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"} {
		schema.members[name] = size
	}
	for _, name := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas"} {
		schema.members[name] = schemas
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		schema.members[name] = list
	}
	for _, name := range []string{
		"additionalItems", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains", "contentSchema", "not", "if", "then", "else",
	} {
		schema.members[name] = schema
	}
	schema.members["items"].members = schema.members
	return schema
})

// properties writes true and false, for which some clients want objects, as such.
func (r *repair) properties(object []byte) []byte {
	out := object
	_ = rawjson.Object(object, func(name, value []byte) error {
		if isFlag(value) {
			out = rawjson.With(out, string(name), []byte(map[bool]string{true: anything, false: nothing}[value[0] == 't']))
		}
		return nil
	})
	return out
}

// keywords translates keywords of earlier drafts, says of the elements of an array that
// they may be anything, which models' APIs want to have said, and leaves out what clients
// trip over: names by which they would take two schemas for one, and expressions that are
// none to them.
func (r *repair) keywords(object []byte) []byte {
	member := func(name string) []byte { return rawjson.Member(object, name) }
	drop := func(name string) { object = rawjson.Without(object, name) }
	drop("$id")
	if anchor := member("$anchor"); anchor != nil {
		if r.anchors[string(anchor)] {
			drop("$anchor")
		}
		r.anchors[string(anchor)] = true
	}
	translated := false
	if items := member("items"); items != nil && items[0] == '[' {
		drop("items")
		if len(items) > 2 && member("prefixItems") == nil {
			object = rawjson.With(object, "prefixItems", items)
		}
		if rest := member("additionalItems"); rest != nil {
			object = rawjson.With(object, "items", rest)
		}
		translated = true
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		value := member(exclusive)
		if value == nil || !isFlag(value) {
			continue
		}
		translated = true
		if limit := member(bound); value[0] == 't' && limit != nil {
			object = rawjson.Without(rawjson.With(object, exclusive, limit), bound)
		} else {
			drop(exclusive)
		}
	}
	if translated {
		drop("additionalItems")
		r.translated = true
	}
	if t := member("type"); bytes.Contains(t, []byte(`"array"`)) && member("items") == nil {
		object = rawjson.With(object, "items", []byte(anything))
	}
	if !r.output {
		return object
	}
	if expression, err := rawjson.String(member("pattern")); err == nil && !isPattern(expression) {
		drop("pattern")
		r.note("pattern "+strconv.Quote(expression), "is no regular expression to clients and is left out")
	}
	if patterns := member("patternProperties"); patterns != nil {
		_ = rawjson.Object(patterns, func(name, _ []byte) error {
			if expression := string(name); !isPattern(expression) {
				object = rawjson.With(object, "patternProperties", rawjson.Without(member("patternProperties"), expression))
				r.note("pattern "+strconv.Quote(expression), "is no regular expression to clients and is left out")
			}
			return nil
		})
	}
	return object
}

// schema repairs the schema of a tool's arguments or, if output is set, of its structured
// results. Arguments are those with another name than before, with that.
func (r *repair) schema(raw []byte, output bool) (out []byte, arguments map[string]string, err error) {
	switch text := string(raw); {
	case !output && (text == "" || text == "true" || text == "null" || text == "{}"):
		return []byte(`{"type":"object","properties":{}}`), nil, nil
	case raw[0] != '{':
		return nil, nil, errors.New("is no object")
	case len(raw) > maxSchema:
		return nil, nil, fmt.Errorf("has %d bytes; at most %d are accepted", len(raw), maxSchema)
	case depth(raw) > maxDepth:
		return nil, nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	r.output, r.refers, r.broken, r.anchors, r.translated = output, false, nil, map[string]bool{}, false
	r.path = append(r.path, []byte(map[bool]string{false: "inputSchema", true: "outputSchema"}[output]))
	defer func() { r.path = nil }()
	out, ok := r.fit(schemaShape(), raw)
	if !ok {
		return nil, nil, errors.New("is not JSON")
	}
	if out, ok = r.follow(out); !ok && output {
		return nil, nil, errors.New("takes too much to check")
	} else if !ok {
		r.note("", "takes too much to check; it accepts any arguments now")
		return []byte(`{"type":"object","properties":{}}`), nil, nil
	}
	if out = r.flat(out); r.translated {
		out = rawjson.Without(out, "$schema")
	}
	switch t := rawjson.Member(out, "type"); {
	case t == nil, t[0] == '[' && bytes.Contains(t, []byte(`"object"`)):
		out = rawjson.With(out, "type", []byte(`"object"`))
	case string(t) != `"object"`:
		return nil, nil, fmt.Errorf("is of type %.50s; only an object is possible", t)
	}
	if rawjson.Member(out, "properties") == nil {
		out = rawjson.With(out, "properties", []byte("{}"))
	}
	if output {
		return out, nil, nil
	}
	if out, arguments = r.renamed(out); arguments != nil { // which references may have led to
		out, _ = r.follow(out)
	}
	return out, arguments, nil
}

// follow follows the references of a schema, and leaves out those that are broken. It
// reports whether values can be checked with reasonable effort.
func (r *repair) follow(schema []byte) (_ []byte, ok bool) {
	if !r.refers {
		return schema, true
	}
	g := references(schema)
	if r.broken = g.broken; len(g.broken) > 0 {
		r.anchors = map[string]bool{}
		schema, _ = r.fit(schemaShape(), schema)
	}
	return schema, !g.tooMuch
}

// depth returns how deep JSON is nested.
func depth(raw []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
