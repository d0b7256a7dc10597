package yamlconf

import (
	"cmp"
	"slices"
	"strconv"
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
	var meant []string
	near, ok := nearest.Meant(word, t.Named())
	help := near.Hint
	switch {
	case ok:
		meant = []string{strconv.Quote(near.Name)}
	case path == "":
		meant, help = d.elsewhere(word, t)
	}
	hint := strings.TrimSpace("did you mean " + strings.Join(meant, ", or ") + "? " + help)
	if meant == nil {
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
		}
		hint = "known keys: " + strings.Join(names, ", ")
	}
	d.errorf(key, "unknown key %q%s; %s", clip(word), in(path), hint)
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
			named, ok := nearest.Called(word, s.t.Named())
			if ok && s.path != "" && !seen[top+"."+named.Name] {
				seen[top+"."+named.Name] = true
				keys, help = append(keys, join(s.path, named.Name)), cmp.Or(help, named.Hint)
			}
			for i := range s.t.Fields {
				if s.t.Fields[i].Name != named.Name {
					below = append(below, d.sections(s.path, &s.t.Fields[i])...)
				}
			}
		}
		level = below
	}
	once := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return strings.Contains(key, "[]") })
	if len(once) > 0 { // what items of lists have of it is the exception
		keys = once
	}
	return keys[:min(len(keys), maxMeant)], help
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
