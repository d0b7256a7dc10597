package domain

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
)

// binder puts decoded arguments into a struct. It does what json.Unmarshal
// would, without reading the JSON a second time.
type binder struct {
	fields []boundField
}

type boundField struct {
	name  string
	index int
	into  assigner
}

// An assigner stores v, which satisfies the schema of dst's type, in dst.
type assigner func(dst reflect.Value, v any) error

func binderOf[In any]() binder { return structBinder(reflect.TypeFor[In]()) }

func structBinder(t reflect.Type) binder {
	var b binder
	for _, f := range jsonFields(t) {
		b.fields = append(b.fields, boundField{f.name, f.Index[0], assignerOf(f.Type)})
	}
	return b
}

func (b binder) bind(in any, args map[string]any) error {
	return b.assign(reflect.ValueOf(in).Elem(), args)
}

func (b binder) assign(dst reflect.Value, args map[string]any) error {
	for _, f := range b.fields {
		v, ok := args[f.name]
		if !ok || v == nil {
			continue
		}
		if err := f.into(dst.Field(f.index), v); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func assignerOf(t reflect.Type) assigner {
	switch t.Kind() {
	case reflect.String:
		return assignString
	case reflect.Bool:
		return assignBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		return assignInt
	case reflect.Uint64:
		return assignUint
	case reflect.Float64:
		return assignFloat
	case reflect.Pointer:
		return assignPointer(t)
	case reflect.Slice:
		return assignSlice(t)
	case reflect.Struct:
		nested := structBinder(t)
		return func(dst reflect.Value, v any) error {
			object, ok := v.(map[string]any)
			if !ok {
				return misfit(dst, v)
			}
			return nested.assign(dst, object)
		}
	case reflect.Map:
		return assignMap(t)
	case reflect.Interface:
		return assignAny
	}
	panic(fmt.Sprintf("no JSON value fits %v", t))
}

func assignString(dst reflect.Value, v any) error {
	s, ok := v.(string)
	if !ok {
		return misfit(dst, v)
	}
	dst.SetString(s)
	return nil
}

func assignBool(dst reflect.Value, v any) error {
	b, ok := v.(bool)
	if !ok {
		return misfit(dst, v)
	}
	dst.SetBool(b)
	return nil
}

func assignInt(dst reflect.Value, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return misfit(dst, v)
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		whole, ok := integer(n)
		if !ok || !whole.IsInt64() {
			return fmt.Errorf("%s is too large", describe(n))
		}
		i = whole.Int64()
	}
	if dst.OverflowInt(i) {
		return fmt.Errorf("%s is too large", describe(n))
	}
	dst.SetInt(i)
	return nil
}

func assignUint(dst reflect.Value, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return misfit(dst, v)
	}
	whole, ok := integer(n)
	if !ok || !whole.IsUint64() {
		return fmt.Errorf("%s is negative or too large", describe(n))
	}
	dst.SetUint(whole.Uint64())
	return nil
}

func assignFloat(dst reflect.Value, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return misfit(dst, v)
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("%s is too large", describe(n))
	}
	dst.SetFloat(f)
	return nil
}

func assignAny(dst reflect.Value, v any) error {
	dst.Set(reflect.ValueOf(v))
	return nil
}

func assignPointer(t reflect.Type) assigner {
	into := assignerOf(t.Elem())
	return func(dst reflect.Value, v any) error {
		dst.Set(reflect.New(t.Elem()))
		return into(dst.Elem(), v)
	}
}

func assignSlice(t reflect.Type) assigner {
	into := assignerOf(t.Elem())
	return func(dst reflect.Value, v any) error {
		list, ok := v.([]any)
		if !ok {
			return misfit(dst, v)
		}
		dst.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i, element := range list {
			if err := into(dst.Index(i), element); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
}

func assignMap(t reflect.Type) assigner {
	into := assignerOf(t.Elem())
	return func(dst reflect.Value, v any) error {
		object, ok := v.(map[string]any)
		if !ok {
			return misfit(dst, v)
		}
		dst.Set(reflect.MakeMapWithSize(t, len(object)))
		for name, member := range object {
			element := reflect.New(t.Elem()).Elem()
			if err := into(element, member); err != nil {
				return fmt.Errorf("%s: %w", ClipName(name), err)
			}
			dst.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), element)
		}
		return nil
	}
}

// misfit says that the schema let through what the struct cannot hold.
func misfit(dst reflect.Value, v any) error {
	return fmt.Errorf("cannot use %s as %v", describe(v), dst.Type())
}

// integer returns the whole number n is, also when it is written as 1e3 or 2.0.
// No tool has a use for numbers that would take much time to read or much memory
// to write out.
func integer(n json.Number) (*big.Int, bool) {
	if len(n) > maxDigits {
		return nil, false
	}
	f, _, err := big.ParseFloat(string(n), 10, 256, big.ToZero)
	if err != nil || f.MantExp(nil) > 256 {
		return nil, false
	}
	whole, accuracy := f.Int(nil)
	return whole, accuracy == big.Exact
}
