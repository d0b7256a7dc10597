package yamlconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/structschema"
)

// maxMeant bounds the places that a message about an unknown key names.
const maxMeant = 3

// unknownKey reports a key that is none of the fields of the struct at path: with the
// key that was probably meant, which may be one of another section, or else with those
// that there are.
func (d *decoder) unknownKey(key *yaml.Node, word, path string, t *structschema.Type) {
	hint := "known keys: " + strings.Join(names(t.Fields), ", ")
	if meant, help := d.meant(word, path, t); len(meant) > 0 {
		hint = "did you mean " + strings.Join(meant, ", or ") + "?"
		if help != "" {
			hint += " " + help
		}
	}
	d.errorf(key, "unknown key %q%s; %s", clip(word), in(path), hint)
}

// meant returns the keys that a word may stand for, with what else to say of the first:
// what people call a key here, what is spelled like one, and what is a key of another
// section.
func (d *decoder) meant(word, path string, t *structschema.Type) (keys []string, help string) {
	quote := func(f *structschema.Field) []string { return []string{fmt.Sprintf("%q", f.Name)} }
	if f := called(t.Fields, word); f != nil {
		return quote(f), f.Hint
	}
	if near, ok := nearest.Word(word, names(t.Fields)); ok {
		return quote(t.Field(near)), ""
	}
	var also []string
	for _, f := range t.Fields {
		also = append(also, f.Also...)
	}
	if near, ok := nearest.Word(word, also); ok {
		f := called(t.Fields, near)
		return quote(f), f.Hint
	}
	if path != "" {
		return nil, ""
	}
	return d.elsewhere(word, t)
}

// A section is a struct of the configuration with the path of its keys.
type section struct {
	path string
	t    *structschema.Type
}

// elsewhere looks for a word among the keys of all sections below a struct, the least
// deep first. Of a key that several tools have, it names one.
func (d *decoder) elsewhere(word string, t *structschema.Type) (keys []string, help string) {
	seen := map[string]bool{}
	for level := []section{{"", t}}; len(level) > 0; {
		var below []section
		for _, s := range level {
			top, _, _ := strings.Cut(s.path, ".")
			f := called(s.t.Fields, word)
			if f != nil && s.path != "" && !seen[top+"."+f.Name] && len(keys) < maxMeant {
				seen[top+"."+f.Name] = true
				keys, help = append(keys, join(s.path, f.Name)), cmp.Or(help, f.Hint)
			}
			for i := range s.t.Fields {
				if &s.t.Fields[i] != f {
					below = append(below, d.sections(s.path, &s.t.Fields[i])...)
				}
			}
		}
		level = below
	}
	return keys, help
}

// sections returns the structs that the value of a field has.
func (d *decoder) sections(path string, f *structschema.Field) (all []section) {
	path = join(path, f.Name)
	t := f.Type
	switch t.Kind {
	case structschema.Pointer:
		t = t.Elem
	case structschema.List:
		path, t = path+"[]", t.Elem
	case structschema.Map:
		keys := []string{"NAME"}
		if keyed := structschema.KeyedOf(t); keyed != nil {
			keys = append(keys, keyed.Keys()...)
		}
		for _, key := range keys {
			if _, element := d.types.Element(t, key); element.Kind == structschema.Struct {
				all = append(all, section{join(path, key), element})
			}
		}
		return all
	}
	if t.Kind == structschema.Struct {
		all = append(all, section{path, t})
	}
	return all
}

// called returns the field that has a name, or that people call so, whatever the case
// and the signs between its words.
func called(fields []structschema.Field, word string) *structschema.Field {
	is := func(other string) bool { return nearest.Plain(other) == nearest.Plain(word) }
	for i := range fields {
		if f := &fields[i]; is(f.Name) || slices.ContainsFunc(f.Also, is) {
			return f
		}
	}
	return nil
}

func names(fields []structschema.Field) (all []string) {
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return all
}
