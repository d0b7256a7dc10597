package structschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Patterns of text in the schema of a configuration. A value that may be a
// reference is never wrong for an editor, which cannot know what it stands for.
const (
	referencePattern = `\$\{.+\}`
	numberPattern    = `([0-9]+\.?[0-9]*|\.[0-9]+)`
	durationPattern  = `^[-+]?(` + numberPattern + `(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?` + numberPattern + `([eE][-+]?[0-9]+)?$|` + referencePattern
	sizePattern      = `^[0-9]+( ?([kKmMgGtT][iI]?)?[bB])?$|^[0-9]+\.[0-9]+ ?([kKmMgGtT][iI]?)?[bB]$|` + referencePattern
)

// notationRef refers to a notation in the schema of a configuration.
const notationRef = "#/$defs/"

// Arguments returns the JSON Schema of a struct that is an object with its
// required fields and no others.
func (t *Type) Arguments() []byte {
	return new(writer).structure(t, false, reflect.Value{}).append(nil)
}

// Results is [Type.Arguments], except that the object itself needs no field, and
// every object may have others.
func (t *Type) Results() []byte {
	return (&writer{open: true}).structure(t, false, reflect.Value{})[:2].append(nil) // type and properties
}

// Configuration returns the JSON Schema of a YAML file for the struct v, which
// holds the defaults. A file may leave everything out, and write any value as
// text with references. The notations are schemas of texts, by the names in the tags
// format and keys.
func (all *Types) Configuration(v reflect.Value, notations map[string]json.RawMessage) []byte {
	o := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}}
	if notations != nil {
		o = append(o, member{"$defs", notations})
	}
	w := &writer{types: all, notations: notations}
	o = append(o, w.relaxed(all.Of(v.Type()), Rules{}, w.structure(all.Of(v.Type()), false, v), true)...)
	var out bytes.Buffer
	if err := json.Indent(&out, o.append(nil), "", "  "); err != nil {
		panic(err) // only a default in a tag can be no JSON
	}
	return out.Bytes()
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) append(b []byte) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(append(appendJSON(b, m.key), ':'), m.value)
	}
	return append(b, '}')
}

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		return v.append(b)
	case []object:
		b = append(b, '[')
		for i, o := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = o.append(b)
		}
		return append(b, ']')
	case json.RawMessage:
		return append(b, v...)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return append(b, bytes.TrimSpace(text.Bytes())...)
}

// writer makes schemas.
type writer struct {
	types     *Types // of a configuration; nil for what is passed as JSON
	notations map[string]json.RawMessage
	open      bool // structs may have other fields
}

// structure returns the schema of a struct, whose fields are secret if it is.
func (w *writer) structure(t *Type, secret bool, v reflect.Value) object {
	properties := object{}
	var required []string
	for i, f := range t.Fields {
		var inner reflect.Value
		if v.IsValid() {
			inner = v.FieldByIndex(f.Index)
		}
		f.Secret = f.Secret || secret
		properties = append(properties, member{f.Name, w.value(&f, inner, true)})
		if w.types == nil && !f.Optional || w.types != nil && f.Required || t.Short != nil && t.Short.Name == f.Name || t.Alone && i == 0 {
			required = append(required, f.Name)
		}
	}
	var others any = false
	if t.Rest != nil {
		others = w.others(t.Rest)
	}
	o := object{{"type", "object"}, {"properties", properties}}
	if required != nil {
		o = append(o, member{"required", required})
	}
	if w.open && t.Rest == nil {
		return o
	}
	return append(o, member{"additionalProperties", others})
}

// others returns the schema of the elements of a map.
func (w *writer) others(f *Field) any {
	if f.Type.Elem.Kind == Any {
		return w.types == nil // a configuration collects them only to report them
	}
	return w.value(&Field{Type: f.Type.Elem, Rules: f.Elements()}, reflect.Value{}, true)
}

// value returns the schema of a field, whose default is v; an invalid v is none.
// A section may be null unless it is an item of a list.
func (w *writer) value(f *Field, v reflect.Value, section bool) object {
	t := f.Type
	nullable := section && (t.Elem != nil || t.Kind == Struct)
	if t.Kind == Pointer {
		if t = t.Elem; v.IsValid() {
			v = v.Elem()
		}
	}
	var o object
	switch t.Kind {
	case Struct:
		o = w.structure(t, f.Secret, v)
	case List:
		o = object{{"type", "array"}, {"items", w.value(&Field{Type: t.Elem, Rules: f.Elements()}, reflect.Value{}, false)}}
	case Map:
		o = w.mapping(f, t)
	case Any, Pointer:
		panic(fmt.Sprintf("%s: %v has no JSON Schema", f.Name, t.Go))
	default:
		o = object{{"type", kinds[t.Kind].json}}
		if t.Kind == Duration && w.types != nil {
			o[0].value = "number" // of seconds
		}
	}
	if f.Doc != "" {
		o = append(o, member{"description", f.Doc})
	}
	if t.Kind == String && f.Enum != nil {
		o = append(o, member{"enum", f.Enum})
	}
	if t.Kind == String && f.Pattern != "" {
		o = append(o, member{"pattern", f.Pattern})
	}
	if w.notations[f.Format] != nil && t.Kind == String {
		o = append(o, member{"$ref", notationRef + f.Format})
	}
	if def := w.defaultOf(f, t, v); def != nil {
		o = append(o, member{"default", def})
	}
	o = append(o, bounds(t, f.Rules)...)
	if w.types == nil {
		return o
	}
	if f.Secret && t.Elem == nil && t.Kind != Struct {
		o = append(o, member{"writeOnly", true})
	}
	return w.relaxed(t, f.Rules, o, nullable)
}

func (w *writer) mapping(f *Field, t *Type) object {
	o := object{{"type", "object"}}
	keyed := KeyedOf(t)
	if keyed == nil {
		if w.notations[f.KeyFormat] != nil {
			o = append(o, member{"propertyNames", object{{"$ref", notationRef + f.KeyFormat}}})
		}
		return append(o, member{"additionalProperties", w.others(&Field{Type: t, Rules: f.Rules})})
	}
	element := func(key string) object {
		v, t := w.types.Element(t, key)
		return w.value(&Field{Type: t}, v, true)
	}
	properties := object{}
	for _, key := range keyed.Keys() {
		properties = append(properties, member{key, element(key)})
	}
	others := keyed.Others()
	return append(o, member{"properties", properties}, member{"patternProperties", object{{others, element("")}}}, member{"additionalProperties", false})
}

// defaultOf returns the default of a field, or nil where it says nothing.
func (w *writer) defaultOf(f *Field, t *Type, v reflect.Value) any {
	switch {
	case f.Default != nil && t.Kind == String:
		return *f.Default
	case f.Default != nil:
		return json.RawMessage(*f.Default)
	case !v.IsValid() || f.Secret || t.Kind == Struct || t.Kind == Map || !f.Allows(t, v) || v.IsZero() && (t.Kind == String || t.Kind == Text || t.Kind == List):
		return nil
	case t.Kind != List:
		return Plain(t, v)
	}
	all := make([]any, v.Len())
	for i := range all {
		if t.Elem.Leaf().Kind == Struct {
			return nil
		}
		all[i] = Plain(t.Elem, v.Index(i))
	}
	return all
}

// Plain returns a single value as it is written in a configuration: a bool, a
// number or text, in which ${ is escaped.
func Plain(t *Type, v reflect.Value) any {
	switch t.Kind {
	case Duration:
		return FormatDuration(time.Duration(v.Int()))
	case Size:
		if text := Bytes(v.Int()).String(); !isDigits(text) {
			return text
		}
		return v.Int()
	case Text:
		v = reflect.ValueOf(textOf(v))
		fallthrough
	case String:
		return strings.ReplaceAll(v.String(), "${", "$${")
	}
	return v.Interface()
}

// bounds returns the bounds of a value under the names that suit its type.
func bounds(t *Type, r Rules) (o object) {
	of, unit := kinds[t.Kind].bounds, 1.0
	switch t.Kind {
	case Duration:
		unit = float64(time.Second)
	case Size:
		r.Min = cmp.Or(r.Min, &Bound{})
	}
	if r.Min != nil {
		o = append(o, member{"min" + of, r.Min.N / unit})
	}
	if r.Max != nil {
		o = append(o, member{"max" + of, r.Max.N / unit})
	}
	return o
}

// relaxed adds to o, the schema of a value of type t, what else a file may have
// in its place: null, text with references, the short form of a struct, or one element
// of a list.
func (w *writer) relaxed(t *Type, r Rules, o object, nullable bool) object {
	var strict, rest object // what holds for the value itself, and for all its forms
	for _, m := range o {
		switch m.key {
		case "description", "default", "writeOnly":
			rest = append(rest, m)
		default:
			strict = append(strict, m)
		}
	}
	pattern := referencePattern
	switch t.Kind {
	case Duration:
		pattern = durationPattern
	case Size:
		pattern = sizePattern
	}
	forms := []object{strict}
	switch {
	case t.Short != nil:
		forms = append(forms, w.value(&Field{Type: t.Short.Type, Rules: t.Short.Rules}, reflect.Value{}, false))
	case r.One:
		forms = append(forms, w.value(&Field{Type: t.Elem, Rules: r.Elements()}, reflect.Value{}, false))
	case t.Elem != nil || t.Kind == Struct || t.Kind == Text || t.Kind == String && len(strict) == 1:
		if nullable {
			o[0].value = []string{o[0].value.(string), "null"}
		}
		return o
	default:
		form := object{{"type", "string"}, {"pattern", pattern}}
		if r.Min != nil && r.Min.N >= 0 && t.Kind == Duration {
			form = append(form, member{"not", object{{"pattern", "^-"}}})
		}
		if r.Min != nil && r.Min.N > 0 && (t.Kind == Duration || t.Kind == Size) {
			form = append(form, member{"allOf", []object{{{"pattern", "[1-9]|" + referencePattern}}}}) // it is not zero
		}
		forms = append(forms, form)
	}
	if nullable {
		forms = append(forms, object{{"type", "null"}})
	}
	return append(object{{"anyOf", forms}}, rest...)
}
