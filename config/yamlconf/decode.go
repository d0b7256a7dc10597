package yamlconf

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/structschema"
)

const (
	maxErrors = 20      // mistakes that one Decode reports before it gives up
	maxNodes  = 250_000 // values of one file, counting what an alias stands for each time it is used
)

// Decode reads the YAML document data over the defaults in the struct that
// into points to, and fills source, which is new. The name of the file appears
// in errors and its folder is where relative paths start; the folder is the
// working directory when file is empty. An empty document leaves the defaults.
//
// The error joins an [*Error] for each mistake in the file, in its order, up to
// 20. The struct then holds a mixture and must be thrown away. Maps, lists and
// pointees that the defaults share with others are never written to.
func Decode(file string, data []byte, into any, source *Source) error {
	types, out, t := rootOf(into)
	if !out.CanSet() {
		panic(fmt.Sprintf("yamlconf: Decode into %T; want a pointer to a struct", into))
	}
	*source = Source{file: file, places: map[string]place{}, masked: map[string]bool{}, written: map[string]string{}, values: map[string]bool{}}
	root, bad := parse(file, data)
	if bad != nil {
		return bad
	}
	if root == nil {
		return nil
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return newError(file, 0, 0, oneLine(err.Error()))
	}
	d := &decoder{source: source, dir: dir, types: types, examples: map[string]string{}}
	d.value(root, root, t, structschema.Rules{}, "", out)
	if d.nodes > maxNodes {
		d.errorf(root, "the file has more than %d values, counting aliases each time they are used", maxNodes)
	}
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := make([]error, len(d.errs))
	for i, one := range d.errs {
		all[i] = one
	}
	return errors.Join(all...)
}

// rootOf returns the value and type of v, a struct or a pointer to one.
func rootOf(v any) (*structschema.Types, reflect.Value, *structschema.Type) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		panic(fmt.Sprintf("yamlconf: %T is neither a struct nor a pointer to one", v))
	}
	types := structschema.NewTypes("yaml", value.Type())
	return types, value, types.Of(value.Type())
}

type decoder struct {
	source   *Source
	dir      string // of the file
	types    *structschema.Types
	examples map[string]string // by path, of the fields that have one
	errs     []*Error
	nodes    int // values so far
	expanded int // bytes that references stood for
}

func (d *decoder) errorf(at *yaml.Node, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, newError(d.source.file, at.Line, at.Column, fmt.Sprintf(format, args...)))
	}
}

// spend counts one value and reports whether to go on.
func (d *decoder) spend() bool {
	d.nodes++
	return d.nodes <= maxNodes && len(d.errs) < maxErrors
}

// value decodes n into out. Mistakes without a place of their own are reported
// at the node at, which is that of the key.
func (d *decoder) value(n, at *yaml.Node, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	if !d.spend() {
		return
	}
	n = target(n)
	d.source.places[path] = place{at.Line, at.Column}
	switch {
	case t.Kind == structschema.Any: // it is enough that the key is there
	case isNull(n) && !isHome(n, t, r):
		d.null(n, at, t, path, out)
	case !knownTag(n):
		d.errorf(n, "%s: unknown YAML tag %s", subject(path), clip(oneLine(n.ShortTag())))
	case t.Kind == structschema.Pointer:
		v := reflect.New(t.Elem.Go)
		if !out.IsNil() {
			v.Elem().Set(out.Elem())
		}
		d.value(n, at, t.Elem, r, path, v.Elem())
		out.Set(v)
	case t.Short != nil && n.Kind == yaml.ScalarNode:
		d.scalar(n, t.Short.Type, t.Short.Rules, path, out.FieldByIndex(t.Short.Index))
	case t.Kind == structschema.Struct && n.Kind == yaml.MappingNode:
		d.structure(n, t, r, path, out)
	case t.Kind == structschema.Map && n.Kind == yaml.MappingNode:
		d.entries(d.pairs(n, path), t, r, path, out)
		d.checkCount(n, t, r, path, out)
	case t.Kind == structschema.List && n.Kind == yaml.SequenceNode:
		d.list(n, t, r, path, out)
	case r.One && n.Kind == yaml.ScalarNode:
		one := reflect.New(t.Elem.Go).Elem()
		d.value(n, at, t.Elem, r.Elements(), path, one)
		out.Set(reflect.Append(reflect.MakeSlice(t.Go, 0, 1), one))
	case t.Elem == nil && t.Kind != structschema.Struct && n.Kind == yaml.ScalarNode:
		d.scalar(n, t, r, path, out)
	default:
		d.wrongType(n, t, r, path)
	}
}

// null decodes a value that is absent or the word null. A section whose keys
// are all commented out keeps its defaults. Elsewhere nothing is ambiguous, as
// it is how a list looks whose items are all commented out.
func (d *decoder) null(n, at *yaml.Node, t *structschema.Type, path string, out reflect.Value) {
	switch blank := n.Value == ""; {
	case t.Kind == structschema.Struct, t.Kind == structschema.Map && blank:
	case !blank && t.Elem != nil:
		out.SetZero()
	case !blank:
		d.errorf(at, "%s must be %s, not null", subject(path), looks(t))
	case t.Kind == structschema.List:
		d.errorf(at, "%s has no value: write [] for an empty list, or remove the key", subject(path))
	default:
		d.errorf(at, "%s has no value: it must be %s; remove the key to keep the default", subject(path), looks(t))
	}
}

// pair is a key of a mapping with its value.
type pair struct {
	key, value *yaml.Node
	name       string
}

// pairs returns the keys and values of the mapping n.
func (d *decoder) pairs(n *yaml.Node, path string) []pair {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	all := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && d.spend(); i += 2 {
		key := target(n.Content[i])
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || isNull(key):
			d.errorf(key, "a key in %s must be text, not %s", subject(path), describe(key))
		case key.Tag == "!!merge":
			d.errorf(key, "<<%s is not supported: write the keys, or an alias for the whole value", in(path))
		case first != nil:
			d.errorf(n.Content[i], "duplicate key %q%s; it is already on line %d", clip(key.Value), in(path), first.Line)
		default:
			seen[key.Value] = n.Content[i]
			all = append(all, pair{n.Content[i], n.Content[i+1], key.Value})
		}
	}
	return all
}

func (d *decoder) structure(n *yaml.Node, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	var others []pair
	mistakes := len(d.errs)
	if t.Alone {
		out.FieldByIndex(t.Short.Index).SetZero()
	}
	for _, p := range d.pairs(n, path) {
		f := t.Field(p.name)
		switch {
		case f != nil:
			inner := f.Rules
			inner.Secret = inner.Secret || r.Secret
			if f.Example != "" {
				d.examples[join(path, p.name)] = f.Example
			}
			d.value(p.value, p.key, f.Type, inner, join(path, p.name), out.FieldByIndex(f.Index))
		case t.Rest != nil:
			others = append(others, p)
		default:
			d.unknownKey(p.key, p.name, path, t)
		}
	}
	if len(others) > 0 {
		d.entries(others, t.Rest.Type, t.Rest.Rules, path, out.FieldByIndex(t.Rest.Index))
	}
	needed := t.Short
	if t.Alone {
		needed = &t.Fields[0]
	}
	if needed != nil && out.FieldByIndex(needed.Index).IsZero() && len(d.errs) == mistakes {
		d.errorf(n, "%s: has no %s", subject(path), needed.Name)
	}
}

// entries decodes pairs over a copy of the map in out.
func (d *decoder) entries(pairs []pair, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	m := reflect.MakeMapWithSize(t.Go, out.Len()+len(pairs))
	for old := out.MapRange(); old.Next(); {
		m.SetMapIndex(old.Key(), old.Value())
	}
	for _, p := range pairs {
		key := reflect.ValueOf(p.name).Convert(t.Go.Key())
		v, element := d.types.Element(t, p.name)
		if old := m.MapIndex(key); old.IsValid() && element == t.Elem {
			v.Set(old)
		}
		d.value(p.value, p.key, element, r.Elements(), join(path, p.name), v)
		if element != t.Elem {
			v = v.Addr()
		}
		m.SetMapIndex(key, v)
	}
	out.Set(m)
}

func (d *decoder) list(n *yaml.Node, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	all := reflect.MakeSlice(t.Go, len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if it := target(item); isNull(it) && !isHome(it, t.Elem, r) {
			d.errorf(item, "%s has no value: write one, or remove the item", index(path, i))
			continue
		}
		d.value(item, item, t.Elem, r.Elements(), index(path, i), all.Index(i))
	}
	out.Set(all)
	d.checkCount(n, t, r, path, out)
}

func (d *decoder) checkCount(n *yaml.Node, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	if problem := r.Problem(t, out, ""); problem != "" {
		d.errorf(n, "%s %s", path, problem)
	}
}

// target follows an alias to the node it stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isHome reports whether a bare ~, which is null in YAML, is meant as the home
// directory.
func isHome(n *yaml.Node, t *structschema.Type, r structschema.Rules) bool {
	return r.Path && t.Kind == structschema.String && n.Value == "~"
}

// knownTag rejects tags that would give a value a meaning which is then
// ignored, such as !secret or !!binary.
func knownTag(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge", "!!null":
		return n.Kind == yaml.ScalarNode
	case "!!map":
		return n.Kind == yaml.MappingNode
	case "!!seq":
		return n.Kind == yaml.SequenceNode
	}
	return false
}
