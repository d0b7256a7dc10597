package rawjson

import (
	"bytes"
	"encoding/hex"
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
func DecodeMax(data []byte, values int) (v any, err error) {
	s := scanner{data: data, values: values}
	err = s.whole(func() (err error) {
		v, err = s.value()
		return err
	})
	if s.values < 0 {
		err = fmt.Errorf("more than %d values", values)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// String reads a JSON string.
func String(data []byte) (v string, err error) {
	if inside := len(data) - 2; inside >= 0 && data[0] == '"' && plainLen(data[1:]) == inside && data[inside+1] == '"' { // as most are
		return text(data[1:inside+1], false), nil
	}
	s := scanner{data: data}
	err = s.whole(func() error {
		raw, escaped, err := s.string()
		v = text(raw, escaped)
		return err
	})
	return v, err
}

func (s *scanner) value() (any, error) {
	if s.pos == len(s.data) {
		return nil, s.fail("a value")
	}
	if s.values--; s.values < 0 {
		return nil, s.fail("fewer values")
	}
	switch s.next() {
	case '"':
		raw, escaped, err := s.string()
		if err != nil {
			return nil, err
		}
		return text(raw, escaped), nil
	case '{':
		m := map[string]any{}
		return m, s.elements('}', func() error {
			name, escaped, err := s.name()
			if err != nil {
				return err
			}
			v, err := s.value()
			m[text(name, escaped)] = v
			return err
		})
	case '[':
		list := []any{}
		err := s.elements(']', func() error {
			v, err := s.value()
			list = append(list, v)
			return err
		})
		return list, err
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

// text returns the string that the inside of a literal stands for.
func text(raw []byte, escaped bool) string {
	var s string
	if escaped {
		s = unescape(raw)
	} else {
		s = string(raw)
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // one U+FFFD for each wrong byte, as encoding/json does
	}
	return s
}

// escapes are the characters that follow a backslash, except u, and what they stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape returns raw, which is valid inside a string literal, with its escape
// sequences replaced. A surrogate without its half becomes U+FFFD.
func unescape(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			out.Write(raw)
			return out.String()
		}
		out.Write(raw[:i])
		c := raw[i+1]
		if c != 'u' {
			out.WriteByte(escapes[c])
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
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(b []byte) rune {
	var r [2]byte
	if _, err := hex.Decode(r[:], b); err != nil {
		return -1
	}
	return rune(r[0])<<8 | rune(r[1])
}
