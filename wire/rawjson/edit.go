package rawjson

import (
	"math/bits"
	"unicode/utf8"
)

// With returns the object in data with a member set to value, which is JSON: in the
// place of all members of that name or, if there is none, at the end. What is no
// object is returned as it is.
func With(data []byte, member string, value []byte) []byte {
	written := false
	with, err := Edit(data, func(name, old []byte) []byte {
		switch {
		case string(name) != member:
			return old
		case written:
			return nil
		}
		written = true
		return value
	})
	if err != nil || written {
		return with
	}
	with = with[:len(with)-1]
	if len(with) > 1 {
		with = append(with, ',')
	}
	return append(append(append(AppendString(with, member), ':'), value...), '}')
}

// Without returns the object in data without members of a name. What is no object is
// returned as it is.
func Without(data []byte, member string) []byte {
	if Member(data, member) == nil {
		return data
	}
	without, _ := Edit(data, func(name, old []byte) []byte {
		if string(name) == member {
			return nil
		}
		return old
	})
	return without
}

// Edit copies the object in data with the value that edit returns for each member, or
// without it if that is nil. What is no object is returned as it is, with the error.
func Edit(data []byte, edit func(name, value []byte) []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(data)+64), '{')
	err := Object(data, func(name, value []byte) error {
		if value = edit(name, value); value == nil {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, name), ':'), value...)
		return nil
	})
	if err != nil {
		return data, err
	}
	return append(out, '}'), nil
}

// AppendString appends s to dst as a JSON string. Bytes that are not UTF-8
// become U+FFFD.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	if !utf8.ValidString(string(s)) {
		return AppendString(dst, string([]rune(string(s))))
	}
	dst = append(dst, '"')
	for i := 0; ; i++ {
		n := plainLen(s[i:])
		dst = append(dst, s[i:i+n]...)
		if i += n; i == len(s) {
			return append(dst, '"')
		}
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
}

// plainLen returns how many bytes at the start of b stand for themselves in a
// string literal: those before the first quote, backslash or control character.
// It looks at eight bytes at a time.
func plainLen[T string | []byte](b T) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if special := specialBytes(word(b[i : i+8])); special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// word reads eight bytes, the first of them lowest.
func word[T string | []byte](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// specialBytes sets the high bit of each byte of w that is special. Only the
// lowest such bit can be relied on: what is borrowed for a byte may make the
// next one look special.
func specialBytes(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := w^('"'*ones), w^('\\'*ones)
	below := (w - ' '*ones) & ^w
	return (below | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}
