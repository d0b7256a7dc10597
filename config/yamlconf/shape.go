package yamlconf

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

type kind int

const (
	kindString kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat
	kindDuration
	kindBytes
	kindText // implements encoding.TextUnmarshaler
	kindPointer
	kindList
	kindMap
	kindStruct
)

// shape is a Go type as decoding, schema and rendering see it.
type shape struct {
	kind     kind
	typ      reflect.Type
	elem     *shape  // of a pointer, list or map
	fields   []field // of a struct, with inline ones lifted
	rest     *field  // the inline map of a struct
	hooked   bool    // has UnmarshalConfig
	defaults bool    // has SetDefaults
	schema   bool    // has ConfigSchema
	stands   bool    // has ConfigValue
}

type field struct {
	name, doc string
	index     []int
	shape     *shape
	rules     rules
	omitEmpty bool // left out of what is shown if it is unset
	elsewhere bool // described elsewhere in a template
}

// The methods a type may have; doc.go says what they do.
type (
	hook interface {
		UnmarshalConfig(*yaml.Node, func(any) error) error
	}
	defaultSetter interface{ SetDefaults() }
	schemaHook    interface{ ConfigSchema() map[string]any }
	valueHook     interface{ ConfigValue() any }
	textHook      interface{ ConfigText() (string, bool) }
)

// shapes derives and keeps shapes for one operation.
type shapes map[reflect.Type]*shape

// of returns the shape of t. It panics on a type that cannot be configured.
func (all shapes) of(t reflect.Type) *shape {
	if s, ok := all[t]; ok {
		if s == nil {
			panic(fmt.Sprintf("yamlconf: %v contains itself", t))
		}
		return s
	}
	all[t] = nil
	p := reflect.PointerTo(t)
	s := &shape{
		typ:      t,
		hooked:   p.Implements(reflect.TypeFor[hook]()),
		defaults: p.Implements(reflect.TypeFor[defaultSetter]()),
		schema:   p.Implements(reflect.TypeFor[schemaHook]()),
		stands:   p.Implements(reflect.TypeFor[valueHook]()),
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		s.kind = kindDuration
	case t == reflect.TypeFor[Bytes]():
		s.kind = kindBytes
	case t.Kind() != reflect.Pointer && p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.kind = kindText
	default:
		all.derive(s)
	}
	all[t] = s
	return s
}

// derive completes s from the Go kind of its type.
func (all shapes) derive(s *shape) {
	switch t := s.typ; t.Kind() {
	case reflect.String:
		s.kind = kindString
	case reflect.Bool:
		s.kind = kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.kind = kindInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.kind = kindUint
	case reflect.Float32, reflect.Float64:
		s.kind = kindFloat
	case reflect.Pointer:
		s.kind, s.elem = kindPointer, all.of(t.Elem())
		if s.elem.kind == kindPointer {
			panic(fmt.Sprintf("yamlconf: %v is a pointer to a pointer", t))
		}
	case reflect.Slice:
		s.kind, s.elem = kindList, all.of(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("yamlconf: the keys of %v are not strings", t))
		}
		s.kind, s.elem = kindMap, all.of(t.Elem())
	case reflect.Struct:
		s.kind = kindStruct
		all.addFields(s, t, nil)
	default:
		panic(fmt.Sprintf("yamlconf: %v cannot be configured", t))
	}
}

// addFields appends the fields of t, which lies at index in s.
func (all shapes) addFields(s *shape, t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		inline := slices.Contains(strings.Split(options, ","), "inline")
		switch {
		case name == "-" || !f.IsExported() && !(inline && f.Anonymous):
			continue
		case inline && f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[hook]()):
			first := len(s.fields)
			all.addFields(s, f.Type, at)
			for i := first; i < len(s.fields); i++ {
				s.fields[i].elsewhere = s.fields[i].elsewhere || f.Tag.Get("template") == "-"
			}
			continue
		case inline && (f.Type.Kind() != reflect.Map || s.rest != nil):
			panic(fmt.Sprintf("yamlconf: %v.%s cannot be inline", t, f.Name))
		case name == "":
			name = strings.ToLower(f.Name) // as yaml.v3 does
		}
		one := field{name: name, doc: f.Tag.Get("doc"), index: at, shape: all.of(f.Type), omitEmpty: slices.Contains(strings.Split(options, ","), "omitempty")}
		one.rules = parseRules(fmt.Sprintf("%v.%s", t, f.Name), f.Tag, one.shape)
		if inline {
			s.rest = &one
			continue
		}
		if s.field(name) != nil {
			panic(fmt.Sprintf("yamlconf: %v has the key %q twice", s.typ, name))
		}
		s.fields = append(s.fields, one)
	}
}

// field returns the field called name, or nil.
func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// held returns what stands for v, of shape s: the struct that its ConfigValue points
// to, or v itself.
func (s *shape) held(v reflect.Value) (reflect.Value, *shape) {
	if !s.stands {
		return v, s
	}
	p := reflect.New(s.typ)
	if v.IsValid() {
		p.Elem().Set(v)
	}
	return shapes{}.root(p.Interface().(valueHook).ConfigValue())
}

// elsewhere reports whether a struct has no key that a template describes here.
func (s *shape) elsewhere() bool {
	if s = s.leaf(); s.kind != kindStruct || s.hooked || s.stands {
		return false
	}
	return !slices.ContainsFunc(s.fields, func(f field) bool { return !f.elsewhere })
}

// names are the keys of a struct in declared order.
func (s *shape) names() []string {
	all := make([]string, len(s.fields))
	for i, f := range s.fields {
		all[i] = f.name
	}
	return all
}

// leaf is the shape below pointers, lists and maps.
func (s *shape) leaf() *shape {
	for s.elem != nil {
		s = s.elem
	}
	return s
}

// fresh returns a new value of the shape that holds its defaults.
func (s *shape) fresh() reflect.Value {
	v := reflect.New(s.typ)
	if s.defaults {
		v.Interface().(defaultSetter).SetDefaults()
	}
	return v.Elem()
}

// root returns the value and shape of v, a struct or a pointer to one.
func (all shapes) root(v any) (reflect.Value, *shape) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		panic(fmt.Sprintf("yamlconf: %T is neither a struct nor a pointer to one", v))
	}
	return value, all.of(value.Type())
}
