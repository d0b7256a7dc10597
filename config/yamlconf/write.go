package yamlconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/structschema"
)

// mask stands in for what must not be shown.
const mask = "********"

// Show returns v, a struct or a pointer to one, as YAML in declared order, without what
// is unset in it and in the defaults. What comes from references is shown as these. Fields
// tagged secret, and what equals a secret, are masked. Apart from masked values, and from
// paths in v that are relative, the text decodes over the defaults to v again.
func Show(v, defaults any, source *Source) []byte {
	types, value, t := rootOf(v)
	_, over, _ := rootOf(defaults)
	w := &writer{types, source, true}
	return marshal(w.node(value, over, t, structschema.Rules{}, ""))
}

// Node returns what is set in v, a struct, as a file has it that is being written: references
// stand for themselves, and nothing is masked.
func Node(v any) *yaml.Node {
	types, value, t := rootOf(v)
	return (&writer{types, nil, true}).node(value, reflect.Value{}, t, structschema.Rules{}, "")
}

// Schema returns the JSON Schema (draft 2020-12) of v, a struct that holds the
// defaults or a pointer to one, for editors and for other programs. What it
// accepts, [Decode] accepts too, except for limits that a schema cannot say:
// those of durations and sizes written as text, and of what references stand
// for. The notations are schemas of texts, by the names in the tags format and keys.
func Schema(v any, notations map[string]json.RawMessage) []byte {
	types, value, _ := rootOf(v)
	return types.Configuration(value, notations)
}

func marshal(n *yaml.Node) []byte {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(fmt.Sprintf("yamlconf: %v", err)) // nodes of ours can be written
	}
	return out.Bytes()
}

// writer writes values as YAML.
type writer struct {
	types  *structschema.Types
	source *Source // nil for values that are written for the first time
	sparse bool    // leaves out what is unset
}

// node returns v, which is decoded over a default; over the zero value if that is
// invalid, as elements of maps and lists are.
func (w *writer) node(v, over reflect.Value, t *structschema.Type, r structschema.Rules, path string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	switch t.Kind {
	case structschema.Pointer, structschema.List, structschema.Map, structschema.Any:
		if v.IsNil() {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
		}
	}
	switch t.Kind {
	case structschema.Pointer:
		if over.IsValid() {
			over = over.Elem()
		}
		return w.node(v.Elem(), over, t.Elem, r, path)
	case structschema.Any: // an element of a [structschema.Keyed]
		v = reflect.Indirect(v.Elem())
		return w.node(v, reflect.Value{}, w.types.Of(v.Type()), r, path)
	case structschema.Struct:
		if t.Short != nil && isShort(v, t) {
			return w.node(v.FieldByIndex(t.Short.Index), field(over, t.Short), t.Short.Type, t.Short.Rules, path)
		}
		for _, f := range t.Fields {
			f.Secret = f.Secret || r.Secret
			value, over := v.FieldByIndex(f.Index), field(over, &f)
			if w.sparse && unset(value, over, f.Type, f.Rules) {
				continue
			}
			below := w.node(value, over, f.Type, f.Rules, join(path, f.Name))
			section := f.Type.Kind == structschema.Struct || structschema.KeyedOf(f.Type) != nil
			if w.sparse && section && below.Kind == yaml.MappingNode && len(below.Content) == 0 {
				continue
			}
			n.Content = append(n.Content, text(f.Name), below)
		}
		if t.Rest != nil {
			n.Content = append(n.Content, w.entries(v.FieldByIndex(t.Rest.Index), field(over, t.Rest), t.Rest.Type, t.Rest.Rules, path)...)
		}
	case structschema.Map:
		n.Content = w.entries(v, over, t, r, path)
	case structschema.List:
		return w.list(v, t, r, path)
	default:
		return w.scalar(v, t, r, path)
	}
	return n
}

// field returns a field of a struct; an invalid value of an invalid one.
func field(v reflect.Value, f *structschema.Field) reflect.Value {
	if !v.IsValid() {
		return v
	}
	return v.FieldByIndex(f.Index)
}

// unset reports whether a value means the same as no value: it is one that says nothing,
// and so is what it is decoded over.
func unset(v, over reflect.Value, t *structschema.Type, r structschema.Rules) bool {
	switch {
	case !v.IsZero() || over.IsValid() && !over.IsZero():
		return false
	case !over.IsValid() && (t.Kind != structschema.Struct || t.Short != nil):
		return true
	}
	return t.Elem != nil || t.Kind == structschema.String || t.Kind == structschema.Text || !r.Allows(t, v)
}

// entries returns the keys and values of a map, sorted by key.
func (w *writer) entries(v, over reflect.Value, t *structschema.Type, r structschema.Rules, path string) (nodes []*yaml.Node) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		var before reflect.Value
		if over.IsValid() {
			before = over.MapIndex(key)
		}
		below := w.node(v.MapIndex(key), before, t.Elem, r.Elements(), join(path, key.String()))
		if w.sparse && t.Elem.Kind == structschema.Any && len(below.Content) == 0 {
			continue
		}
		nodes = append(nodes, text(key.String()), below)
	}
	return nodes
}

// list writes a list on one line if that is short.
func (w *writer) list(v reflect.Value, t *structschema.Type, r structschema.Rules, path string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	length := 0
	for i := range v.Len() {
		item := w.node(v.Index(i), reflect.Value{}, t.Elem, r.Elements(), index(path, i))
		n.Content = append(n.Content, item)
		if length += len(item.Value) + 2; w.source != nil && (item.Kind != yaml.ScalarNode || length > 80) {
			n.Style = 0
		}
	}
	if w.source == nil && r.One && len(n.Content) == 1 {
		return n.Content[0]
	}
	return n
}

func (w *writer) scalar(v reflect.Value, t *structschema.Type, r structschema.Rules, path string) *yaml.Node {
	source := cmp.Or(w.source, &Source{})
	if written := source.written[path]; written != "" {
		return text(written)
	}
	plain := structschema.Plain(t, v)
	value, isText := plain.(string)
	switch {
	case !isText:
		value = fmt.Sprint(plain)
	case w.source == nil:
		r.Secret = false
		if t.Kind == structschema.String {
			value = v.String()
		}
	case value != "" && (source.masked[path] || source.values[v.String()]):
		r.Secret = true
	}
	switch {
	case r.Secret && value != "":
		return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: mask}
	case isText:
		return text(value)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value}
}

// text returns a node that is read as text, whatever it looks like.
func text(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if value == "" || value == "<<" || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isShort reports whether a struct has nothing but its short field.
func isShort(v reflect.Value, t *structschema.Type) bool {
	return !slices.ContainsFunc(t.Fields, func(f structschema.Field) bool {
		return f.Name != t.Short.Name && !v.FieldByIndex(f.Index).IsZero()
	})
}

// Changes returns a line such as "sandbox.network: all" for each value that the file
// of source sets in v to something else than what it is in defaults, in declared
// order. Both are structs or pointers to them, and secrets are masked.
func Changes(v, defaults any, source *Source) (lines []string) {
	was := map[string]string{}
	leaves(defaults, source, func(path, line string) { was[path] = line })
	leaves(v, source, func(path, line string) {
		if _, set := source.places[path]; set && line != was[path] {
			lines = append(lines, line)
		}
	})
	return lines
}

// leaves visits the values that are no mappings with keys, each with a line that has its path and it.
func leaves(v any, source *Source, visit func(path, line string)) {
	types, value, t := rootOf(v)
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
			n.Style |= yaml.FlowStyle
			visit(path, strings.TrimSpace(string(marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: path}, n}}))))
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			walk(join(path, n.Content[i].Value), n.Content[i+1])
		}
	}
	walk("", (&writer{types, source, false}).node(value, value, t, structschema.Rules{}, ""))
}
