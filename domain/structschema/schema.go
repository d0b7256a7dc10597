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
func (t *Type) Arguments() []byte { return encode(new(writer).structure(t, false, reflect.Value{})) }

// Results is [Type.Arguments], except that the object itself needs no field, and
// every object may have others.
func (t *Type) Results() []byte {
	s := (&writer{open: true}).structure(t, false, reflect.Value{})
	return encode(&schema{Type: s.Type, Properties: s.Properties})
}

// Configuration returns the JSON Schema of a YAML file for the struct v, which
// holds the defaults. A file may leave everything out, and write any value as
// text with references. The notations are schemas of texts, by the names in the tags
// format and keys.
func (all *Types) Configuration(v reflect.Value, notations map[string]json.RawMessage) []byte {
	w := &writer{types: all, notations: notations}
	s := w.relaxed(all.Of(v.Type()), Rules{}, w.structure(all.Of(v.Type()), false, v), true)
	s.Dialect, s.Defs = "https://json-schema.org/draft/2020-12/schema", notations
	var out bytes.Buffer
	if err := json.Indent(&out, encode(s), "", "  "); err != nil {
		panic(err) // it is JSON
	}
	return out.Bytes()
}

// schema is a JSON Schema, with its keywords in the order they are written in.
type schema struct {
	Dialect       string                     `json:"$schema,omitempty"`
	Defs          map[string]json.RawMessage `json:"$defs,omitempty"`
	AnyOf         []*schema                  `json:"anyOf,omitempty"`
	Type          any                        `json:"type,omitempty"` // a name, or several
	Properties    properties                 `json:"properties,omitzero"`
	ByPattern     properties                 `json:"patternProperties,omitzero"`
	Items         *schema                    `json:"items,omitempty"`
	Required      []string                   `json:"required,omitempty"`
	Names         *schema                    `json:"propertyNames,omitempty"`
	Others        any                        `json:"additionalProperties,omitempty"` // a schema, true or false
	Description   string                     `json:"description,omitempty"`
	Enum          []string                   `json:"enum,omitempty"`
	Pattern       string                     `json:"pattern,omitempty"`
	Not           *schema                    `json:"not,omitempty"`
	AllOf         []*schema                  `json:"allOf,omitempty"`
	Ref           string                     `json:"$ref,omitempty"`
	Default       any                        `json:"default,omitempty"`
	Minimum       *float64                   `json:"minimum,omitempty"`
	Maximum       *float64                   `json:"maximum,omitempty"`
	MinLength     *float64                   `json:"minLength,omitempty"`
	MaxLength     *float64                   `json:"maxLength,omitempty"`
	MinItems      *float64                   `json:"minItems,omitempty"`
	MaxItems      *float64                   `json:"maxItems,omitempty"`
	MinProperties *float64                   `json:"minProperties,omitempty"`
	MaxProperties *float64                   `json:"maxProperties,omitempty"`
	WriteOnly     bool                       `json:"writeOnly,omitempty"`
	File          *fileOfClient              `json:"x-mcp-file,omitempty"`
}

// ClientFile is a struct that stands for a file of the client, so that its schema has a keyword which says so to clients
// with the extension io.modelcontextprotocol/files.
type ClientFile interface{ MaxSize() int64 }

type fileOfClient struct {
	MaxSize int64 `json:"maxSize"`
}

// properties are schemas by name, in their order.
type properties []property

type property struct {
	name string
	*schema
}

// MarshalJSON returns the properties as an object.
func (p properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(one.name)...), ':'), encode(one.schema)...)
	}
	return append(b, '}'), nil
}

// encode returns a schema, or a part of one, as JSON.
func encode(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only a default in a tag can be no JSON
	}
	return bytes.TrimSpace(text.Bytes())
}

// writer makes schemas.
type writer struct {
	types     *Types // of a configuration; nil for what is passed as JSON
	notations map[string]json.RawMessage
	open      bool // structs may have other fields
}

// structure returns the schema of a struct, whose fields are secret if it is.
func (w *writer) structure(t *Type, secret bool, v reflect.Value) *schema {
	s := &schema{Type: "object", Properties: properties{}, Others: false}
	for i, f := range t.Fields {
		var inner reflect.Value
		if v.IsValid() {
			inner = v.FieldByIndex(f.Index)
		}
		f.Secret = f.Secret || secret
		s.Properties = append(s.Properties, property{f.Name, w.value(&f, inner, true)})
		if w.types == nil && !f.Optional || w.types != nil && f.Required || t.Short != nil && t.Short.Name == f.Name || t.Alone && i == 0 {
			s.Required = append(s.Required, f.Name)
		}
	}
	switch {
	case t.Rest != nil:
		s.Others = w.others(t.Rest)
	case w.open:
		s.Others = nil
	}
	return s
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
func (w *writer) value(f *Field, v reflect.Value, section bool) *schema {
	t := f.Type
	nullable := section && (t.Elem != nil || t.Kind == Struct)
	if t.Kind == Pointer {
		if t = t.Elem; v.IsValid() {
			v = v.Elem()
		}
	}
	var s *schema
	switch t.Kind {
	case Struct:
		s = w.structure(t, f.Secret, v)
		if file, ok := reflect.Zero(t.Go).Interface().(ClientFile); ok {
			s.File = &fileOfClient{file.MaxSize()}
		}
	case List:
		s = &schema{Type: "array", Items: w.value(&Field{Type: t.Elem, Rules: f.Elements()}, reflect.Value{}, false)}
	case Map:
		s = w.mapping(f, t)
	case Any, Pointer:
		panic(fmt.Sprintf("%s: %v has no JSON Schema", f.Name, t.Go))
	default:
		s = &schema{Type: kinds[t.Kind].json}
		if t.Kind == Duration && w.types != nil {
			s.Type = "number" // of seconds
		}
	}
	s.Description, s.Default = f.Doc, w.defaultOf(f, t, v)
	if t.Kind == String {
		s.Enum, s.Pattern = f.Enum, f.Pattern
		if w.notations[f.Format] != nil {
			s.Ref = notationRef + f.Format
		}
	}
	s.bound(t, f.Rules)
	if w.types == nil {
		return s
	}
	s.WriteOnly = f.Secret && t.Elem == nil && t.Kind != Struct
	return w.relaxed(t, f.Rules, s, nullable)
}

func (w *writer) mapping(f *Field, t *Type) *schema {
	s := &schema{Type: "object", Others: false}
	keyed := KeyedOf(t)
	if keyed == nil {
		if w.notations[f.KeyFormat] != nil {
			s.Names = &schema{Ref: notationRef + f.KeyFormat}
		}
		s.Others = w.others(&Field{Type: t, Rules: f.Rules})
		return s
	}
	element := func(key string) *schema {
		v, t := w.types.Element(t, key)
		return w.value(&Field{Type: t}, v, true)
	}
	for _, key := range keyed.Keys() {
		s.Properties = append(s.Properties, property{key, element(key)})
	}
	s.ByPattern = properties{{keyed.Others(), element("")}}
	return s
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

// bound sets the bounds of a value under the names that suit its type.
func (s *schema) bound(t *Type, r Rules) {
	least, most, unit := &s.Minimum, &s.Maximum, 1.0
	switch t.Kind {
	case String:
		least, most = &s.MinLength, &s.MaxLength
	case List:
		least, most = &s.MinItems, &s.MaxItems
	case Map:
		least, most = &s.MinProperties, &s.MaxProperties
	case Duration:
		unit = float64(time.Second)
	case Size:
		r.Min = cmp.Or(r.Min, &Bound{})
	}
	if r.Min != nil {
		*least = new(r.Min.N / unit)
	}
	if r.Max != nil {
		*most = new(r.Max.N / unit)
	}
}

// relaxed adds to s, the schema of a value of type t, what else a file may have
// in its place: null, text with references, the short form of a struct, or one element
// of a list.
func (w *writer) relaxed(t *Type, r Rules, s *schema, nullable bool) *schema {
	strict := *s // what holds for the value itself, rather than for all its forms
	strict.Description, strict.Default, strict.WriteOnly = "", nil, false
	other := &schema{Type: "string", Pattern: referencePattern}
	switch {
	case t.Short != nil:
		other = w.value(&Field{Type: t.Short.Type, Rules: t.Short.Rules}, reflect.Value{}, false)
	case r.One:
		other = w.value(&Field{Type: t.Elem, Rules: r.Elements()}, reflect.Value{}, false)
	case t.Elem != nil || t.Kind == Struct || t.Kind == Text || t.Kind == String && reflect.DeepEqual(strict, schema{Type: s.Type}):
		if nullable {
			s.Type = []any{s.Type, "null"}
		}
		return s
	case t.Kind == Duration:
		other.Pattern = durationPattern
	case t.Kind == Size:
		other.Pattern = sizePattern
	}
	if r.Min != nil && r.Min.N >= 0 && t.Kind == Duration {
		other.Not = &schema{Pattern: "^-"}
	}
	if r.Min != nil && r.Min.N > 0 && (t.Kind == Duration || t.Kind == Size) {
		other.AllOf = []*schema{{Pattern: "[1-9]|" + referencePattern}} // it is not zero
	}
	forms := []*schema{&strict, other}
	if nullable {
		forms = append(forms, &schema{Type: "null"})
	}
	return &schema{AnyOf: forms, Description: s.Description, Default: s.Default, WriteOnly: s.WriteOnly}
}
