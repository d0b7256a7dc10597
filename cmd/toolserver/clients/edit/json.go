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

// section is an object or a list of a text, with what is written in it.
type section struct {
	text        []byte
	items       []item
	open, close int // between its brackets
}

// item is a member of an object, or an item of a list.
type item struct {
	name       string // of a member, or what the ID of an item says
	start, end int
}

// sectionOf finds the section of a place. If there is none, it returns the innermost object on the
// way, and the keys that are missing in it.
func sectionOf(text []byte, v hujson.Value, p Place) (*section, []string, error) {
	for i := 0; ; i++ {
		last := i == len(p.Keys)
		object, ok := v.Value.(*hujson.Object)
		if list, isList := v.Value.(*hujson.Array); last && p.ID != "" && isList {
			s := &section{text: text, open: v.StartOffset + 1, close: v.EndOffset - 1}
			for _, e := range list.Elements {
				s.items = append(s.items, item{idOf(e, p.ID), e.StartOffset, e.EndOffset})
			}
			return s, nil, nil
		}
		if !ok || last && p.ID != "" {
			return nil, nil, fmt.Errorf("%s is %s", where(p.Keys[:i]), map[bool]string{true: "not a list", false: "not an object"}[last && p.ID != ""])
		}
		s := &section{text: text, open: v.StartOffset + 1, close: v.EndOffset - 1}
		for _, m := range object.Members {
			s.items = append(s.items, item{m.Name.Value.(hujson.Literal).String(), m.Name.StartOffset, m.Value.EndOffset})
		}
		if last {
			return s, nil, nil
		}
		at, err := s.find(p.Keys[i])
		if err != nil {
			return nil, nil, err
		}
		if at < 0 {
			return s, p.Keys[i:], nil
		}
		v = object.Members[at].Value
	}
}

// idOf returns the name of an item of a list.
func idOf(v hujson.Value, id string) string {
	object, _ := v.Value.(*hujson.Object)
	for i := 0; object != nil && i < len(object.Members); i++ {
		value, _ := object.Members[i].Value.Value.(hujson.Literal)
		if object.Members[i].Name.Value.(hujson.Literal).String() == id {
			return value.String()
		}
	}
	return ""
}

func where(keys []string) string {
	if len(keys) == 0 {
		return "the file"
	}
	return strings.Join(keys, ".")
}

// find returns the index of an item, -1 if there is none.
func (s *section) find(name string) (at int, err error) {
	at = -1
	for i, it := range s.items {
		switch {
		case it.name != name:
		case at >= 0:
			return -1, fmt.Errorf("%s: duplicate key %q; remove one", position(s.text, it.start), name)
		default:
			at = i
		}
	}
	return at, nil
}

// position returns the line and column of an offset.
func position(text []byte, at int) string {
	line := bytes.Count(text[:at], []byte("\n"))
	return fmt.Sprintf("line %d, column %d", line+1, at-bytes.LastIndexByte(text[:at], '\n'))
}

func setJSON(text []byte, p Place, entry Object) ([]byte, error) {
	v, text, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	s, missing, err := sectionOf(text, v, p)
	if err != nil {
		return nil, err
	}
	w := jsonWriter{unit: unitOf(text), end: lineEnd(text)}
	if missing != nil { // an object for each of the other keys
		var value any = Object{{p.Name, entry}}
		if p.ID != "" {
			value = []Object{entry}
		}
		for _, key := range slices.Backward(missing[1:]) {
			value = Object{{key, value}}
		}
		return s.add(w, missing[0], value), nil
	}
	at, err := s.find(p.Name)
	if err != nil {
		return nil, err
	}
	name := p.Name
	if p.ID != "" {
		name = ""
	}
	if at < 0 {
		return s.add(w, name, entry), nil
	}
	indent, compact := s.indent(w)
	w.compact = compact
	return splice(text, s.items[at].start, s.items[at].end, w.item(name, entry, indent)), nil
}

func removeJSON(text []byte, p Place) ([]byte, error) {
	v, text, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	s, missing, err := sectionOf(text, v, p)
	if err != nil {
		return nil, err
	}
	at := -1
	if missing == nil {
		at, err = s.find(p.Name)
	}
	if err == nil && at < 0 {
		err = fmt.Errorf("there is no %s in %s", p.Name, where(p.Keys))
	}
	if err != nil {
		return nil, err
	}
	return s.remove(at), nil
}

// add returns the text with a member at the end of the section, or an item if it has no name.
func (s *section) add(w jsonWriter, name string, value any) []byte {
	indent, compact := s.indent(w)
	w.compact = compact
	before := w.end + indent
	if compact {
		before = " "
	}
	from := s.open
	if n := len(s.items); n > 0 {
		from = s.items[n-1].end
	}
	end := from + len(commented(s.text[from:s.close])) // behind the last comment
	if compact && endsInComment(s.text[:end]) {
		before = w.end
	} else if compact && !bytes.Contains(s.text[s.open:s.close], []byte(" ")) {
		before = ""
	}
	added := before + w.item(name, value, indent)
	switch {
	case len(s.items) == 0 && bytes.Contains(s.text[end:s.close], []byte("\n")):
	case len(s.items) == 0:
		added += w.end + strings.TrimSuffix(indent, w.unit)
	case bytes.Contains(blanked(s.text[from:s.close]), []byte(",")): // one that trails
		added += ","
	default:
		return splice(splice(s.text, end, end, added), from, from, ",")
	}
	return splice(s.text, end, end, added)
}

// remove returns the text without an item. The comments before it stay.
func (s *section) remove(at int) []byte {
	it, from := s.items[at], s.open
	if at > 0 {
		from = s.items[at-1].end
	}
	to := it.end
	comma := bytes.IndexByte(blanked(s.text[to:s.close]), ',')
	if comma >= 0 {
		to += comma + 1
	}
	start := from + len(commented(s.text[from:it.start]))
	rest := s.text[to:]
	if len(s.items) == 1 && len(bytes.TrimSpace(s.text[to:s.close])) == 0 && start == s.open {
		rest = s.text[s.close:] // nothing is left
	}
	head := s.text[:start]
	if endsInComment(head) && !startsLine(rest) {
		rest = slices.Concat([]byte(lineEnd(s.text)), rest)
	}
	if comma < 0 && at > 0 { // the comma before it has nothing to separate any more
		i := from + bytes.IndexByte(blanked(s.text[from:it.start]), ',')
		head = slices.Concat(head[:i], head[i+1:])
	}
	return slices.Concat(head, rest)
}

// endsInComment reports whether a text may end within a comment that the end of the line ends.
func endsInComment(text []byte) bool {
	return bytes.Contains(text[bytes.LastIndexByte(text, '\n')+1:], []byte("//"))
}

func startsLine(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\n")) || bytes.HasPrefix(text, []byte("\r\n"))
}

// indent returns the indentation of the items, and whether they are written in one line.
func (s *section) indent(w jsonWriter) (indent string, compact bool) {
	if n := len(s.items); n > 0 {
		start := s.items[n-1].start
		line := s.text[bytes.LastIndexByte(s.text[:start], '\n')+1 : start]
		if len(bytes.TrimLeft(line, " \t")) == 0 && bytes.Contains(s.text[s.open:start], []byte("\n")) {
			return string(line), false
		}
		return "", true
	}
	line := s.text[bytes.LastIndexByte(s.text[:s.open], '\n')+1 : s.open]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]) + w.unit, false
}

// unitOf returns what a text indents its lines with.
func unitOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && bytes.HasPrefix(rest, []byte(`"`)) {
			return string(line[:len(line)-len(rest)])
		}
	}
	return usualIndent
}

// blanked returns what is between two items with its comments as blanks.
func blanked(extra []byte) []byte {
	out := slices.Clone(extra)
	for i := 0; i+1 < len(out); i++ {
		end := 0
		switch {
		case out[i] == '/' && out[i+1] == '/':
			if end = bytes.IndexByte(out[i:], '\n'); end < 0 {
				end = len(out) - i
			}
		case out[i] == '/' && out[i+1] == '*':
			end = bytes.Index(out[i+2:], []byte("*/")) + 4
		case out[i] == '"':
			return out // of the next item
		}
		for j := range end {
			out[i+j] = ' '
		}
	}
	return out
}

// commented returns what is between two items up to the end of the last comment or comma.
func commented(extra []byte) []byte { return bytes.TrimRight(extra, " \t\r\n") }

func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// jsonWriter writes values as the file does.
type jsonWriter struct {
	unit, end string
	compact   bool
}

// item returns a member, or an item of a list if it has no name.
func (w jsonWriter) item(name string, value any, indent string) string {
	var out strings.Builder
	if name != "" {
		out.WriteString(quoted(name) + ": ")
	}
	w.write(&out, value, indent)
	return out.String()
}

func (w jsonWriter) write(out *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case Object:
		w.block(out, "{}", len(v), indent, func(i int, indent string) { out.WriteString(w.item(v[i].Name, v[i].Value, indent)) })
	case []Object:
		w.block(out, "[]", len(v), indent, func(i int, indent string) { w.write(out, v[i], indent) })
	case []string:
		var all []string
		for _, text := range v {
			all = append(all, quoted(text))
		}
		out.WriteString("[" + strings.Join(all, ", ") + "]")
	case string:
		out.WriteString(quoted(v))
	default:
		fmt.Fprint(out, v)
	}
}

func (w jsonWriter) block(out *strings.Builder, brackets string, n int, indent string, item func(i int, indent string)) {
	out.WriteByte(brackets[0])
	for i := range n {
		switch {
		case !w.compact:
			out.WriteString(w.end + indent + w.unit)
		case i > 0:
			out.WriteByte(' ')
		}
		if item(i, indent+w.unit); i+1 < n {
			out.WriteByte(',')
		}
	}
	if n > 0 && !w.compact {
		out.WriteString(w.end + indent)
	}
	out.WriteByte(brackets[1])
}
