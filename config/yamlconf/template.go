package yamlconf

import (
	"path/filepath"
	"reflect"
	"strings"
)

// Template returns a starter file for v, a struct that holds the defaults or a
// pointer to one: every key with its doc and its default. A key is commented
// out where it has no default (with an example of its shape), where the default
// is a secret, and where it is a relative path, which would mean another folder
// in a file. The text decodes over the defaults to the defaults.
func Template(v any) []byte {
	value, s := shapes{}.root(v)
	w := &renderer{comments: true, template: true}
	return document(w.structure(value, s, rules{}, ""))
}

// note is the comment above a key.
func (f *field) note() string {
	parts := []string{f.doc}
	if f.rules.enum != nil {
		parts = append(parts, "One of: "+strings.Join(f.rules.enum, ", ")+".")
	}
	if limits := f.rules.limits(); limits != "" {
		unit := ""
		switch f.shape.kind {
		case kindString, kindList, kindMap:
			unit = " " + f.shape.counted()
		}
		parts = append(parts, strings.ToUpper(limits[:1])+limits[1:]+unit+".")
	}
	return oneLine(strings.Join(parts, " "))
}

// sayable reports whether the text of v in a file decodes to v.
func sayable(v reflect.Value, s *shape, r rules) bool {
	if r.secret || !r.allows(v, s) {
		return false
	}
	switch s.kind {
	case kindPointer:
		return !v.IsNil() && sayable(v.Elem(), s.elem, r)
	case kindText:
		return !v.IsZero()
	case kindString:
		return !r.path || v.String() == "" || filepath.IsAbs(v.String())
	case kindList:
		if v.IsNil() {
			return false
		}
		for i := range v.Len() {
			if !wholly(v.Index(i), s.elem, r.inner()) {
				return false
			}
		}
	case kindMap:
		if v.IsNil() {
			return false
		}
		for entry := v.MapRange(); entry.Next(); {
			if !wholly(entry.Value(), s.elem, r.inner()) {
				return false
			}
		}
	}
	return true
}

// wholly is sayable for an element of a list or map. An element starts from
// nothing when it is decoded, so no key of a struct may be left out unless it
// is unset.
func wholly(v reflect.Value, s *shape, r rules) bool {
	if s.kind == kindPointer && !v.IsNil() {
		v, s = v.Elem(), s.elem
	}
	if s.kind != kindStruct {
		return sayable(v, s, r)
	}
	for _, f := range s.fields {
		value := v.FieldByIndex(f.index)
		if !value.IsZero() && !wholly(value, f.shape, f.rules) {
			return false
		}
	}
	return !r.secret
}

// example returns what a commented-out key shows: v itself, or one element
// where v is unset and its elements are structs.
func example(v reflect.Value, s *shape) reflect.Value {
	if !v.IsZero() {
		return v
	}
	switch s.kind {
	case kindPointer:
		p := reflect.New(s.elem.typ)
		p.Elem().Set(s.elem.fresh())
		if inner := p.Elem(); inner.IsZero() {
			inner.Set(example(inner, s.elem))
		}
		return p
	case kindList:
		list := reflect.MakeSlice(s.typ, 0, 1)
		if s.elem.leaf().kind == kindStruct {
			return reflect.Append(list, element(s.elem))
		}
		return list
	case kindMap:
		m := reflect.MakeMap(s.typ)
		if s.elem.leaf().kind == kindStruct {
			m.SetMapIndex(reflect.ValueOf("NAME").Convert(s.typ.Key()), element(s.elem))
		}
		return m
	}
	return v
}

// element is a value to show as an element of a list or map.
func element(s *shape) reflect.Value {
	v := s.fresh()
	if s.kind == kindStruct {
		return v
	}
	return example(v, s)
}
