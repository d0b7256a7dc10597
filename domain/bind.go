package domain

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"

	"toolserver/structschema"
)

// binder puts decoded arguments into a struct. It does what json.Unmarshal
// would, without reading the JSON a second time.
type binder struct{ of *structschema.Type }

func binderOf[In any]() binder { return binder{structOf[In]()} }

func (b binder) bind(in any, args map[string]any) error {
	return assign(reflect.ValueOf(in).Elem(), b.of, args)
}

// assign stores v, which satisfies the schema of t, in dst.
func assign(dst reflect.Value, t *structschema.Type, v any) error {
	switch t.Kind {
	case structschema.Pointer:
		dst.Set(reflect.New(t.Elem.Go))
		return assign(dst.Elem(), t.Elem, v)
	case structschema.Any:
		if v != nil {
			dst.Set(reflect.ValueOf(v))
		}
		return nil
	}
	switch v := v.(type) {
	case string:
		if t.Kind == structschema.String {
			dst.SetString(v)
			return nil
		}
	case bool:
		if t.Kind == structschema.Bool {
			dst.SetBool(v)
			return nil
		}
	case json.Number:
		if t.Kind == structschema.Int || t.Kind == structschema.Float {
			return assignNumber(dst, v)
		}
	case []any:
		if t.Kind == structschema.List {
			return assignList(dst, t, v)
		}
	case map[string]any:
		switch t.Kind {
		case structschema.Struct:
			return assignFields(dst, t, v)
		case structschema.Map:
			return assignMap(dst, t, v)
		}
	}
	return fmt.Errorf("cannot use %s as %v", describe(v), t.Go)
}

func assignFields(dst reflect.Value, t *structschema.Type, object map[string]any) error {
	for i := range t.Fields {
		f := &t.Fields[i]
		if v := object[f.Name]; v != nil {
			if err := assign(dst.FieldByIndex(f.Index), f.Type, v); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

func assignList(dst reflect.Value, t *structschema.Type, list []any) error {
	dst.Set(reflect.MakeSlice(t.Go, len(list), len(list)))
	for i, element := range list {
		if err := assign(dst.Index(i), t.Elem, element); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func assignMap(dst reflect.Value, t *structschema.Type, object map[string]any) error {
	dst.Set(reflect.MakeMapWithSize(t.Go, len(object)))
	for name, member := range object {
		element := reflect.New(t.Elem.Go).Elem()
		if err := assign(element, t.Elem, member); err != nil {
			return fmt.Errorf("%s: %w", ClipName(name), err)
		}
		dst.SetMapIndex(reflect.ValueOf(name).Convert(t.Go.Key()), element)
	}
	return nil
}

func assignNumber(dst reflect.Value, n json.Number) error {
	if dst.CanFloat() {
		f, err := n.Float64()
		if err != nil {
			return fmt.Errorf("%s is too large", describe(n))
		}
		dst.SetFloat(f)
		return nil
	}
	i, ok := integer(n)
	switch {
	case ok && dst.CanInt() && !dst.OverflowInt(i):
		dst.SetInt(i)
	case ok && dst.CanUint() && i >= 0:
		dst.SetUint(uint64(i))
	default:
		return fmt.Errorf("%s is too large", describe(n))
	}
	return nil
}

// integer returns the whole number that n is, also when it is written as 1e3 or
// 2.0.
func integer(n json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	if len(n) > maxDigits {
		return 0, false
	}
	f, _, err := big.ParseFloat(string(n), 10, 256, big.ToZero)
	if err != nil {
		return 0, false
	}
	i, accuracy := f.Int64()
	return i, accuracy == big.Exact
}
