package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"toolserver/domain/nearest"
	"toolserver/rawjson"
)

// A conversion reads arguments as models send them: an array, object, number or boolean
// written as a string, one value for a list, a list for a text of several. It changes what
// the schema does not accept where that stands, and only if it can be read in one way.
type conversion struct {
	defs map[string]*Param
	own  bool // the tool is one of ours, whose tags say more than a schema
}

// Converted returns args, a JSON object or nothing, for the server whose schema it is, with
// conversions. Members without any keep their bytes. The server decides what is valid.
func (s *ToolInputSchema) Converted(args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 || string(args) == "null" {
		return args, nil
	}
	root := s.root()
	c := conversion{defs: root.defs}
	if args = bytes.TrimSpace(args); args[0] != '{' {
		v, err := decode(args)
		if err != nil {
			return nil, err
		}
		object, ok := c.value(v, &root.Param)
		if !ok {
			return nil, notObject(v, nil)
		}
		return json.Marshal(object)
	}
	fields := make(map[string]*Param, len(root.Fields))
	for i := range root.Fields {
		fields[root.Fields[i].Name] = &root.Fields[i]
	}
	some := false
	converted, err := rawjson.Edit(args, func(name, value []byte) []byte {
		f := fields[string(name)]
		if f == nil || value[0] == 'n' || value[0] == '"' && f.Type == "string" {
			return value
		}
		v, err := rawjson.DecodeMax(value, maxValues)
		if err != nil { // it is too long
			return value
		}
		v, changed := c.value(v, f)
		if !changed {
			return value
		}
		some = true
		b, _ := json.Marshal(v) // what was decoded can be encoded
		return b
	})
	switch {
	case err != nil:
		return nil, invalid("", "arguments are "+err.Error())
	case some:
		return converted, nil
	}
	return args, nil
}

// notObject returns what is wrong with arguments that are no object, or else what was found.
func notObject(args any, found []InvalidField) error {
	if _, ok := args.(map[string]any); !ok {
		return invalid("", "arguments must be an object, not "+describe(args))
	}
	return &InvalidArguments{found}
}

// maxForms bounds the steps to find out which types a schema accepts.
const maxForms = 64

// forms returns the schemas, of one type each, of which a value has to satisfy one; nil if p
// does not say.
func (c conversion) forms(p *Param) (all []*Param) {
	steps := 0
	var add func(p *Param) bool
	add = func(p *Param) bool {
		steps++
		switch {
		case steps > maxForms:
			return false
		case p.Type != "":
			all = append(all, p)
			return true
		case p.ref != "":
			target := c.defs[p.ref]
			return target != nil && add(target)
		}
		for i := range p.forms {
			if !add(&p.forms[i]) {
				return false
			}
		}
		return p.forms != nil
	}
	if !add(p) {
		return nil
	}
	return all
}

// value returns v converted for p, and whether that changes it.
func (c conversion) value(v any, p *Param) (converted any, changed bool) {
	var fits *Param
	forms := c.forms(p)
	for _, f := range forms {
		if isType(v, f.Type) {
			if fits != nil { // which of them is meant is not known
				return v, false
			}
			fits = f
		}
	}
	if fits != nil {
		return v, c.within(v, fits)
	}
	for _, read := range []func(any, *Param) (any, bool){c.unquoted, c.wrapped} {
		for _, f := range forms {
			r, ok := read(v, f)
			if !ok {
				continue
			}
			if changed && !reflect.DeepEqual(r, converted) {
				return v, false
			}
			converted, changed = r, true
		}
		if changed {
			return converted, true
		}
	}
	return v, false
}

// within converts in place what v, an object or array of the type of p, contains.
func (c conversion) within(v any, p *Param) (changed bool) {
	switch v := v.(type) {
	case map[string]any:
		if c.own {
			changed = p.rename(v)
		}
		for i := range p.Fields {
			f := &p.Fields[i]
			member, ok := v[f.Name]
			if ok && member == nil && c.own && !f.Required {
				delete(v, f.Name)
			} else if r, other := c.value(member, f); ok && other {
				v[f.Name], changed = r, true
			}
		}
	case []any:
		for i := 0; p.Items != nil && i < len(v); i++ {
			if r, other := c.value(v[i], p.Items); other {
				v[i], changed = r, true
			}
		}
	}
	return changed
}

// maxQuoted is the longest number in quotes that is taken out of them.
const maxQuoted = 400

// unquoted returns what a string holds if that is of the type of p, or what a list of strings
// is as the text that p is.
func (c conversion) unquoted(v any, p *Param) (any, bool) {
	if list, ok := v.([]any); ok && p.list {
		texts := make([]string, len(list))
		for i, element := range list {
			if texts[i], ok = element.(string); !ok {
				return nil, false
			}
		}
		return strings.Join(texts, ", "), len(texts) > 0
	}
	s, ok := v.(string)
	if s = strings.TrimSpace(s); !ok || s == "" {
		return nil, false
	}
	switch {
	case p.Type == "boolean":
		s = strings.ToLower(s)
		return s == "true", s == "true" || s == "false"
	case len(s) > maxQuoted && s[0] != '[' && s[0] != '{' || s[0] == '"':
		return nil, false
	}
	held, err := rawjson.DecodeMax([]byte(s), maxValues)
	if err != nil || !isType(held, p.Type) {
		return nil, false
	}
	c.within(held, p)
	return held, true
}

// wrapped returns v as the only element of the list that p is.
func (c conversion) wrapped(v any, p *Param) (any, bool) {
	s, isText := v.(string)
	if p.Type != "array" || v == nil || isText && (s == "" || s[0] == '[') {
		return nil, false
	}
	if p.Items != nil {
		v, _ = c.value(v, p.Items)
		forms := c.forms(p.Items)
		fits := forms == nil
		for _, f := range forms {
			fits = fits || isType(v, f.Type)
		}
		if !fits {
			return nil, false
		}
	}
	return []any{v}, true
}

// rename gives members of an object that are no fields the names of absent fields that they
// surely stand for. Those of the only element of a list may stand beside it.
func (p *Param) rename(object map[string]any) (changed bool) {
	known := nameSet(p.fieldNames())
	move := func(of *Param, to map[string]any) {
		for field, name := range of.meanings(object, known) {
			if _, given := to[field]; !given {
				to[field], changed = object[name], true
				delete(object, name)
			}
		}
	}
	move(p, object)
	for i := range p.Fields {
		f, element := &p.Fields[i], map[string]any{}
		if _, given := object[f.Name]; given || !f.Required || f.Items == nil {
			continue
		}
		if move(f.Items, element); len(element) > 0 {
			object[f.Name] = []any{element}
		}
	}
	return changed
}

// meanings returns which member, of those that are not known, stands for which field, by the
// field; none where two do.
func (p *Param) meanings(object map[string]any, known map[string]bool) map[string]string {
	fields, found := map[string]string{}, map[string]string{}
	for _, f := range p.Fields {
		for _, name := range slices.Concat(f.also, []string{f.Name}) {
			fields[nearest.Plain(name)] = f.Name
		}
	}
	for name := range object {
		field, ok := fields[nearest.Plain(name)]
		if !ok || known[name] {
			continue
		}
		if _, twice := found[field]; twice {
			name = ""
		}
		found[field] = name
	}
	maps.DeleteFunc(found, func(_, name string) bool { return name == "" })
	return found
}
