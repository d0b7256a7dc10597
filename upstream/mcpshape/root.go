package mcpshape

import (
	"bytes"
	"maps"
	"slices"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Bounds of what is made flat: how often a reference or combination at the root of a
// schema leads to another one, and the parts of a combination.
const (
	maxFlat  = 20
	maxParts = 100
)

// flat returns the schema of an object without references and combinations at its root,
// where APIs of models do not accept them. What they require of each value goes to the
// root itself, where that is exact; what is required of some values only cannot, and is
// left to the server to check. What is left of allOf stays: clients of protocol version
// 2026-07-28 have to keep it.
func (r *repair) flat(root []byte) []byte {
	var rest [][]byte
	for range maxFlat {
		parts := func(keyword string) [][]byte {
			if all := elements(rawjson.Member(root, keyword)); len(all) <= maxParts {
				return all
			}
			return nil
		}
		if ref, err := rawjson.String(rawjson.Member(root, "$ref")); err == nil {
			root = r.merge(rawjson.Without(root, "$ref"), pointed(root, ref))
		} else if all := parts("allOf"); all != nil {
			root = rawjson.Without(root, "allOf")
			for _, part := range all {
				own, target := part, []byte(anything)
				if ref, err := rawjson.String(rawjson.Member(part, "$ref")); err == nil {
					own, target = rawjson.Without(part, "$ref"), pointed(root, ref)
				}
				if plain(own) && plain(target) {
					root = r.merge(r.merge(root, own), target)
				} else {
					rest = append(rest, part)
				}
			}
		} else if r.output {
			break
		} else if some := parts("anyOf"); some != nil {
			root = r.either("anyOf", rawjson.Without(root, "anyOf"), some)
		} else if some := parts("oneOf"); some != nil {
			root = r.either("oneOf", rawjson.Without(root, "oneOf"), some)
		} else {
			break
		}
	}
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const"} {
		if !r.output && rawjson.Member(root, keyword) != nil {
			root = rawjson.Without(root, keyword)
			r.note(keyword, "is left to the server to check")
		}
	}
	if rest != nil {
		root = rawjson.With(root, "allOf", list(rest))
	}
	return root
}

// plain reports whether a part of allOf says nothing but what can stand beside what else
// is said of an object.
func plain(part []byte) bool {
	ok := len(part) > 0 && part[0] == '{'
	_ = rawjson.Object(part, func(key, _ []byte) error {
		name := string(key)
		ok = ok && (slices.Contains(about, name) || slices.Contains([]string{"type", "properties", "required", "$defs", "definitions"}, name))
		return nil
	})
	return ok
}

// about are keywords that say nothing of what is valid.
var about = []string{"title", "description", "$comment", "examples", "default", "deprecated", "readOnly", "writeOnly", "$schema", "$anchor"}

// merge returns a schema that requires what two do, of each value.
func (r *repair) merge(root, part []byte) []byte {
	alone := rawjson.Member(root, "properties") == nil
	_ = rawjson.Object(part, func(key, value []byte) error {
		name := string(key)
		have := rawjson.Member(root, name)
		switch {
		case have != nil && (bytes.Equal(have, value) || slices.Contains(about, name)):
		case have != nil && (name == "properties" || name == "$defs" || name == "definitions"):
			_ = rawjson.Object(value, func(key, value []byte) error {
				old := rawjson.Member(have, string(key))
				switch {
				case old == nil:
					have = rawjson.With(have, string(key), value)
				case !bytes.Equal(old, value) && name == "properties":
					have = rawjson.With(have, string(key), combined("allOf", old, value))
				}
				return nil
			})
			root = rawjson.With(root, name, have)
		case have != nil && name == "required":
			root = rawjson.With(root, name, union(have, value))
		case have != nil && name == "allOf":
			root = rawjson.With(root, name, slices.Concat(have[:len(have)-1], []byte(","), value[1:]))
		case have == nil && (alone || name != "additionalProperties"), name == "type":
			root = rawjson.With(root, name, value)
		default:
			r.note(name, "of a part of it is left to the server to check")
		}
		return nil
	})
	return root
}

// combined returns the combination of schemas.
func combined(keyword string, schemas ...[]byte) []byte {
	return slices.Concat([]byte(`{"`+keyword+`":[`), bytes.Join(schemas, []byte(",")), []byte("]}"))
}

// union returns a list with the elements of two.
func union(a, b []byte) []byte {
	all := elements(a)
	for _, element := range elements(b) {
		if !slices.ContainsFunc(all, func(known []byte) bool { return bytes.Equal(known, element) }) {
			all = append(all, element)
		}
	}
	return list(all)
}

// either returns a schema that accepts what meets one of some: of these it has the
// properties, and requires what all of them do.
func (r *repair) either(keyword string, root []byte, some [][]byte) []byte {
	some = slices.DeleteFunc(some, func(part []byte) bool { // what is no object meets none of them
		t := rawjson.Member(part, "type")
		return part[0] == 'f' || t != nil && !bytes.Contains(t, []byte(`"object"`))
	})
	if len(some) == 1 {
		return r.merge(root, some[0])
	}
	r.note(keyword, "is left to the server to check")
	properties := map[string][][]byte{}
	required := map[string]int{}
	have := rawjson.Member(root, "properties")
	if have == nil {
		have = []byte("{}")
	}
	closed := string(rawjson.Member(root, "additionalProperties")) == "false"
	for _, part := range some {
		if ref, err := rawjson.String(rawjson.Member(part, "$ref")); err == nil {
			part = pointed(root, ref)
		}
		_ = rawjson.Object(rawjson.Member(part, "properties"), func(key, value []byte) error {
			name := string(key)
			known := properties[name]
			if closed || known == nil && rawjson.Member(have, name) != nil {
				return nil
			}
			if !slices.ContainsFunc(known, func(k []byte) bool { return bytes.Equal(k, value) }) {
				properties[name] = append(known, value)
			}
			have = rawjson.With(have, name, properties[name][0])
			if all := properties[name]; len(all) > 1 {
				have = rawjson.With(have, name, combined("anyOf", all...))
			}
			return nil
		})
		for _, name := range elements(rawjson.Member(part, "required")) {
			required[string(name)]++
		}
	}
	root = rawjson.With(root, "properties", have)
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if required[name] == len(some) {
			root = rawjson.With(root, "required", union(rawjson.Member(root, "required"), []byte("["+name+"]")))
		}
	}
	return root
}
