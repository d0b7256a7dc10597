// Package schema has the JSON Schemas of what tools take and return: it derives them from structs,
// reads those of other servers, and checks, converts and names arguments by them.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/structschema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Input is the JSON Schema of a tool's arguments. One value drives
// what the model sees, what the server accepts, and the command-line flags.
//
// It is worked out when it is first used: a process uses few of the schemas it
// has, and starts without any.
type Input struct {
	// Raw returns the schema as clients get it.
	Raw  func() json.RawMessage
	root func() *rootParam
}

// rootParam is what is read out of a whole schema.
type rootParam struct {
	Param
	defs map[string]*Param // what references can refer to, by the reference
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

	bounds        string   // what Min and Max bound: the keywords are minimum, minLength or minItems without "min"
	RequiredNames []string // names that an object must have
	Closed        bool     // no other fields
	values        *Param   // of fields that are not named; nil for any
	pattern       string   // regular expression of a string
	forms         []Param  // the value satisfies one of them, if Type is empty
	ref           string   // stands for the rest, if Type is empty

	also, near []string // what the tags of an own tool's struct say besides, see structschema
	hint       string
	list       bool
	matches    *regexp.Regexp // the pattern; nil for any
}

func (p *Param) fieldNames() []string {
	names := make([]string, len(p.Fields))
	for i := range p.Fields {
		names[i] = p.Fields[i].Name
	}
	return names
}

// Of derives a schema from the fields of the struct In, as package
// structschema says. A field is required unless it has a default, is omitempty
// or is a pointer; arguments that match no field are rejected. The first use of
// the schema of a struct that cannot be described panics; the first test of the
// tool will say so.
func Of[In any]() *Input {
	described := sync.OnceValue(StructOf[In])
	raw := sync.OnceValue(func() json.RawMessage { return described().Arguments() })
	return &Input{raw, sync.OnceValue(func() *rootParam {
		root, err := param("", raw(), false)
		if err != nil {
			panic(fmt.Sprintf("%v: %s: %v", reflect.TypeFor[In](), raw(), err))
		}
		root.tag(described())
		return &rootParam{Param: root}
	})}
}

// StructOf describes the struct T, whose fields have json tags.
func StructOf[T any]() *structschema.Type { return structschema.Describe("json", reflect.TypeFor[T]()) }

// tag adds what the tags of the struct say and no schema does.
func (p *Param) tag(t *structschema.Type) {
	if p.pattern != "" {
		p.matches = regexp.MustCompile(p.pattern)
	}
	switch {
	case t.Kind == structschema.Pointer:
		p.tag(t.Elem)
	case p.Items != nil:
		p.Items.tag(t.Elem)
	default:
		names := map[string]bool{}
		for i := range p.Fields { // which are those of t, in that order
			f, tags := &p.Fields[i], &t.Fields[i]
			f.also, f.near, f.hint, f.list = tags.Also, tags.Near, tags.Hint, tags.List
			for _, name := range slices.Concat(f.also, f.near, []string{f.Name}) {
				if name = nearest.Plain(name); names[name] {
					panic(fmt.Sprintf("%v: %q is a name of two fields", t.Go, name))
				}
				names[name] = true
			}
			f.tag(tags.Type)
		}
	}
}

// Parse reads the schema of another server. Its root must be an object, and
// a reference out of it is an error. Nothing is loaded, expanded or compiled: it takes no
// longer than reading the text, once for each level, and arguments are not held to it
// (see [Input.Converted]).
func Parse(raw []byte) (*Input, error) {
	root, err := parseRoot(raw)
	if err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, errors.New(`the root of an input schema must have "type": "object"`)
	}
	return &Input{
		Raw:  func() json.RawMessage { return raw },
		root: sync.OnceValue(func() *rootParam { root, _ := parseRoot(raw); return root }), // few are used, and it takes memory
	}, nil
}

func parseRoot(raw []byte) (*rootParam, error) {
	p, err := param("", raw, false)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(raw, []byte(`"$ref"`)) {
		v, err := rawjson.Decode(raw)
		if err == nil {
			err = checkReferences(v, v)
		}
		if err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
	}
	root := &rootParam{p, map[string]*Param{}}
	for _, keyword := range []string{"$defs", "definitions"} {
		_ = rawjson.Object(rawjson.Member(raw, keyword), func(name, value []byte) error { // which need not be there
			if def, err := param("", value, false); err == nil {
				root.defs["#/"+keyword+"/"+string(name)] = &def
			}
			return nil
		})
	}
	return root, nil
}

// checkReferences reports a reference in the schema v that leads out of the root, or to a member
// that is not there.
func checkReferences(v, root any) (err error) {
	switch v := v.(type) {
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = checkReferences(v[i], root)
		}
	case map[string]any:
		if to, ok := v["$ref"].(string); ok && !leads(to, root) {
			return fmt.Errorf("$ref %.100q leads to nothing in the schema, and schemas are not loaded", to)
		}
		for keyword, member := range v {
			if literal := slices.Contains([]string{"default", "const", "enum", "examples"}, keyword); !literal && err == nil {
				err = checkReferences(member, root)
			}
		}
	}
	return err
}

// leads reports whether a reference leads to a value in the root, as far as there are objects on
// the way.
func leads(to string, root any) bool {
	names := strings.Split(to, "/")
	for _, name := range names[1:] {
		object, ok := root.(map[string]any)
		if !ok {
			break
		}
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		if root, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return false
		}
	}
	return strings.HasPrefix(to, "#")
}

// param reads the keywords of a schema that [Param] holds.
func param(name string, raw []byte, required bool) (Param, error) {
	p := Param{Name: name, Required: required}
	var properties []byte
	var types []string // if it is a list
	err := rawjson.Object(raw, func(key, value []byte) (err error) {
		switch key := string(key); key {
		case "type":
			if p.Type, err = rawjson.String(value); err != nil {
				return json.Unmarshal(value, &types)
			}
			if !slices.Contains(knownTypes, p.Type) {
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
				return err
			})
		case "minimum", "minLength", "minItems":
			p.bound(key, value, &p.Min)
		case "maximum", "maxLength", "maxItems":
			p.bound(key, value, &p.Max)
		case "additionalProperties":
			p.Closed = string(value) == "false"
			p.values, err = subschema(value)
		case "required":
			p.RequiredNames = nil
			err = json.Unmarshal(value, &p.RequiredNames)
		case "properties":
			properties = value
		case "items":
			p.Items, err = subschema(value)
		case "pattern":
			p.pattern, err = rawjson.String(value)
		case "$ref":
			p.ref, err = rawjson.String(value)
		case "anyOf", "oneOf", "allOf":
			p.forms = nil
			err = rawjson.Array(value, func(element []byte) error {
				form, err := subschema(element)
				if form == nil {
					form = &Param{} // it is true or false
				}
				p.forms = append(p.forms, *form)
				return err
			})
			if key == "allOf" && len(p.forms) != 1 {
				p.forms = nil
			}
		}
		return err
	})
	if err == nil && properties != nil {
		err = p.fields(properties)
	}
	if err != nil {
		return Param{}, fmt.Errorf("schema: %w", err)
	}
	if types != nil {
		p.forms = nil
		for _, t := range types {
			form := p
			form.Type = t
			p.forms = append(p.forms, form)
		}
	}
	return p, nil
}

// bound keeps the value of a keyword such as minLength.
func (p *Param) bound(keyword string, value []byte, to *string) {
	p.bounds, *to = keyword[len("min"):], string(value)
}

// subschema reads a schema within another; nil if it is no object, but true or false.
func subschema(raw []byte) (*Param, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	inner, err := param("", raw, false)
	return &inner, err
}

var knownTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

func (p *Param) fields(properties []byte) error {
	p.Fields = []Param{}
	required, at := nameSet(p.RequiredNames), map[string]int{}
	return rawjson.Object(properties, func(key, value []byte) (err error) {
		f := Param{Name: string(key)} // if it is true or false
		if value[0] == '{' {
			if f, err = param(f.Name, value, required[f.Name]); err != nil {
				return err
			}
		}
		if i, twice := at[f.Name]; twice {
			p.Fields[i] = f // of a name given twice, the last counts
			return nil
		}
		at[f.Name] = len(p.Fields)
		p.Fields = append(p.Fields, f)
		return nil
	})
}

// Describing returns the schema with another description of an argument for callers, and
// a maximum for its value. It accepts what it did before: the tool decides on more than
// the maximum, and can say what that means.
func (s *Input) Describing(name, doc string, most int) *Input {
	raw := sync.OnceValue(func() json.RawMessage {
		properties := rawjson.Member(s.Raw(), "properties")
		p := rawjson.With(rawjson.Member(properties, name), "description", rawjson.AppendString(nil, doc))
		p = rawjson.With(p, "maximum", strconv.AppendInt(nil, int64(most), 10))
		return rawjson.With(s.Raw(), "properties", rawjson.With(properties, name, p))
	})
	return &Input{raw, sync.OnceValue(func() *rootParam {
		root := *s.root()
		root.Fields = slices.Clone(root.Fields)
		for i := range root.Fields {
			if f := &root.Fields[i]; f.Name == name {
				f.Doc = doc
			}
		}
		return &root
	})}
}

// Choosing returns the schema with one more argument, one of some words, the first of which is meant if it is left out.
func (s *Input) Choosing(name, doc string, words []string) *Input {
	property := sync.OnceValue(func() json.RawMessage {
		raw, _ := json.Marshal(struct { // of strings: it cannot fail
			Type        string   `json:"type"`
			Enum        []string `json:"enum"`
			Default     string   `json:"default"`
			Description string   `json:"description"`
		}{"string", words, words[0], doc})
		return raw
	})
	raw := sync.OnceValue(func() json.RawMessage {
		return rawjson.With(s.Raw(), "properties", rawjson.With(rawjson.Member(s.Raw(), "properties"), name, property()))
	})
	return &Input{raw, sync.OnceValue(func() *rootParam {
		root := *s.root()
		f, err := param(name, property(), false)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		root.Fields = append(slices.Clone(root.Fields), f)
		return &root
	})}
}

// Params returns the arguments in declared order.
func (s *Input) Params() []Param { return s.root().Fields }

// MarshalJSON returns the schema itself.
func (s *Input) MarshalJSON() ([]byte, error) { return s.Raw(), nil }

// Arguments returns args, a JSON object or nothing, as the tool's handler gets
// it: checked, and with defaults filled in. Where args break the schema, what surely
// stands for something else is converted (see [conversion]); anything else is an
// [*InvalidArguments].
func (s *Input) Arguments(args json.RawMessage) (map[string]any, error) {
	v, err := decode(args)
	if err != nil {
		return nil, err
	}
	root := s.root()
	if len(root.Check(v)) > 0 {
		v, _ = conversion{root.defs, true}.value(v, &root.Param)
		if found := root.Check(v); len(found) > 0 {
			if _, ok := v.(map[string]any); !ok {
				return nil, notObject(args, nil)
			}
			return nil, &InvalidArguments{found}
		}
	}
	fillDefaults(v, &root.Param)
	return v.(map[string]any), nil
}

// maxValues bounds the time and memory that decoding arguments takes.
const maxValues = 500_000

// decode returns arguments, none as an empty object.
func decode(args json.RawMessage) (any, error) {
	if len(args) == 0 || string(args) == "null" {
		return map[string]any{}, nil
	}
	v, err := rawjson.DecodeMax(args, maxValues)
	if err != nil {
		return nil, Invalid("", "arguments are "+err.Error())
	}
	return v, nil
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

// Output is the JSON Schema of a tool's structured results.
type Output struct {
	Raw     func() json.RawMessage // as clients get it
	Derived bool                   // from a struct, whose values satisfy it
}

// OutputOf derives a schema from the struct Out, with the tags of [Of].
// Its root requires no field and rejects none: clients validate tool execution
// errors, which have the fields of a [Failure], against the same schema.
func OutputOf[Out any]() *Output {
	return &Output{sync.OnceValue(func() json.RawMessage { return StructOf[Out]().Results() }), true}
}

// ParseOutput is [Parse] of results.
func ParseOutput(raw []byte) (*Output, error) {
	s, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return &Output{Raw: s.Raw}, nil
}

// MarshalJSON returns the schema itself.
func (s *Output) MarshalJSON() ([]byte, error) { return s.Raw(), nil }
