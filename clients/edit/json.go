package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// usualIndent is that of files which do not show another.
const usualIndent = "  "

// parseJSON parses a text, and completes one that has nothing but blanks and comments.
func parseJSON(text []byte) (hujson.Value, []byte, error) {
	text = slices.Clone(text) // which the parser refers to
	v, err := hujson.Parse(text)
	if err == nil {
		return v, text, nil
	}
	completed := text
	if len(bytes.TrimSpace(text)) > 0 {
		completed = append(completed, lineEnd(text)...)
	}
	completed = append(completed, "{}\n"...)
	if v, failed := hujson.Parse(completed); failed == nil {
		return v, completed, nil
	}
	return v, nil, fmt.Errorf("it is no JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
}

func decodeJSON(text []byte) (top any, err error) {
	v, _, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	err = d.Decode(&top)
	return top, err
}

// editJSON returns the text with another entry, or without it if that is nil.
func editJSON(text []byte, p Place, entry Object) ([]byte, error) {
	v, text, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	in, name, list := &v, p.Name, p.ID != ""
	var value any = entry
	for i, key := range p.Keys {
		object, ok := in.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", where(p.Keys[:i]))
		}
		at, err := find(text, object.Members, key)
		if err != nil {
			return nil, err
		}
		if at >= 0 {
			in = &object.Members[at].Value
			continue
		}
		if value = (Object{{p.Name, entry}}); list { // in an object for each of the other keys
			value = []Object{entry}
		}
		for _, key := range slices.Backward(p.Keys[i+1:]) {
			value = Object{{key, value}}
		}
		name, list = key, false
		break
	}
	object, isObject := in.Value.(*hujson.Object)
	array, isArray := in.Value.(*hujson.Array)
	switch {
	case list && !isArray:
		return nil, fmt.Errorf("%s is not a list", where(p.Keys))
	case list:
		object = named(array, p.ID)
	case !isObject:
		return nil, fmt.Errorf("%s is not an object", where(p.Keys))
	}
	at, err := find(text, object.Members, name)
	switch {
	case err != nil:
		return nil, err
	case entry == nil && (at < 0 || name != p.Name):
		return nil, fmt.Errorf("there is no %s in %s", p.Name, where(p.Keys))
	case entry == nil:
		remove(object, at, lineEnd(text))
	default:
		set(object, at, name, value, layoutOf(text, in, object))
	}
	if list {
		*array = hujson.Array{AfterExtra: object.AfterExtra}
		for _, m := range object.Members {
			array.Elements = append(array.Elements, hujson.Value{BeforeExtra: m.Name.BeforeExtra, Value: m.Value.Value, AfterExtra: m.Value.AfterExtra})
		}
	}
	return v.Pack(), nil
}

func where(keys []string) string {
	if len(keys) == 0 {
		return "the file"
	}
	return strings.Join(keys, ".")
}

// named returns the items of a list as members of an object, by the names that their IDs say.
func named(list *hujson.Array, id string) *hujson.Object {
	object := &hujson.Object{AfterExtra: list.AfterExtra}
	for _, e := range list.Elements {
		name := hujson.Value{BeforeExtra: e.BeforeExtra, StartOffset: e.StartOffset, Value: hujson.String("")}
		if found := e.Find("/" + id); found != nil && found.Value.Kind() == '"' {
			name.Value = found.Value
		}
		e.BeforeExtra = nil
		object.Members = append(object.Members, hujson.ObjectMember{Name: name, Value: e})
	}
	return object
}

// find returns the index of a member, -1 if there is none.
func find(text []byte, members []hujson.ObjectMember, name string) (at int, err error) {
	at = -1
	for i, m := range members {
		switch {
		case m.Name.Value.(hujson.Literal).String() != name:
		case at >= 0:
			before := text[:m.Name.StartOffset]
			line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
			return -1, fmt.Errorf("line %d, column %d: duplicate key %q; remove one", line, column, name)
		default:
			at = i
		}
	}
	return at, nil
}

// set replaces a member, or adds it at the end if it is at -1.
func set(object *hujson.Object, at int, name string, value any, l layout) {
	written := hujson.Literal(l.write(value, l.indent))
	if at >= 0 {
		object.Members[at].Value.Value = written
		return
	}
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.Literal(quoted(name))}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: written}}
	last := len(object.Members) - 1
	if last >= 0 && object.Members[last].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{} // the comma that trails
	}
	kept, rest := commented(object.AfterExtra)
	before := l.end + l.indent
	switch {
	case l.compact && endsInComment(kept):
		before = l.end
	case l.compact && l.dense:
		before = ""
	case l.compact:
		before = " "
	}
	if last < 0 && !bytes.Contains(rest, []byte("\n")) {
		rest = append(hujson.Extra(l.end+strings.TrimSuffix(l.indent, l.unit)), rest...)
	}
	m.Name.BeforeExtra, object.AfterExtra = append(kept, before...), rest
	object.Members = append(object.Members, m)
}

// remove removes a member. The comments before it stay.
func remove(object *hujson.Object, at int, end string) {
	m, last := object.Members[at], at == len(object.Members)-1
	trails := last && m.Value.AfterExtra != nil
	kept, _ := commented(m.Name.BeforeExtra)
	object.Members = slices.Delete(object.Members, at, at+1)
	next := &object.AfterExtra
	if !last {
		next = &object.Members[at].Name.BeforeExtra
	} else if at > 0 { // which is the last now, and may have no comma any more
		before := &object.Members[at-1].Value.AfterExtra
		if trails {
			*before = append(hujson.Extra{}, *before...)
		} else {
			kept, *before = slices.Concat(*before, kept), nil
		}
	}
	switch {
	case len(object.Members) == 0 && len(kept) == 0 && len(bytes.TrimSpace(*next)) == 0:
		*next = nil // nothing is left
		return
	case endsInComment(kept) && !bytes.HasPrefix(bytes.TrimPrefix(*next, []byte("\r")), []byte("\n")):
		kept = append(kept, end...)
	}
	*next = append(kept, *next...)
}

// endsInComment reports whether what is between members may end within a comment that the end of the
// line ends.
func endsInComment(extra []byte) bool {
	return bytes.Contains(extra[bytes.LastIndexByte(extra, '\n')+1:], []byte("//"))
}

// commented returns what is between members up to the end of the last comment, and the rest.
func commented(extra hujson.Extra) (kept, rest hujson.Extra) {
	kept = bytes.TrimRight(extra, " \t\r\n")
	return slices.Clone(kept), extra[len(kept):]
}

// layout is how members are written.
type layout struct {
	unit, end string // what lines are indented with, and end with
	indent    string // of the members
	compact   bool   // in one line
	dense     bool   // without a blank
}

// layoutOf returns how the members of a section are written.
func layoutOf(text []byte, section *hujson.Value, object *hujson.Object) layout {
	l := layout{unit: usualIndent, end: lineEnd(text)}
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && bytes.HasPrefix(rest, []byte(`"`)) {
			l.unit = string(line[:len(line)-len(rest)])
			break
		}
	}
	open, n := section.StartOffset+1, len(object.Members)
	l.dense = !bytes.Contains(text[open:section.EndOffset-1], []byte(" "))
	if n == 0 {
		line := text[bytes.LastIndexByte(text[:open], '\n')+1 : open]
		l.indent = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]) + l.unit
		return l
	}
	start := object.Members[n-1].Name.StartOffset
	line := text[bytes.LastIndexByte(text[:start], '\n')+1 : start]
	if l.compact = len(bytes.TrimLeft(line, " \t")) > 0 || !bytes.Contains(text[open:start], []byte("\n")); !l.compact {
		l.indent = string(line)
	}
	return l
}

// write returns a value whose own line is indented.
func (l layout) write(value any, indent string) string {
	var items []string
	brackets := "{}"
	switch v := value.(type) {
	case Object:
		for _, m := range v {
			items = append(items, quoted(m.Name)+": "+l.write(m.Value, indent+l.unit))
		}
	case []Object:
		brackets = "[]"
		for _, o := range v {
			items = append(items, l.write(o, indent+l.unit))
		}
	default:
		return flat(v)
	}
	switch start := l.end + indent + l.unit; {
	case l.compact:
		return brackets[:1] + strings.Join(items, ", ") + brackets[1:]
	case len(items) > 0:
		return brackets[:1] + start + strings.Join(items, ","+start) + l.end + indent + brackets[1:]
	}
	return brackets
}

// Line returns an entry as JSON in one line.
func Line(entry Object) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, []byte(layout{compact: true}.write(entry, ""))) // which is JSON
	return out.Bytes()
}
