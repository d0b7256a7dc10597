package command

import (
	"strings"
	"unicode/utf8"
)

// ansiC decodes the text of a $'...' string as bash does. Control characters
// become unknown text, because the markers of an arg live among them.
func ansiC(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		width, ok := escape(&b, s[i+1:])
		if !ok {
			break
		}
		i += width
	}
	return b.String()
}

// escape writes what the escape sequence at the start of s, after its
// backslash, stands for. It returns the length of the sequence, and false for a
// NUL, at which bash ends the string.
func escape(b *strings.Builder, s string) (width int, ok bool) {
	switch c := s[0]; {
	case strings.IndexByte("abeEfrv", c) >= 0:
		b.WriteByte(anyText)
	case c == 'n':
		b.WriteByte('\n')
	case c == 't':
		b.WriteByte('\t')
	case strings.IndexByte(`\'"?`, c) >= 0:
		b.WriteByte(c)
	case c >= '0' && c <= '7':
		n, width := digits(s, 3, 8)
		return width, writeRune(b, n&0xff, true)
	case strings.IndexByte("xuU", c) >= 0:
		limit := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		n, width := digits(s[1:], limit, 16)
		if width == 0 {
			b.WriteByte(anyText)
			break
		}
		return width + 1, writeRune(b, n, c == 'x')
	case c == 'c':
		b.WriteByte(anyText)
		return min(2, len(s)), true
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	return 1, true
}

// writeRune writes a character given by its number; a byte above ASCII is only
// a part of one, so it is as unknown as a control character.
func writeRune(b *strings.Builder, n rune, isByte bool) bool {
	switch {
	case n == 0:
		return false
	case n < ' ' && n != '\n' && n != '\t', n == 0x7f, isByte && n >= 0x80, !utf8.ValidRune(n):
		b.WriteByte(anyText)
	default:
		b.WriteRune(n)
	}
	return true
}

// digits reads up to limit digits of the base at the start of s.
func digits(s string, limit int, base rune) (value rune, width int) {
	for width < len(s) && width < limit {
		d := rune(strings.IndexByte("0123456789abcdef", s[width]|0x20))
		if s[width] < 'A' {
			d = rune(s[width]) - '0'
		}
		if d < 0 || d >= base {
			break
		}
		value = value*base + d
		width++
	}
	return value, width
}

// unescape removes the backslashes of a double-quoted literal.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
