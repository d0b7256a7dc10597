package yamlconf

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/structschema"
)

// Template returns a starter file for v, a struct that holds the defaults or a
// pointer to one. Sections are there, and are empty: each of their keys is a comment,
// #key: value, after one that explains it, # text. The value is the default, or else
// the example that the tags of the field have, or one that is accepted. A key is
// explained once, and an element of a [structschema.Keyed] is there if it has a key
// that no other has explained. The text decodes over the defaults to the defaults.
func Template(v any) []byte {
	types, value, t := rootOf(v)
	w := &templater{writer: writer{types, &Source{}, false}, explained: map[string]bool{}}
	for i := range t.Fields {
		f := &t.Fields[i]
		if lines := w.field(value.FieldByIndex(f.Index), f); lines != nil {
			w.lines = append(append(w.lines, ""), lines...)
		}
	}
	return []byte(strings.TrimPrefix(strings.Join(w.lines, "\n")+"\n", "\n"))
}

// templater writes a template.
type templater struct {
	writer
	lines     []string
	explained map[string]bool
	listed    bool // the keys that all elements of a Keyed have in common
}

// field returns the lines of a key.
func (w *templater) field(v reflect.Value, f *structschema.Field) (lines []string) {
	text := comment(f)
	if !w.explained[f.Name+text] && text != "" {
		lines = append(lines, "# "+text)
		w.explained[f.Name+text] = true
	}
	t := f.Type
	switch keyed := structschema.KeyedOf(t); {
	case f.Hidden:
		return nil
	case f.Example != "":
		return append(lines, "#"+f.Name+": "+f.Example)
	case keyed != nil:
		return append(append(lines, f.Name+":"), prefixed("  ", w.elements(keyed, t))...)
	case t.Kind == structschema.Struct && t.Short == nil:
		below := w.fields(v, t, false)
		if below == nil {
			return nil
		}
		return append(append(lines, f.Name+":"), prefixed("  ", below)...)
	}
	return append(lines, "#"+f.Name+": "+w.sample(v, t, f.Rules))
}

// fields returns the lines of the keys of a struct, with those that others have in common
// with it, or without.
func (w *templater) fields(v reflect.Value, t *structschema.Type, common bool) (lines []string) {
	for i := range t.Fields {
		if f := &t.Fields[i]; !f.Elsewhere || common {
			lines = append(lines, w.field(v.FieldByIndex(f.Index), f)...)
		}
	}
	return lines
}

// elements returns the lines of the elements that have something to explain.
func (w *templater) elements(keyed structschema.Keyed, t *structschema.Type) (lines []string) {
	for _, key := range keyed.Keys() {
		v, element := w.types.Element(t, key)
		fresh := false
		for i := range element.Fields {
			f := &element.Fields[i]
			fresh = fresh || !f.Elsewhere && !f.Hidden && !w.explained[f.Name+comment(f)]
		}
		if fresh {
			common := !w.listed
			w.listed = true
			lines = append(append(lines, key+":"), prefixed("  ", w.fields(v, element, common))...)
		}
	}
	return lines
}

// sample returns the default of a value, or a value that is accepted.
func (w *templater) sample(v reflect.Value, t *structschema.Type, r structschema.Rules) string {
	if t.Kind == structschema.Pointer {
		t = t.Elem
		if v.IsNil() {
			v = reflect.New(t.Go)
			if t.Kind == structschema.Bool {
				v.Elem().SetBool(true)
			}
		}
		v = v.Elem()
	}
	switch {
	case r.Allows(t, v):
	case r.Enum != nil:
		return r.Enum[0]
	default:
		return r.Min.Text
	}
	switch {
	case t.Kind == structschema.List && v.Len() == 0:
		return "[]"
	case t.Kind == structschema.Map && v.Len() == 0:
		return "{}"
	case r.Secret:
		return `""`
	}
	n := w.node(v, v, t, r, "")
	n.Style |= yaml.FlowStyle
	return strings.TrimSpace(string(marshal(n)))
}

// comment is what explains a key.
func comment(f *structschema.Field) string {
	parts := []string{f.Doc}
	if f.Enum != nil {
		parts = append(parts, "One of: "+strings.Join(f.Enum, ", ")+".")
	}
	if limits := f.Limits(); limits != "" && f.Type.Kind.Counted() != "characters" {
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
