package mcpshape

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Bounds of a schema.
const (
	maxSchema = 256 << 10
	maxDepth  = 100
)

// anything is the schema of any value, nothing that of none.
const (
	anything = `{}`
	nothing  = `{"not":{}}`
)

// properties writes true and false, for which some clients want objects, as such.
func (r *repair) properties(all members) (_ members, changed bool) {
	for i, m := range all {
		if m.value != nil && isFlag(m.value) {
			all[i].value, changed = []byte(map[bool]string{true: anything, false: nothing}[m.value[0] == 't']), true
		}
	}
	return all, changed
}

// keywords translates keywords of earlier drafts, says of the elements of an array that
// they may be anything, which models' APIs want to have said, and leaves out what clients
// trip over: names by which they would take two schemas for one, and expressions that are
// none to them.
func (r *repair) keywords(all members) (_ members, changed bool) {
	drop := func(i int) { all[i].value, changed = nil, true }
	array, items := false, false
	for i, m := range all {
		if m.value == nil {
			continue
		}
		switch string(m.name) {
		case "$id":
			drop(i)
		case "$anchor":
			if r.anchors[string(m.value)] {
				drop(i)
			}
			r.anchors[string(m.value)] = true
		case "type":
			array = bytes.Contains(m.value, []byte(`"array"`))
		case "items":
			if items = m.value[0] != '['; items {
				continue
			}
			drop(i)
			if r.translated = true; len(m.value) > 2 && all.at("prefixItems") < 0 {
				all[i] = member{[]byte("prefixItems"), m.value}
			}
			if rest := all.at("additionalItems"); rest >= 0 {
				all[rest].name, items = []byte("items"), true
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			if !isFlag(m.value) {
				continue
			}
			r.translated = true
			if bound := all.at(map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[string(m.name)]); m.value[0] == 't' && bound >= 0 {
				all[i].value = all[bound].value
				drop(bound)
			} else {
				drop(i)
			}
		case "pattern":
			if expression, err := rawjson.String(m.value); r.output && (err != nil || !isPattern(expression)) {
				drop(i)
				r.note("pattern", "is no regular expression to clients and is left out")
			}
		case "patternProperties":
			_ = rawjson.Object(m.value, func(name, _ []byte) error {
				if r.output && !isPattern(string(name)) {
					all[i].value, changed = rawjson.Without(all[i].value, string(name)), true
					r.note("patternProperties", "has a name that is no regular expression to clients and is left out")
				}
				return nil
			})
		}
	}
	if array && !items {
		all, changed = append(all, member{[]byte("items"), []byte(anything)}), true
	}
	return all, changed
}

// schema repairs the schema of a tool's arguments or, if output is set, of its structured
// results. Arguments are those with another name than before, with that.
func (r *repair) schema(raw []byte, output bool) (out []byte, arguments map[string]string, err error) {
	switch text := string(raw); {
	case !output && (text == "" || text == "true" || text == "null" || text == "{}"):
		return []byte(`{"type":"object","properties":{}}`), nil, nil
	case raw[0] != '{':
		return nil, nil, errors.New("is no object")
	case len(raw) > maxSchema:
		return nil, nil, fmt.Errorf("has %d bytes; at most %d are accepted", len(raw), maxSchema)
	case depth(raw) > maxDepth:
		return nil, nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	r.output, r.refers, r.broken, r.anchors, r.translated = output, false, nil, map[string]bool{}, false
	r.path = append(r.path, []byte(map[bool]string{false: "inputSchema", true: "outputSchema"}[output]))
	defer func() { r.path = nil }()
	out, ok := r.fit(shapes()["schema"], raw)
	if !ok {
		return nil, nil, errors.New("is not JSON")
	}
	if out, ok = r.follow(out); !ok && output {
		return nil, nil, errors.New("takes too much to check")
	} else if !ok {
		r.note("", "takes too much to check; it accepts any arguments now")
		return []byte(`{"type":"object","properties":{}}`), nil, nil
	}
	if out = r.flat(out); r.translated {
		out = rawjson.Without(out, "$schema")
	}
	switch t := rawjson.Member(out, "type"); {
	case t == nil, t[0] == '[' && bytes.Contains(t, []byte(`"object"`)):
		out = rawjson.With(out, "type", []byte(`"object"`))
	case string(t) != `"object"`:
		return nil, nil, fmt.Errorf("is of type %.50s; only an object is possible", t)
	}
	if rawjson.Member(out, "properties") == nil {
		out = rawjson.With(out, "properties", []byte("{}"))
	}
	if output {
		return out, nil, nil
	}
	if out, arguments = r.renamed(out); arguments != nil { // which references may have led to
		out, _ = r.follow(out)
	}
	return out, arguments, nil
}

// follow follows the references of a schema, and leaves out those that are broken. It
// reports whether values can be checked with reasonable effort.
func (r *repair) follow(schema []byte) (_ []byte, ok bool) {
	if !r.refers {
		return schema, true
	}
	g := references(schema)
	if r.broken = g.broken; len(g.broken) > 0 {
		r.anchors = map[string]bool{}
		schema, _ = r.fit(shapes()["schema"], schema)
	}
	return schema, !g.tooMuch
}

// depth returns how deep JSON is nested.
func depth(raw []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
