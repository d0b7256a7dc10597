package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"toolserver/rawjson"
	"toolserver/structschema"
)

// ToolInputSchema is the JSON Schema of a tool's arguments. One value drives
// what the model sees, what the server accepts, and the command-line flags.
//
// It is worked out when it is first used: a process uses few of the schemas it
// has, and starts without any.
type ToolInputSchema struct {
	text     func() *schemaText
	compiled func() (*jsonschema.Schema, error)
}

// schemaText is a schema as text, and what is read out of it.
type schemaText struct {
	raw  json.RawMessage
	root Param
}

// A Param is what a schema says about one argument, or about a value within
// one.
type Param struct {
	Name     string
	Type     string // string, integer, number, boolean, array or object; empty if the schema does not say
	Doc      string
	Required bool
	Default  any // nil if there is none; as [rawjson.Decode] returns it
	Enum     []any
	Min, Max string  // bounds of a number, or of the length of a string or array, as JSON; empty if there are none
	Fields   []Param // of an object, in declared order
	Items    *Param  // of an array; nil if the schema does not say

	bounds   string         // what Min and Max bound: the keywords are minimum, minLength or minItems without "min"
	required []string       // names that an object must have
	closed   bool           // no other fields
	values   *Param         // of fields that are not named; nil for any
	pattern  *regexp.Regexp // of a string; nil for any
	foreign  bool           // some keyword of the schema, or of one within it, is known to the validator only
	skipped  bool           // such a keyword changes the meaning of the others, so all are left to the validator
}

func (p *Param) fieldNames() []string {
	names := make([]string, len(p.Fields))
	for i := range p.Fields {
		names[i] = p.Fields[i].Name
	}
	return names
}

// SchemaOf derives a schema from the fields of the struct In, as package
// structschema says. A field is required unless it has a default, is omitempty
// or is a pointer; arguments that match no field are rejected. The first use of
// the schema of a struct that cannot be described panics; the first test of the
// tool will say so.
func SchemaOf[In any]() *ToolInputSchema {
	return newSchema(sync.OnceValue(func() *schemaText {
		raw := structOf[In]().Arguments()
		root, err := param("", raw, false)
		if err != nil || root.foreign {
			panic(fmt.Sprintf("%v: the checker does not know all of %s: %v", reflect.TypeFor[In](), raw, err))
		}
		return &schemaText{raw, root}
	}))
}

// structOf describes the struct T, whose fields have json tags.
func structOf[T any]() *structschema.Type { return structschema.Describe("json", reflect.TypeFor[T]()) }

// ParseSchema reads the schema of another server. Its root must be an object, and
// a reference out of it is an error: nothing is loaded. Regular expressions that only
// other languages have, such as those with lookaheads, are not checked.
func ParseSchema(raw []byte) (*ToolInputSchema, error) {
	root, err := param("", raw, false)
	if err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, errors.New(`the root of an input schema must have "type": "object"`)
	}
	if bytes.Contains(raw, []byte(`"$ref"`)) || bytes.Contains(raw, []byte(`"$dynamicRef"`)) { // or it is compiled when it is used, which is costly
		if _, err = compile(raw); err != nil {
			return nil, err
		}
	}
	return newSchema(func() *schemaText { return &schemaText{raw, root} }), nil
}

func newSchema(text func() *schemaText) *ToolInputSchema {
	return &ToolInputSchema{text, sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(text().raw) })}
}

// compile prepares the validator of a schema.
func compile(raw []byte) (*jsonschema.Schema, error) {
	s, err := compileAll(raw)
	if err == nil {
		return s, nil
	}
	if v, decoding := rawjson.Decode(raw); decoding == nil && dropPatterns(v) {
		if raw, encoding := json.Marshal(v); encoding == nil {
			s, err = compileAll(raw)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// schemaAddress is where a schema is for the validator. It names no file, whose path would be in messages.
const schemaAddress = "schema://tool/"

func compileAll(raw []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is outside the schema, and schemas are not loaded", url)
	}
	if err := c.AddResource(schemaAddress, bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	return c.Compile(schemaAddress)
}

// dropPatterns removes regular expressions that are none here from a decoded schema, and
// reports whether there were any.
func dropPatterns(v any) (dropped bool) {
	unknown := func(expression string) bool {
		_, err := regexp.Compile(expression)
		return err != nil
	}
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			dropped = dropPatterns(element) || dropped
		}
	case map[string]any:
		if expression, ok := v["pattern"].(string); ok && unknown(expression) {
			delete(v, "pattern")
			dropped = true
		}
		if properties, ok := v["patternProperties"].(map[string]any); ok {
			before := len(properties)
			maps.DeleteFunc(properties, func(expression string, _ any) bool { return unknown(expression) })
			dropped = dropped || len(properties) < before
		}
		for _, member := range v {
			dropped = dropPatterns(member) || dropped
		}
	}
	return dropped
}

// param reads the keywords of a schema that [Param] holds.
func param(name string, raw []byte, required bool) (Param, error) {
	p := Param{Name: name, Required: required}
	var properties []byte
	err := rawjson.Object(raw, func(key, value []byte) (err error) {
		switch key := string(key); key {
		case "type":
			var list error // a list of types has no name
			p.Type, list = rawjson.String(value)
			p.foreign = p.foreign || list != nil
			if list == nil && !slices.Contains(knownTypes, p.Type) {
				err = fmt.Errorf("there is no type %.50q", p.Type)
			}
		case "description":
			p.Doc, err = rawjson.String(value)
		case "default":
			p.Default, err = rawjson.Decode(value)
		case "enum":
			p.Enum = nil
			err = rawjson.Array(value, func(element []byte) error {
				v, err := rawjson.Decode(element)
				p.Enum = append(p.Enum, v)
				p.foreign = p.foreign || !isScalar(v)
				return err
			})
		case "minimum", "minLength", "minItems":
			p.bound(key, value, &p.Min)
		case "maximum", "maxLength", "maxItems":
			p.bound(key, value, &p.Max)
		case "additionalProperties":
			p.closed = string(value) == "false"
			p.values, err = p.subschema(value)
		case "required":
			p.required = nil
			err = json.Unmarshal(value, &p.required)
		case "properties":
			properties = value
		case "items":
			p.Items, err = p.subschema(value)
			p.foreign = p.foreign || p.Items == nil
		case "pattern":
			var expression string
			if expression, err = rawjson.String(value); err == nil {
				var unknown error
				p.pattern, unknown = regexp.Compile(expression)
				p.foreign = p.foreign || unknown != nil
			}
		case "title", "examples", "$comment", "deprecated", "readOnly", "writeOnly":
			// say nothing of what is valid
		case "$schema":
			p.foreign = p.foreign || !slices.Contains(knownDrafts, strings.Trim(string(value), `"#`))
		case "$ref", "patternProperties", "prefixItems":
			p.foreign, p.skipped = true, true
		default:
			p.foreign = true
		}
		return err
	})
	if err == nil && properties != nil {
		err = p.fields(properties)
	}
	if err != nil {
		return Param{}, fmt.Errorf("schema: %w", err)
	}
	return p, nil
}

// bound keeps the value of a keyword such as minLength. Bounds of another kind
// than the first, and lengths that are not written as integers, are left to the
// validator.
func (p *Param) bound(keyword string, value []byte, to *string) {
	of := keyword[len("min"):]
	_, err := strconv.Atoi(string(value))
	switch {
	case p.bounds != "" && p.bounds != of:
		p.foreign = true
	case of != "imum" && err != nil:
		p.foreign, *to = true, ""
	default:
		p.bounds, *to = of, string(value)
	}
}

// subschema reads a schema within p; nil if it is no object, but true or false.
func (p *Param) subschema(raw []byte) (*Param, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	inner, err := param("", raw, false)
	p.foreign = p.foreign || inner.foreign
	return &inner, err
}

var knownTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// knownDrafts are those in which the keywords of [Param] mean what they mean in
// the newest draft of JSON Schema.
var knownDrafts = []string{
	"http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

func (p *Param) fields(properties []byte) error {
	p.Fields = []Param{}
	return rawjson.Object(properties, func(key, value []byte) (err error) {
		f := Param{Name: string(key), foreign: true} // if it is true or false
		if value[0] == '{' {
			if f, err = param(f.Name, value, slices.Contains(p.required, f.Name)); err != nil {
				return err
			}
		}
		p.foreign = p.foreign || f.foreign
		if i := slices.IndexFunc(p.Fields, func(earlier Param) bool { return earlier.Name == f.Name }); i >= 0 {
			p.Fields[i] = f // of a name given twice, the last counts
		} else {
			p.Fields = append(p.Fields, f)
		}
		return nil
	})
}

// Describing returns the schema with another description of an argument for callers, and
// a maximum for its value. It accepts what it did before: the tool decides on more than
// the maximum, and can say what that means.
func (s *ToolInputSchema) Describing(name, doc string, most int) *ToolInputSchema {
	return newSchema(sync.OnceValue(func() *schemaText {
		text := *s.text()
		properties := rawjson.Member(text.raw, "properties")
		p := rawjson.With(rawjson.Member(properties, name), "description", rawjson.AppendString(nil, doc))
		p = rawjson.With(p, "maximum", strconv.AppendInt(nil, int64(most), 10))
		text.raw = rawjson.With(text.raw, "properties", rawjson.With(properties, name, p))
		text.root.Fields = slices.Clone(text.root.Fields)
		for i := range text.root.Fields {
			if f := &text.root.Fields[i]; f.Name == name {
				f.Doc = doc
			}
		}
		return &text
	}))
}

// Params returns the arguments in declared order.
func (s *ToolInputSchema) Params() []Param { return s.text().root.Fields }

// MarshalJSON returns the schema itself.
func (s *ToolInputSchema) MarshalJSON() ([]byte, error) { return s.text().raw, nil }

// Arguments returns args, a JSON object or nothing, as the tool's handler gets
// it: checked, and with defaults filled in. Where args break the schema, what can
// be converted without loss is ("42" to 42, null to an absent argument); anything
// else is an [*InvalidArguments].
func (s *ToolInputSchema) Arguments(args json.RawMessage) (Arguments, error) {
	object, err := decodeObject(args)
	if err != nil {
		return nil, err
	}
	root := &s.text().root
	if s.check(object, root) != nil {
		coerce(object, root)
		if err := s.check(object, root); err != nil {
			return nil, err
		}
	}
	fillDefaults(object, root)
	return object, nil
}

// Check validates args as they are: nothing is converted or filled in.
func (s *ToolInputSchema) Check(args json.RawMessage) error {
	object, err := decodeObject(args)
	if err != nil {
		return err
	}
	return s.check(object, &s.text().root)
}

// check reports how arguments break the schema: what the checker finds or, if it
// finds nothing and does not know all of the schema, what the validator finds.
func (s *ToolInputSchema) check(object map[string]any, root *Param) error {
	if found := root.check(object); len(found) > 0 {
		return &InvalidArguments{found}
	}
	if !root.foreign {
		return nil
	}
	if problem := tooMuch(object, maxWork); problem != "" {
		return invalid("", "the arguments hold "+problem)
	}
	compiled, err := s.compiled()
	if err != nil { // the server that has such a schema has to make sense of it
		return nil
	}
	if err := compiled.Validate(object); err != nil {
		return explain(err, object)
	}
	return nil
}

// maxValues bounds the time and memory that decoding arguments takes.
const maxValues = 500_000

func decodeObject(args json.RawMessage) (map[string]any, error) {
	if len(args) == 0 {
		return map[string]any{}, nil
	}
	v, err := rawjson.DecodeMax(args, maxValues)
	if err != nil {
		return nil, invalid("", "arguments are "+err.Error())
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, invalid("", "arguments must be an object, not "+describe(v))
}

// fillDefaults gives absent fields of v their defaults, also in nested objects.
func fillDefaults(v any, p *Param) {
	switch v := v.(type) {
	case map[string]any:
		for i := range p.Fields {
			f := &p.Fields[i]
			if member, ok := v[f.Name]; ok {
				fillDefaults(member, f)
			} else if f.Default != nil {
				v[f.Name] = f.Default
			}
		}
	case []any:
		if p.Items != nil {
			for _, element := range v {
				fillDefaults(element, p.Items)
			}
		}
	}
}

// coerce converts in place a number or boolean in quotes, and null for an argument
// that may be absent.
func coerce(v any, p *Param) any {
	switch concrete := v.(type) {
	case map[string]any:
		for i := range p.Fields {
			f := &p.Fields[i]
			member, ok := concrete[f.Name]
			switch {
			case !ok:
			case member == nil && !f.Required:
				delete(concrete, f.Name)
			default:
				concrete[f.Name] = coerce(member, f)
			}
		}
	case []any:
		if p.Items != nil {
			for i, element := range concrete {
				concrete[i] = coerce(element, p.Items)
			}
		}
	case string:
		if unquoted := unquote(concrete, p.Type); unquoted != nil {
			return unquoted
		}
	}
	return v
}

// maxQuoted is the longest number in quotes that is taken out of them.
const maxQuoted = 400

// unquote returns the number or boolean that s spells, if want is its type, or
// nil.
func unquote(s, want string) any {
	s = strings.TrimSpace(s)
	switch want {
	case "boolean":
		if s == "true" || s == "false" {
			return s == "true"
		}
	case "integer", "number":
		if s == "" || len(s) > maxQuoted || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
			return nil
		}
		if v, err := rawjson.Decode([]byte(s)); err == nil {
			return v
		}
	}
	return nil
}
