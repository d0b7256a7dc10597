package yamlconf

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mask stands in for what must not be shown.
const mask = "********"

// Show returns v, a struct or a pointer to one, as YAML in declared order. Each
// key has its doc above it when comments is set. Fields tagged secret, and what
// src knows to come from references or to equal a secret, are "********"; src
// may be nil. What is unset is null. Apart from masked values, and from paths in
// v that are relative, the text decodes to v again.
func Show(v any, src *Source, comments bool) []byte {
	value, s := shapes{}.root(v)
	w := &renderer{src: src, comments: comments}
	return document(w.structure(value, s, rules{}, ""))
}

func document(lines []string) []byte {
	if len(lines) == 0 {
		return []byte("{}\n")
	}
	text := strings.Join(lines, "\n") + "\n"
	return []byte(strings.TrimPrefix(text, "\n"))
}

// renderer writes values as YAML. A value is either one line or a block of
// lines that its parent indents.
type renderer struct {
	src      *Source
	comments bool
	template bool // comment out what the file need not or cannot say
}

// structure returns the lines of a struct.
func (w *renderer) structure(v reflect.Value, s *shape, r rules, path string) []string {
	var lines []string
	for _, f := range s.fields {
		inner := f.rules
		inner.secret = inner.secret || r.secret
		value := v.FieldByIndex(f.index)
		if f.omitEmpty && !w.template && value.IsZero() || w.template && (f.elsewhere || f.shape.elsewhere()) && value.IsZero() {
			continue
		}
		if w.comments && path == "" {
			lines = append(lines, "") // sections stand apart
		}
		if note := f.note(); w.comments && note != "" {
			lines = append(lines, "# "+note)
		}
		if w.template && !sayable(value, f.shape, inner) {
			sample := example(value, f.shape)
			lines = append(lines, prefixed("# ", w.entry(f.name, sample, f.shape, inner, path))...)
			continue
		}
		lines = append(lines, w.entry(f.name, value, f.shape, inner, path)...)
	}
	if s.rest != nil {
		others := v.FieldByIndex(s.rest.index)
		if w.template && others.Len() == 0 && len(s.rest.shape.leaf().fields) > 0 {
			return append(lines, prefixed("# ", w.mapping(example(others, s.rest.shape), s.rest.shape, s.rest.rules, path))...)
		}
		lines = append(lines, w.mapping(others, s.rest.shape, s.rest.rules, path)...)
	}
	return lines
}

// entry returns the lines of one key with its value.
func (w *renderer) entry(name string, v reflect.Value, s *shape, r rules, path string) []string {
	line, block := w.value(v, s, r, join(path, name))
	name = quote(name)
	if block == nil {
		return []string{name + ": " + line}
	}
	return append([]string{name + ":"}, prefixed("  ", block)...)
}

// value returns v as the rest of a line, or as a block.
func (w *renderer) value(v reflect.Value, s *shape, r rules, path string) (line string, block []string) {
	v, s = s.held(v)
	switch s.kind {
	case kindPointer:
		if v.IsNil() {
			return "null", nil
		}
		return w.value(v.Elem(), s.elem, r, path)
	case kindStruct:
		if short, ok := shortText(v, s); ok {
			return quote(escape(short)), nil
		}
		if block = w.structure(v, s, r, path); block == nil {
			return "{}", nil
		}
		return "", block
	case kindMap:
		switch {
		case v.IsNil():
			return "null", nil
		case v.Len() == 0:
			return "{}", nil
		}
		return "", w.mapping(v, s, r, path)
	case kindList:
		return w.list(v, s, r, path)
	}
	return w.scalar(v, s, r, path), nil
}

// shortText is the form of v that is a plain text, for a type that has one.
func shortText(v reflect.Value, s *shape) (text string, ok bool) {
	if !s.hooked {
		return "", false
	}
	p := reflect.New(s.typ)
	p.Elem().Set(v)
	if short, has := p.Interface().(textHook); has {
		return short.ConfigText()
	}
	return "", false
}

// scalar returns a value that fits on a line.
func (w *renderer) scalar(v reflect.Value, s *shape, r rules, path string) string {
	text, isText := plain(v, s)
	if text != "" && (r.secret || w.src.hides(path, text)) {
		return strconv.Quote(mask)
	}
	if !isText || s.kind == kindDuration || s.kind == kindBytes {
		return text
	}
	return quote(escape(text))
}

// mapping returns the entries of a map, sorted by key.
func (w *renderer) mapping(v reflect.Value, s *shape, r rules, path string) []string {
	var lines []string
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		lines = append(lines, w.entry(key.String(), v.MapIndex(key), s.elem, r.inner(), path)...)
	}
	return lines
}

func (w *renderer) list(v reflect.Value, s *shape, r rules, path string) (string, []string) {
	if v.IsNil() {
		return "null", nil
	}
	var block, words []string
	short := 0
	for i := range v.Len() {
		line, nested := w.value(v.Index(i), s.elem, r.inner(), index(path, i))
		if nested == nil {
			words = append(words, line)
			short += len(line) + 2
			nested = []string{line}
		}
		nested = prefixed("  ", nested)
		nested[0] = "- " + strings.TrimPrefix(nested[0], "  ")
		block = append(block, nested...)
	}
	if len(words) == v.Len() && short <= 80 {
		return "[" + strings.Join(words, ", ") + "]", nil
	}
	return "", block
}

// plain returns the text of a scalar, and whether YAML must take it as text.
func plain(v reflect.Value, s *shape) (text string, isText bool) {
	switch s.kind {
	case kindString:
		return v.String(), true
	case kindDuration:
		return formatDuration(time.Duration(v.Int())), true
	case kindBytes:
		text = Bytes(v.Int()).String()
		return text, !isDigits(text)
	case kindText:
		p := reflect.New(s.typ) // has the methods of both kinds of receivers
		p.Elem().Set(v)
		if m, ok := p.Interface().(encoding.TextMarshaler); ok {
			if text, err := m.MarshalText(); err == nil {
				return string(text), true
			}
		}
	}
	return fmt.Sprint(v.Interface()), s.kind == kindText
}

// escape keeps a text from being read as one with references.
func escape(text string) string {
	return strings.ReplaceAll(text, "${", "$${")
}

// quote returns text as YAML, in double quotes unless it is plainly a word or a
// path. Every escape sequence of Go's quoted strings means the same in YAML.
func quote(text string) string {
	word := strings.TrimPrefix(strings.TrimPrefix(text, "."), ".")
	rooted := strings.HasPrefix(word, "/")
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(text)
	}
	for i, c := range []byte(word) {
		letter := c == '_' || c == '/' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789.-+@", rune(c))) {
			return strconv.Quote(text)
		}
	}
	if word == "" || word != text && !rooted {
		return strconv.Quote(text)
	}
	return text
}

func prefixed(prefix string, lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		if all[i] = prefix + line; line == "" {
			all[i] = strings.TrimRight(prefix, " ")
		}
	}
	return all
}
