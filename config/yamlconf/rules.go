package yamlconf

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// rules are what the tags of a field demand of its value.
type rules struct {
	enum         []string
	min, max     *bound
	secret, path bool
}

// bound is one end of a range in the unit that is compared: nanoseconds, bytes,
// or a count.
type bound struct {
	text string // as in the tag
	n    float64
	i    int64 // exact, for everything but floats
}

// parseRules reads the tags of the field called name. It panics on tags that
// make no sense for the shape.
func parseRules(name string, tag reflect.StructTag, s *shape) rules {
	r := rules{secret: tag.Get("secret") == "true", path: tag.Get("path") == "true"}
	if enum, ok := tag.Lookup("enum"); ok {
		r.enum = strings.Split(enum, "|")
	}
	target := s
	if s.kind == kindPointer {
		target = s.elem
	}
	r.min = parseBound(name, tag, "min", target)
	r.max = parseBound(name, tag, "max", target)
	if plain := s.leaf(); (r.enum != nil || r.path) && plain.kind != kindString && !plain.hooked {
		panic(fmt.Sprintf("yamlconf: %s: the tags enum and path are for strings", name))
	}
	return r
}

func parseBound(name string, tag reflect.StructTag, key string, s *shape) *bound {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	b := &bound{text: text}
	switch s.kind {
	case kindDuration:
		d, good := parseDuration(text)
		b.i, ok = int64(d), good
	case kindBytes:
		n, err := ParseBytes(text)
		b.i, ok = int64(n), err == nil
	case kindFloat:
		f, err := strconv.ParseFloat(text, 64)
		b.n, ok = f, err == nil
		if !ok {
			break
		}
		return b
	case kindInt, kindUint, kindString, kindList, kindMap:
		n, err := strconv.ParseInt(text, 10, 64)
		b.i, ok = n, err == nil
	default:
		ok = false
	}
	if !ok {
		panic(fmt.Sprintf("yamlconf: %s: the tag %s:%q does not fit its type", name, key, text))
	}
	b.n = float64(b.i)
	return b
}

// inRange reports whether the exact number i lies within the bounds.
func (r rules) inRange(i int64) bool {
	return (r.min == nil || i >= r.min.i) && (r.max == nil || i <= r.max.i)
}

// floatInRange is inRange for floats.
func (r rules) floatInRange(f float64) bool {
	return (r.min == nil || f >= r.min.n) && (r.max == nil || f <= r.max.n)
}

// limits says the bounds in words that follow "must be", or "" without any.
func (r rules) limits() string {
	switch {
	case r.min != nil && r.max != nil:
		return "from " + r.min.text + " to " + r.max.text
	case r.min != nil:
		return "at least " + r.min.text
	case r.max != nil:
		return "at most " + r.max.text
	}
	return ""
}

// inner are the rules that a list or map passes on to its elements.
func (r rules) inner() rules {
	r.min, r.max = nil, nil
	return r
}

// allows reports whether the scalar or the count in v obeys the rules.
func (r rules) allows(v reflect.Value, s *shape) bool {
	switch s.kind {
	case kindString:
		return (r.enum == nil || slices.Contains(r.enum, v.String())) && r.inRange(characters(v.String()))
	case kindInt, kindDuration, kindBytes:
		return r.inRange(v.Int())
	case kindUint:
		return r.inRange(int64(min(v.Uint(), math.MaxInt64)))
	case kindFloat:
		return r.floatInRange(v.Float())
	case kindList, kindMap:
		return r.inRange(int64(v.Len()))
	}
	return true
}

func characters(s string) int64 {
	n := int64(0)
	for range s {
		n++
	}
	return n
}
