package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/structschema"
)

// Assign stores v, which satisfies the schema of t, in dst, as json.Unmarshal
// would, without reading the JSON a second time. The error is a number that dst
// cannot hold.
func Assign(dst reflect.Value, t *structschema.Type, v any) error {
	switch t.Kind {
	case structschema.Pointer:
		dst.Set(reflect.New(t.Elem.Go))
		return Assign(dst.Elem(), t.Elem, v)
	case structschema.Any:
		if v != nil {
			dst.Set(reflect.ValueOf(v))
		}
		return nil
	}
	switch v := v.(type) {
	case string:
		dst.SetString(v)
	case bool:
		dst.SetBool(v)
	case json.Number:
		return assignNumber(dst, v)
	case []any:
		dst.Set(reflect.MakeSlice(t.Go, len(v), len(v)))
		for i, element := range v {
			if err := Assign(dst.Index(i), t.Elem, element); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
	case map[string]any:
		if t.Kind == structschema.Map {
			return assignMap(dst, t, v)
		}
		for i := range t.Fields {
			f := &t.Fields[i]
			if member := v[f.Name]; member != nil {
				if err := Assign(dst.FieldByIndex(f.Index), f.Type, member); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
			}
		}
	}
	return nil
}

func assignMap(dst reflect.Value, t *structschema.Type, object map[string]any) error {
	dst.Set(reflect.MakeMapWithSize(t.Go, len(object)))
	for name, member := range object {
		element := reflect.New(t.Elem.Go).Elem()
		if err := Assign(element, t.Elem, member); err != nil {
			return fmt.Errorf("%s: %w", brief.Name(name), err)
		}
		dst.SetMapIndex(reflect.ValueOf(name).Convert(t.Go.Key()), element)
	}
	return nil
}

func assignNumber(dst reflect.Value, n json.Number) error {
	if dst.CanFloat() {
		if f, err := n.Float64(); err == nil {
			dst.SetFloat(f)
			return nil
		}
		return fmt.Errorf("%s is too large", describe(n))
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
// 2.0, if it fits.
func integer(n json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	f := float(n)
	return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<63
}
