package yamlconf

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"toolserver/structschema"
)

// mask stands in for what must not be shown.
const mask = "********"

// Show returns v, a struct or a pointer to one, as YAML in declared order, without what
// is unset in it and in the defaults. What comes from references is shown as these. Fields
// tagged secret, and what equals a secret, are masked. Apart from masked values, and from
// paths in v that are relative, the text decodes over the defaults to v again.
func Show(v, defaults any, source *Source) []byte {
	w := &writer{types: structschema.NewTypes("yaml"), source: source, sparse: true}
	value, t := rootOf(w.types, v)
	over, _ := rootOf(w.types, defaults)
	return marshal(w.node(value, over, t, structschema.Rules{}, ""))
}

// Schema returns the JSON Schema (draft 2020-12) of v, a struct that holds the
// defaults or a pointer to one, for editors and for other programs. What it
// accepts, [Decode] accepts too, except for limits that a schema cannot say:
// those of durations and sizes written as text, and of what references stand
// for.
func Schema(v any) []byte {
	types := structschema.NewTypes("yaml")
	value, _ := rootOf(types, v)
	return types.Configuration(value)
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
	source *Source
	sparse bool // leaves out what is unset
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
			if w.sparse && f.Type.Kind == structschema.Struct && below.Kind == yaml.MappingNode && len(below.Content) == 0 {
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
	case !over.IsValid() && t.Kind != structschema.Struct:
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
		nodes = append(nodes, text(key.String()), w.node(v.MapIndex(key), before, t.Elem, r.Elements(), join(path, key.String())))
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
		if length += len(item.Value) + 2; item.Kind != yaml.ScalarNode || length > 80 {
			n.Style = 0
		}
	}
	return n
}

func (w *writer) scalar(v reflect.Value, t *structschema.Type, r structschema.Rules, path string) *yaml.Node {
	if written := w.source.written[path]; written != "" {
		return text(written)
	}
	plain := structschema.Plain(t, v)
	value, isText := plain.(string)
	switch {
	case !isText:
		value = fmt.Sprint(plain)
	case value != "" && (w.source.masked[path] || w.source.values[v.String()]):
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

// Template returns a starter file for v, a struct that holds the defaults or a
// pointer to one: every key with its doc and its default. A key is commented
// out, with an example of its shape, where it has no default, where the default
// is a secret, and where it is a relative path, which would mean another folder
// in a file. The text decodes over the defaults to the defaults.
func Template(v any) []byte {
	w := &writer{types: structschema.NewTypes("yaml"), source: &Source{}}
	value, t := rootOf(w.types, v)
	lines := w.fields(value, t, true)
	return []byte(strings.TrimPrefix(strings.Join(lines, "\n")+"\n", "\n"))
}

// fields returns the lines of the keys of a struct. At the top of a file they
// stand apart.
func (w *writer) fields(v reflect.Value, t *structschema.Type, top bool) (lines []string) {
	for _, f := range t.Fields {
		value := v.FieldByIndex(f.Index)
		block := w.block(f.Name, value, f.Type, f.Rules)
		if f.Elsewhere || block == nil {
			continue
		}
		if top {
			lines = append(lines, "")
		}
		if text := comment(f); text != "" {
			lines = append(lines, "# "+text)
		}
		if isUnset(value, f.Type, f.Rules) {
			block = prefixed("# ", block)
		}
		lines = append(lines, block...)
	}
	if t.Rest != nil && t.Rest.Type.Leaf().Kind == structschema.Struct {
		example, element := w.types.Element(t.Rest.Type, "")
		lines = append(lines, prefixed("# ", w.block("NAME", example, element, t.Rest.Rules))...)
	}
	return lines
}

// isUnset reports whether a template shows a value only as an example.
func isUnset(v reflect.Value, t *structschema.Type, r structschema.Rules) bool {
	_, isKeyed := v.Interface().(structschema.Keyed) // of which each element is an example
	switch {
	case r.Secret, !r.Allows(t, v):
		return true
	case t.Kind == structschema.Text:
		return v.IsZero()
	case r.Path && t.Kind == structschema.String:
		return v.String() != "" && !filepath.IsAbs(v.String())
	}
	return t.Elem != nil && !isKeyed && (v.IsNil() || t.Leaf().Kind == structschema.Struct)
}

// block returns the lines of a key with its value, or with an example where that
// is nil; nothing for a struct without fields.
func (w *writer) block(name string, v reflect.Value, t *structschema.Type, r structschema.Rules) []string {
	leaf := t.Leaf()
	var below []string
	switch {
	case t.Kind == structschema.Pointer:
		if v.IsNil() {
			v = reflect.New(t.Elem.Go)
		}
		return w.block(name, v.Elem(), t.Elem, r)
	case leaf.Kind != structschema.Any && (leaf.Kind != structschema.Struct || leaf.Short != nil):
		switch {
		case t.Kind == structschema.List && v.IsNil():
			v = reflect.MakeSlice(t.Go, 0, 0)
		case t.Kind == structschema.Map && v.IsNil():
			v = reflect.MakeMap(t.Go)
		}
		entry := marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text(name), w.node(v, v, t, r, name)}})
		return strings.Split(strings.TrimSpace(string(entry)), "\n")
	case t.Kind == structschema.Struct:
		below = w.fields(v, t, false)
	case t.Kind == structschema.List:
		below = prefixed("  ", w.fields(reflect.New(leaf.Go).Elem(), leaf, false))
		below[0] = "- " + below[0][2:]
	default:
		keys, comment := []string{"NAME"}, ""
		if keyed, ok := v.Interface().(structschema.Keyed); ok {
			keys, comment = append(keyed.Keys(), keys...), "# "
		}
		for _, key := range keys {
			v, element := w.types.Element(t, key)
			below = append(below, prefixed(comment, w.block(key, v, element, r))...)
		}
	}
	if below == nil {
		return nil
	}
	return append([]string{name + ":"}, prefixed("  ", below)...)
}

// comment is the text above a key.
func comment(f structschema.Field) string {
	parts := []string{f.Doc}
	if f.Enum != nil {
		parts = append(parts, "One of: "+strings.Join(f.Enum, ", ")+".")
	}
	if limits := f.Limits(); limits != "" {
		parts = append(parts, strings.TrimSpace(strings.ToUpper(limits[:1])+limits[1:]+" "+f.Type.Kind.Counted())+".")
	}
	return oneLine(strings.Join(parts, " "))
}

func prefixed(prefix string, lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = strings.TrimRight(prefix+line, " ")
	}
	return all
}
