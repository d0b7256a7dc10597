package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/wire/rawjson"
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
func (s *Input) Converted(args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 || string(args) == "null" {
		return args, nil
	}
	root, some := s.root(), false
	fields := make(map[string]*Param, len(root.Fields))
	for i := range root.Fields {
		fields[root.Fields[i].Name] = &root.Fields[i]
	}
	converted, err := rawjson.Edit(args, func(name, value []byte) []byte {
		f := fields[string(name)]
		if f == nil || value[0] == '"' && f.Type == "string" {
			return value
		}
		v, err := rawjson.DecodeMax(value, maxValues)
		if err != nil { // it is too long
			return value
		}
		v, changed := conversion{defs: root.defs}.value(v, f)
		if b, err := json.Marshal(v); changed && err == nil {
			some = true
			return b
		}
		return value
	})
	if args = bytes.TrimSpace(args); err != nil {
		return nil, notObject(args, err)
	}
	if some {
		return converted, nil
	}
	return args, nil
}

// notObject says what arguments are that are no object.
func notObject(args []byte, err error) error {
	if v, wrong := rawjson.Decode(args); wrong == nil {
		return Invalid("", "arguments must be an object, not "+describe(v))
	}
	return Invalid("", "arguments are "+err.Error())
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
func (c conversion) value(v any, p *Param) (any, bool) {
	forms := c.forms(p)
	s, split := v.(string)
	if split = split && p.list && p.Type == "array" && !strings.HasPrefix(strings.TrimSpace(s), "["); split {
		var list []any
		for part := range strings.SplitSeq(s, ",") {
			list = append(list, strings.TrimSpace(part))
		}
		v = list
	}
	held, fits, changed := c.held(v, forms)
	s, isText := v.(string)
	changed = changed || split
	if fits || v == nil || isText && (s == "" || s[0] == '[') {
		return held, changed
	}
	for _, f := range forms {
		switch {
		case f.Type != "array":
		case f.Items == nil || c.forms(f.Items) == nil:
			return []any{v}, true
		default:
			if element, fits, _ := c.held(v, c.forms(f.Items)); fits {
				return []any{element}, true
			}
		}
	}
	return v, false
}

// maxQuoted is the longest number in quotes that is taken out of them.
const maxQuoted = 400

// held returns v or what it holds as a string, whichever is of the type of one of the forms;
// fits is false if neither is.
func (c conversion) held(v any, forms []*Param) (held any, fits, changed bool) {
	typed := func(v any) []*Param {
		return slices.DeleteFunc(slices.Clone(forms), func(f *Param) bool { return !isType(v, f.Type) })
	}
	if len(forms) == 1 && forms[0].list && forms[0].Type == "string" {
		if text, ok := listed(v); ok {
			return text, true, true
		}
	}
	if typed := typed(v); len(typed) > 0 {
		return v, true, len(typed) == 1 && c.within(v, typed[0])
	}
	if c.own && len(forms) == 1 && forms[0].Type == "string" {
		if text, ok := lone(v, forms[0].list); ok {
			return text, true, true
		}
	}
	s, ok := v.(string)
	if s = strings.TrimSpace(s); strings.EqualFold(s, "true") || strings.EqualFold(s, "false") {
		s = strings.ToLower(s)
	}
	if !ok || s == "" || len(s) > maxQuoted && s[0] != '[' && s[0] != '{' {
		return v, false, false
	}
	inside, err := rawjson.DecodeMax([]byte(s), maxValues)
	fit := typed(inside)
	if err != nil || len(fit) == 0 {
		return v, false, false
	}
	if len(fit) == 1 {
		c.within(inside, fit[0])
	}
	return inside, true, true
}

// lone returns the text of an object that holds nothing else, such as {"path": "a.txt"}, or of a number.
func lone(v any, number bool) (text string, ok bool) {
	if n, isNumber := v.(json.Number); isNumber {
		return n.String(), number
	}
	object, _ := v.(map[string]any)
	for _, only := range object {
		text, ok = only.(string)
	}
	return text, ok && len(object) == 1
}

// listed returns the text with commas that a list, which may be in a string, stands for: of texts, and of objects that are people.
func listed(v any) (text string, ok bool) {
	if s, isText := v.(string); isText && strings.HasPrefix(strings.TrimSpace(s), "[") {
		v, _ = rawjson.DecodeMax([]byte(strings.TrimSpace(s)), maxValues)
	}
	if object, isObject := v.(map[string]any); isObject {
		v = []any{object}
	}
	list, isList := v.([]any)
	texts := make([]string, len(list))
	for i, element := range list {
		object, isObject := element.(map[string]any)
		if texts[i], ok = element.(string); isObject {
			texts[i], ok = person(object)
		}
		if !ok {
			return "", false
		}
	}
	return strings.Join(texts, ", "), isList
}

// person returns an address with a name, as {"email": "bo@example.com", "name": "Bo", "optional": true} has them.
func person(object map[string]any) (text string, ok bool) {
	var address, name, optional string
	for key, v := range object {
		s, isText := v.(string)
		switch key = nearest.Plain(key); {
		case isText && (key == "email" || key == "address" || key == "emailaddress"):
			address = s
		case isText && (key == "name" || key == "displayname"):
			name = s
		case key == "optional" && v == true:
			optional = " (optional)"
		case v != nil && v != false && v != "" && v != "needsAction": // which say nothing
			return "", false
		}
	}
	if name != "" {
		return strconv.Quote(name) + " <" + address + ">" + optional, address != ""
	}
	return address + optional, address != ""
}

// within converts in place what v, an object or array of the type of p, contains.
func (c conversion) within(v any, p *Param) (changed bool) {
	switch v := v.(type) {
	case map[string]any:
		if c.own {
			p.rename(v)
		}
		for i := range p.Fields {
			f := &p.Fields[i]
			member, ok := v[f.Name]
			if ok && c.own && !f.Required && (member == nil || member == "" && f.Default != nil && f.Min != "") {
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

// rename gives members of an object that are no fields the names of absent fields that they
// surely stand for. Those of the only element of a list may stand beside it.
func (p *Param) rename(object map[string]any) {
	known := nameSet(p.fieldNames())
	move := func(of *Param, to map[string]any) {
		meant, found := map[string]string{}, map[string][]string{} // fields by other names, and names by fields
		for _, f := range of.Fields {
			for _, name := range slices.Concat(f.also, []string{f.Name}) {
				meant[nearest.Plain(name)] = f.Name
			}
		}
		for name := range object {
			if field, ok := meant[nearest.Plain(name)]; ok && !known[name] {
				found[field] = append(found[field], name)
			}
		}
		for field, names := range found {
			if _, given := to[field]; !given && len(names) == 1 {
				to[field] = object[names[0]]
				delete(object, names[0])
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
}

// maxSignature bounds a signature, in bytes.
const maxSignature = 240

// Signature returns the arguments in short, those that must be given first: owner, labels?[],
// filter?{}. "?" marks one that may be left out, [] a list and {} an object.
func (s *Input) Signature() string {
	root := s.root()
	var required, optional []string
	for i := range root.Fields {
		f, mark := &root.Fields[i], ""
		for _, form := range (conversion{defs: root.defs}).forms(f) {
			mark += map[string]string{"array": "[]", "object": "{}"}[form.Type]
		}
		if f.Required {
			required = append(required, f.Name+mark)
		} else {
			optional = append(optional, f.Name+"?"+mark)
		}
	}
	return brief.Clip(strings.Join(append(required, optional...), ", "), maxSignature)
}
