package domain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"toolserver/rawjson"
)

// SchemaOf derives a schema from the fields of the struct In. Besides json it
// reads these tags:
//
//	doc       what the field means, for the model and for -help
//	default   the value of an absent argument, as JSON or, of a string, as it is
//	enum      allowed strings, separated by |
//	min, max  bounds of a number, or of the length of a string or array
//	pattern   regular expression a string must match
//
// A field is required unless it has a default, is omitempty or is a pointer.
// Arguments that match no field are rejected. Slices, nested structs and maps
// from string become arrays and objects. The first use of the schema of a struct
// that cannot be described panics; the first test of the tool will say so.
func SchemaOf[In any]() *ToolInputSchema {
	return newSchema(sync.OnceValue(func() *schemaText {
		t := reflect.TypeFor[In]()
		raw := appendObject(nil, t, strictObject)
		root, err := param("", raw, false)
		if err != nil {
			panic(fmt.Sprintf("%v: %v", t, err))
		}
		if !root.allPlain() {
			panic(fmt.Sprintf("%v: the checker does not know all keywords of %s", t, raw))
		}
		return &schemaText{raw, root}
	}))
}

// objectRules says what a derived object schema asks for.
type objectRules int

const (
	strictObject objectRules = iota // required fields, and no others
	openObject                      // any fields, none required
)

// appendObject appends the schema of struct t.
func appendObject(b []byte, t reflect.Type, rules objectRules) []byte {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("%v is not a struct", t))
	}
	b = append(b, `{"type":"object","properties":{`...)
	var required []string
	for i, f := range jsonFields(t) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, f.name), ':')
		b = appendProperty(b, f)
		if !f.optional() {
			required = append(required, f.name)
		}
	}
	b = append(b, '}')
	if rules == openObject {
		return append(b, '}')
	}
	if required != nil {
		names, err := json.Marshal(required)
		if err != nil {
			panic(err)
		}
		b = append(append(b, `,"required":`...), names...)
	}
	return append(b, `,"additionalProperties":false}`...)
}

// jsonField is a struct field that takes part in JSON.
type jsonField struct {
	reflect.StructField
	name      string
	omitempty bool
}

func (f jsonField) optional() bool {
	_, hasDefault := f.Tag.Lookup("default")
	return hasDefault || f.omitempty || f.Type.Kind() == reflect.Pointer
}

func jsonFields(t reflect.Type) []jsonField {
	var list []jsonField
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case name == "" || !f.IsExported():
			panic(fmt.Sprintf("%v.%s has no json name", t, f.Name))
		}
		list = append(list, jsonField{f, name, strings.Contains(options, "omitempty")})
	}
	return list
}

func appendProperty(b []byte, f jsonField) []byte {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b = appendType(b, t)
	b = b[:len(b)-1] // go on within the object
	if doc := f.Tag.Get("doc"); doc != "" {
		b = rawjson.AppendString(append(b, `,"description":`...), doc)
	}
	if enum, ok := f.Tag.Lookup("enum"); ok {
		values, err := json.Marshal(strings.Split(enum, "|"))
		if err != nil {
			panic(err)
		}
		b = append(append(b, `,"enum":`...), values...)
	}
	if pattern, ok := f.Tag.Lookup("pattern"); ok {
		b = rawjson.AppendString(append(b, `,"pattern":`...), pattern)
	}
	if def, ok := f.Tag.Lookup("default"); ok {
		b = append(b, `,"default":`...)
		if t.Kind() == reflect.String {
			b = rawjson.AppendString(b, def)
		} else {
			b = append(b, def...)
		}
	}
	low, high := boundNames(t)
	for _, bound := range []struct{ tag, name string }{{"min", low}, {"max", high}} {
		if v, ok := f.Tag.Lookup(bound.tag); ok {
			b = append(append(append(append(b, `,"`...), bound.name...), `":`...), v...)
		}
	}
	return append(b, '}')
}

// boundNames returns the keywords that bound a value of type t.
func boundNames(t reflect.Type) (low, high string) {
	switch t.Kind() {
	case reflect.String:
		return "minLength", "maxLength"
	case reflect.Slice:
		return "minItems", "maxItems"
	case reflect.Map:
		return "minProperties", "maxProperties"
	}
	return "minimum", "maximum"
}

// appendType appends the schema of a value of type t, an object that ends with
// its brace.
func appendType(b []byte, t reflect.Type) []byte {
	switch t.Kind() {
	case reflect.String:
		return append(b, `{"type":"string"}`...)
	case reflect.Bool:
		return append(b, `{"type":"boolean"}`...)
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Int32:
		return append(b, `{"type":"integer"}`...)
	case reflect.Float64:
		return append(b, `{"type":"number"}`...)
	case reflect.Slice:
		b = appendType(append(b, `{"type":"array","items":`...), t.Elem())
		return append(b, '}')
	case reflect.Struct:
		return appendObject(b, t, strictObject)
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			b = append(b, `{"type":"object","additionalProperties":`...)
			if t.Elem().Kind() == reflect.Interface {
				b = append(b, "true"...)
			} else {
				b = appendType(b, t.Elem())
			}
			return append(b, '}')
		}
	}
	panic(fmt.Sprintf("no JSON Schema for %v", t))
}
