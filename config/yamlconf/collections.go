package yamlconf

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"toolserver/domain/nearest"
)

// pair is a key of a mapping with its value.
type pair struct {
	key, value *yaml.Node
	name       string
}

// maxMerges bounds how deep the merge key << may nest, which an anchor that
// merges itself would otherwise do for ever.
const maxMerges = 16

// pairs returns the keys and values of the mapping n. Those of mappings merged
// with << follow unless n has the key itself. Merged mappings are checked for
// mistakes where they stand, not here.
func (d *decoder) pairs(n *yaml.Node, path string, depth int) []pair {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	all := make([]pair, 0, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content) && d.spend(n); i += 2 {
		key, value := target(n.Content[i]), n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		p := pair{n.Content[i], value, key.Value}
		switch first, twice := seen[p.name]; {
		case key.Kind != yaml.ScalarNode || isNull(key):
			d.errorf(key, "a key in %s must be text, not %s", subject(path), describe(key))
			continue
		case twice && depth == 0:
			d.errorf(p.key, "duplicate key %q%s; it is already on line %d", clip(p.name), in(path), first.Line)
			continue
		case twice:
			continue
		}
		seen[p.name] = p.key
		all = append(all, p)
	}
	for _, m := range merges {
		for _, p := range d.merged(m, path, depth) {
			if _, has := seen[p.name]; !has {
				seen[p.name] = p.key
				all = append(all, p)
			}
		}
	}
	return all
}

// merged returns the pairs that << takes from n, a mapping or a list of them.
func (d *decoder) merged(n *yaml.Node, path string, depth int) []pair {
	place := n
	sources := []*yaml.Node{target(n)}
	if sources[0].Kind == yaml.SequenceNode {
		sources = sources[0].Content
	}
	var all []pair
	for _, source := range sources {
		source = target(source)
		switch {
		case source.Kind != yaml.MappingNode:
			d.errorf(place, "<<%s takes a mapping or a list of mappings, not %s", in(path), describe(source))
		case depth == maxMerges:
			d.errorf(place, "<<%s nests too deeply, or merges itself", in(path))
		case d.spend(place):
			all = append(all, d.pairs(source, path, depth+1)...)
		}
	}
	return all
}

func (d *decoder) structure(n *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, s, r, path)
		return
	}
	var others []pair
	for _, p := range d.pairs(n, path, 0) {
		f := s.field(p.name)
		switch {
		case f != nil:
			inner := f.rules
			inner.secret = inner.secret || r.secret
			d.value(p.value, p.key, f.shape, inner, join(path, p.name), out.FieldByIndex(f.index))
		case s.rest != nil:
			others = append(others, p)
		default:
			d.errorf(p.key, "unknown key %q%s; %s", clip(p.name), in(path), suggestion(p.name, s.names(), "known keys: "))
		}
	}
	if len(others) > 0 {
		d.entries(others, s.rest.shape, s.rest.rules, path, out.FieldByIndex(s.rest.index))
	}
}

// entries decodes pairs over a copy of the map in out.
func (d *decoder) entries(pairs []pair, s *shape, r rules, path string, out reflect.Value) {
	m := reflect.MakeMapWithSize(s.typ, out.Len()+len(pairs))
	for old := out.MapRange(); old.Next(); {
		m.SetMapIndex(old.Key(), old.Value())
	}
	for _, p := range pairs {
		key := reflect.ValueOf(p.name).Convert(s.typ.Key())
		v := s.elem.fresh()
		if old := m.MapIndex(key); old.IsValid() {
			v.Set(old)
		}
		d.value(p.value, p.key, s.elem, r.inner(), join(path, p.name), v)
		m.SetMapIndex(key, v)
	}
	out.Set(m)
}

func (d *decoder) list(n *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, s, r, path)
		return
	}
	all := reflect.MakeSlice(s.typ, len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if it := target(item); isNull(it) && !isHome(it, s.elem, r) {
			d.errorf(item, "%s has no value: write one, or remove the item", index(path, i))
			continue
		}
		if s.elem.defaults {
			all.Index(i).Set(s.elem.fresh())
		}
		d.value(item, item, s.elem, r.inner(), index(path, i), all.Index(i))
	}
	out.Set(all)
	d.checkCount(n, s, r, path, out)
}

func (d *decoder) checkCount(n *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	if !r.allows(out, s) {
		d.errorf(n, "%s: the number of %s must be %s, not %d", path, s.counted(), r.limits(), out.Len())
	}
}

// in says where a key stands; nothing is said of the top of the file.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// suggestion ends a message about a word that is none of the known ones.
func suggestion(word string, known []string, intro string) string {
	if near, ok := nearest.Word(word, known); ok {
		return "did you mean \"" + near + "\"?"
	}
	if len(known) == 0 {
		return "there are no keys here"
	}
	return intro + strings.Join(known, ", ")
}
