package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode reads one JSON value as encoding/json does into an any with UseNumber:
// map[string]any, []any, string, [json.Number], bool or nil. Nothing in it
// points into data.
func Decode(data []byte) (any, error) { return DecodeMax(data, len(data)) }

// DecodeMax is [Decode] of at most that many values, elements and members
// counted: decoded, a message of small values takes fifty times the memory it
// took as text.
func DecodeMax(data []byte, values int) (any, error) {
	s := scanner{data: data, values: values}
	s.space()
	v, err := s.value()
	if s.values < 0 {
		return nil, fmt.Errorf("more than %d values", values)
	}
	if err != nil {
		return nil, err
	}
	return v, s.end()
}

// String reads a JSON string.
func String(data []byte) (string, error) {
	s := scanner{data: data}
	s.space()
	raw, escaped, err := s.string()
	if err != nil {
		return "", err
	}
	return text(raw, escaped), s.end()
}

func (s *scanner) value() (any, error) {
	if s.pos >= len(s.data) {
		return nil, s.fail("a value")
	}
	if s.values--; s.values < 0 {
		return nil, s.fail("fewer values")
	}
	switch s.data[s.pos] {
	case '"':
		raw, escaped, err := s.string()
		if err != nil {
			return nil, err
		}
		return text(raw, escaped), nil
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return true, s.literal("true")
	case 'f':
		return false, s.literal("false")
	case 'n':
		return nil, s.literal("null")
	}
	n, err := s.number()
	return json.Number(n), err
}

func (s *scanner) object() (map[string]any, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	s.space()
	if s.take('}') {
		s.depth--
		return m, nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return nil, err
		}
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		m[text(name, false)] = v
		s.space()
		switch {
		case s.take(','):
			s.space()
		case s.take('}'):
			s.depth--
			return m, nil
		default:
			return nil, s.fail("',' or '}'")
		}
	}
}

func (s *scanner) array() ([]any, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	list := []any{}
	s.space()
	if s.take(']') {
		s.depth--
		return list, nil
	}
	for {
		s.space()
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		s.space()
		switch {
		case s.take(','):
		case s.take(']'):
			s.depth--
			return list, nil
		default:
			return nil, s.fail("',' or ']'")
		}
	}
}

// text returns the string a literal's inside stands for.
func text(raw []byte, escaped bool) string {
	if escaped {
		return unescape(raw)
	}
	if !utf8.Valid(raw) {
		return replaceInvalid(raw)
	}
	return string(raw)
}

// replaceInvalid puts one U+FFFD in place of each byte that is not UTF-8, as
// encoding/json does.
func replaceInvalid(raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw) + utf8.UTFMax)
	for _, r := range string(raw) {
		b.WriteRune(r)
	}
	return b.String()
}

// unescape returns raw, which is valid inside a string literal, with its escape
// sequences replaced. A surrogate without its half becomes U+FFFD.
func unescape(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			out.Write(raw)
			break
		}
		out.Write(raw[:i])
		if c := raw[i+1]; c != 'u' {
			out.WriteByte(escapedByte(c))
			raw = raw[i+2:]
			continue
		}
		r := hex4(raw[i+2 : i+6])
		raw = raw[i+6:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				low = hex4(raw[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				raw = raw[6:]
			}
		}
		out.WriteRune(r)
	}
	if !utf8.ValidString(out.String()) {
		return replaceInvalid([]byte(out.String()))
	}
	return out.String()
}

// escapedByte returns what a backslash before c stands for.
func escapedByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
