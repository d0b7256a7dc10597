package yamlconf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// Patterns of text in the schema. A value that may be a reference is never
// wrong for an editor, which cannot know what it stands for.
const (
	referencePattern = `\$\{.+\}`
	numberPattern    = `([0-9]+\.?[0-9]*|\.[0-9]+)`
	durationPattern  = `^[-+]?(` + numberPattern + `(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?` + numberPattern + `([eE][-+]?[0-9]+)?$|` + referencePattern
	bytesPattern     = `^[0-9]+( ?([kKmMgGtT][iI]?)?[bB])?$|^[0-9]+\.[0-9]+ ?([kKmMgGtT][iI]?)?[bB]$|` + referencePattern
)

// Schema returns the JSON Schema (draft 2020-12) of v, a struct that holds the
// defaults or a pointer to one, for editors and for other programs. What it
// accepts, [Decode] accepts too, except for limits that a schema cannot say:
// those of durations and sizes written as text, and of what references stand
// for.
func Schema(v any) []byte {
	value, s := shapes{}.root(v)
	o := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}}
	o = append(o, schemaOf(s, rules{}, value)...)
	text, err := json.Marshal(o)
	if err != nil { // only what a ConfigSchema returned can fail
		panic(fmt.Sprintf("yamlconf: schema of %T: %v", v, err))
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") == nil {
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaOf returns the schema of a value whose default is v. An invalid v means
// that there is no default.
func schemaOf(s *shape, r rules, v reflect.Value) object {
	v, s = s.held(v)
	if s.schema {
		return custom(reflect.New(s.typ).Interface().(schemaHook).ConfigSchema())
	}
	if s.hooked {
		return object{} // only the hook knows which forms it takes
	}
	switch s.kind {
	case kindPointer:
		return nullable(schemaOf(s.elem, r, pointee(s, v)))
	case kindStruct:
		return structSchema(s, r, v)
	case kindMap:
		o := object{{"type", []string{"object", "null"}}, {"additionalProperties", elementSchema(s, r)}}
		return bounded(withDefault(o, s, r, v), r, "minProperties", "maxProperties")
	case kindList:
		o := object{{"type", []string{"array", "null"}}, {"items", elementSchema(s, r)}}
		return bounded(withDefault(o, s, r, v), r, "minItems", "maxItems")
	}
	o := withDefault(scalarSchema(s, r), s, r, v)
	if r.secret {
		o = append(o, member{"writeOnly", true})
	}
	return o
}

// elementSchema is the schema of an element, which unlike a key cannot be null
// in a list.
func elementSchema(s *shape, r rules) object {
	var def reflect.Value
	if s.elem.defaults {
		def = s.elem.fresh()
	}
	o := schemaOf(s.elem, r.inner(), def)
	if s.kind == kindList {
		for i, m := range o {
			if types, ok := m.value.([]string); ok && m.key == "type" {
				o[i].value = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
			}
		}
	}
	return o
}

func structSchema(s *shape, r rules, v reflect.Value) object {
	properties := object{}
	for _, f := range s.fields {
		inner := f.rules
		inner.secret = inner.secret || r.secret
		var def reflect.Value
		if v.IsValid() {
			def = v.FieldByIndex(f.index)
		}
		o := schemaOf(f.shape, inner, def)
		if f.doc != "" {
			o = append(object{{"description", f.doc}}, o...)
		}
		properties = append(properties, member{f.name, o})
	}
	var others any = false
	if s.rest != nil {
		others = elementSchema(s.rest.shape, s.rest.rules)
	}
	return object{{"type", []string{"object", "null"}}, {"properties", properties}, {"additionalProperties", others}}
}

// scalarSchema is the schema of a single value without its default.
func scalarSchema(s *shape, r rules) object {
	typed := func(pattern string, types ...string) object {
		return object{{"type", types}, {"pattern", pattern}}
	}
	switch s.kind {
	case kindString:
		return stringSchema(r)
	case kindText:
		return object{{"type", []string{"string", "number", "boolean"}}}
	case kindBool:
		return typed(referencePattern, "boolean", "string")
	case kindFloat:
		return bounded(typed(referencePattern, "number", "string"), r, "minimum", "maximum")
	case kindDuration:
		o := typed(durationPattern, "number", "string")
		return bounded(o, rules{min: r.min.inSeconds(), max: r.max.inSeconds()}, "minimum", "maximum")
	case kindBytes:
		if r.min == nil {
			r.min = &bound{}
		}
		return bounded(typed(bytesPattern, "integer", "string"), r, "minimum", "maximum")
	}
	return bounded(typed(referencePattern, "integer", "string"), typeBounds(s, r), "minimum", "maximum")
}

// stringSchema lets references through where the text itself is restricted.
func stringSchema(r rules) object {
	o := object{{"type", "string"}}
	if r.enum != nil {
		o = append(o, member{"enum", r.enum})
	}
	if o = bounded(o, r, "minLength", "maxLength"); len(o) == 1 {
		return o
	}
	return object{{"anyOf", []object{o, {{"type", "string"}, {"pattern", referencePattern}}}}}
}
