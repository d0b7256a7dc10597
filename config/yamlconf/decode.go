package yamlconf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Options are what Decode takes from outside the file. The zero value uses the
// process's environment.
type Options struct {
	LookupEnv func(name string) (string, bool) // os.LookupEnv when nil
	HomeDir   string                           // what ~ stands for; os.UserHomeDir when empty
	Source    *Source                          // filled with places and secrets unless nil
}

// maxNodes bounds the values of one file, counting what an alias stands for
// each time it is used.
const maxNodes = 250_000

// Decode reads the YAML document data over the defaults in the struct that
// into points to. The name of the file appears in errors and its folder is
// where relative paths start; the folder is that of the working directory when
// file is empty. An empty document leaves the defaults.
//
// The error is nil or of type [Errors], and says everything that is wrong with
// the file, up to 20 mistakes. The struct then holds a mixture and must be
// thrown away. Maps, slices and pointees that the defaults share with others
// are never written to.
func Decode(file string, data []byte, into any, opts Options) error {
	all := shapes{}
	out, s := all.root(into)
	if !out.CanSet() {
		panic(fmt.Sprintf("yamlconf: Decode into %T; want a pointer to a struct", into))
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	if opts.Source == nil {
		opts.Source = &Source{}
	}
	opts.Source.file = file
	root, bad := parse(file, data)
	if bad != nil {
		return Errors{bad}
	}
	if root == nil {
		return nil
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Errors{newError(file, 0, 0, oneLine(err.Error()))}
	}
	d := &decoder{Options: opts, file: file, dir: dir, shapes: all, use: &usage{}}
	d.value(root, root, s, rules{}, "", out)
	if at := d.use.overspent; at != nil { // said here, where no hook can swallow it
		d.errorf(at, "the file has more than %d values, counting aliases each time they are used", maxNodes)
	}
	return d.errs.or()
}

type decoder struct {
	Options
	file, dir string
	shapes    shapes
	errs      Errors
	use       *usage // shared with the decoders of hooks
}

// usage is what has been spent of the limits on one file.
type usage struct {
	nodes, expanded int
	overspent       *yaml.Node // where the limit on values was passed
	files           map[string]fileText
}

func (d *decoder) errorf(at *yaml.Node, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, newError(d.file, at.Line, at.Column, fmt.Sprintf(format, args...)))
	}
}

// spend counts one value and reports whether to go on.
func (d *decoder) spend(at *yaml.Node) bool {
	if len(d.errs) >= maxErrors {
		return false
	}
	d.use.nodes++
	if d.use.nodes > maxNodes && d.use.overspent == nil {
		d.use.overspent = at
	}
	return d.use.overspent == nil
}

// value decodes n into out. Mistakes without a place of their own are reported
// at the node at, which is that of the key.
func (d *decoder) value(n, at *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	if !d.spend(at) {
		return
	}
	n = target(n)
	d.Source.locate(path, at.Line, at.Column)
	if s.stands {
		out, s = d.shapes.root(out.Addr().Interface().(valueHook).ConfigValue())
	}
	switch {
	case isNull(n) && !isHome(n, s, r):
		d.null(n, at, s, path, out)
		return
	case !knownTag(n):
		d.errorf(n, "%s: unknown YAML tag %s", subject(path), clip(oneLine(n.ShortTag())))
		return
	case s.hooked:
		d.hooked(n, at, s, r, path, out)
		return
	}
	switch s.kind {
	case kindPointer:
		v := s.elem.fresh()
		if !out.IsNil() {
			v.Set(out.Elem())
		}
		d.value(n, at, s.elem, r, path, v)
		out.Set(v.Addr())
	case kindStruct:
		d.structure(n, s, r, path, out)
	case kindMap:
		if n.Kind != yaml.MappingNode {
			d.wrongType(n, s, r, path)
			return
		}
		d.entries(d.pairs(n, path, 0), s, r, path, out)
		d.checkCount(n, s, r, path, out)
	case kindList:
		d.list(n, s, r, path, out)
	default:
		d.scalar(n, s, r, path, out)
	}
}

// null decodes a value that is absent or the word null. A section whose keys
// are all commented out keeps its defaults. Elsewhere nothing is ambiguous, as
// it is how a list looks whose items are all commented out.
func (d *decoder) null(n, at *yaml.Node, s *shape, path string, out reflect.Value) {
	switch blank := n.Value == ""; {
	case s.kind == kindStruct, s.kind == kindMap && blank:
	case !blank && (s.kind == kindMap || s.kind == kindList || s.kind == kindPointer):
		out.SetZero()
	case !blank:
		d.errorf(at, "%s must be %s, not null", subject(path), s.expectation())
	case s.kind == kindList:
		d.errorf(at, "%s has no value: write [] for an empty list, or remove the key", subject(path))
	default:
		d.errorf(at, "%s has no value: it must be %s; remove the key to keep the default", subject(path), s.expectation())
	}
}

// hooked lets the type of out decode itself.
func (d *decoder) hooked(n, at *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	child := *d
	err := out.Addr().Interface().(hook).UnmarshalConfig(n, func(into any) error {
		v := reflect.ValueOf(into)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			panic(fmt.Sprintf("yamlconf: %v decodes into %T; want a pointer", s.typ, into))
		}
		child.errs = nil
		child.value(n, at, d.shapes.of(v.Type().Elem()), r.inner(), path, v.Elem())
		return child.errs.or()
	})
	if placed, ok := errors.AsType[Errors](err); ok {
		for _, e := range placed {
			d.errorf(&yaml.Node{Line: e.Line, Column: e.Column}, "%s", e.Message)
		}
	} else if err != nil {
		d.errorf(n, "%s: %s", subject(path), d.redact(oneLine(err.Error())))
	}
}

// redact removes what must not be shown from the words of another package.
func (d *decoder) redact(text string) string {
	secrets := d.Source.Secrets()
	slices.SortStableFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // whole texts before their parts
	for _, secret := range secrets {
		quoted := strconv.Quote(secret)
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], mask)
		text = strings.ReplaceAll(text, secret, mask)
	}
	return text
}

// target follows an alias to the node it stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// isHome reports whether a bare ~, which is null in YAML, is meant as the home
// directory.
func isHome(n *yaml.Node, s *shape, r rules) bool {
	return r.path && s.kind == kindString && n.Value == "~"
}

// knownTag refuses tags that would give a value a meaning which is then
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

// subject is how a message calls the value at path.
func subject(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
