package yamlconf

import (
	"math"
	"reflect"
	"slices"
	"time"
)

// bounded appends the bounds of r under the names that suit the type.
func bounded(o object, r rules, low, high string) object {
	if r.min != nil {
		o = append(o, member{low, r.min.n})
	}
	if r.max != nil {
		o = append(o, member{high, r.max.n})
	}
	return o
}

// inSeconds turns a bound in nanoseconds into one in seconds.
func (b *bound) inSeconds() *bound {
	if b == nil {
		return nil
	}
	return &bound{n: time.Duration(b.i).Seconds()}
}

// typeBounds adds the bounds of a small or unsigned Go type to r.
func typeBounds(s *shape, r rules) rules {
	bits := s.typ.Bits()
	low, high := -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	if s.kind == kindUint {
		low, high = 0, math.Ldexp(1, bits)-1
	}
	if r.min == nil && (bits < 64 || low == 0) {
		r.min = &bound{n: low}
	}
	if r.max == nil && bits < 64 {
		r.max = &bound{n: high}
	}
	return r
}

// nullable adds null to the types that o allows.
func nullable(o object) object {
	for i, m := range o {
		if m.key != "type" {
			continue
		}
		types, ok := m.value.([]string)
		if !ok {
			types = []string{m.value.(string)}
		}
		if !slices.Contains(types, "null") {
			o[i].value = append(slices.Clone(types), "null")
		}
		return o
	}
	for i, m := range o {
		if forms, ok := m.value.([]object); ok && m.key == "anyOf" {
			o[i].value = append(slices.Clone(forms), object{{"type", "null"}})
		}
	}
	return o
}

// pointee is what v points to, or else the value a new pointer would start from.
func pointee(s *shape, v reflect.Value) reflect.Value {
	if v.IsValid() && !v.IsNil() {
		return v.Elem()
	}
	if s.elem.defaults && s.elem.kind == kindStruct {
		return s.elem.fresh()
	}
	return reflect.Value{}
}

// withDefault appends the default v where it says something.
func withDefault(o object, s *shape, r rules, v reflect.Value) object {
	if !v.IsValid() || r.secret || !r.allows(v, s) {
		return o
	}
	if value, ok := jsonValue(v, s); ok {
		o = append(o, member{"default", value})
	}
	return o
}

// jsonValue returns v for a schema. Empty texts, unset values and collections
// of structs have nothing to say.
func jsonValue(v reflect.Value, s *shape) (any, bool) {
	switch s.kind {
	case kindBool, kindInt, kindUint:
		return v.Interface(), true
	case kindFloat:
		f := v.Float()
		return f, !math.IsInf(f, 0) && !math.IsNaN(f)
	case kindString, kindDuration, kindText, kindBytes:
		text, isText := plain(v, s)
		if !isText {
			return v.Int(), true
		}
		return escape(text), text != "" && !(s.kind == kindText && v.IsZero())
	case kindList:
		all := make([]any, v.Len())
		for i := range all {
			item, ok := jsonValue(v.Index(i), s.elem)
			if !ok {
				return nil, false
			}
			all[i] = item
		}
		return all, !v.IsNil()
	case kindMap:
		all := make(map[string]any, v.Len())
		for entry := v.MapRange(); entry.Next(); {
			item, ok := jsonValue(entry.Value(), s.elem)
			if !ok {
				return nil, false
			}
			all[entry.Key().String()] = item
		}
		return all, len(all) > 0
	}
	return nil, false
}

// custom is the schema a type gives itself, in sorted order.
func custom(schema map[string]any) object {
	o := object{}
	for key, value := range schema {
		o = append(o, member{key, value})
	}
	slices.SortFunc(o, func(a, b member) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	return o
}
