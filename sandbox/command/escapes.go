package command

import (
	"strconv"
	"strings"
)

// unescape decodes the backslashes of a $'...' string as bash does, which are nearly those of echo and printf. A NUL
// ends the text. Bytes that are markers, and characters that depend on the language, become unknown.
func unescape(s string) string {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found || rest == "" {
			return b.String() + s[len(plain):]
		}
		kind, code := rest[0], uint64(rest[0])
		s = rest[1:]
		number := func(base, most int) bool {
			n := min(most, len(s)-len(strings.TrimLeft(s, "0123456789abcdefABCDEF"[:base+base/16*6])))
			if n > 0 {
				code, _ = strconv.ParseUint(s[max(0, n-8):n], base, 64)
			}
			s = s[n:]
			return n > 0
		}
		switch i := strings.IndexByte(`abeEfnrtv\'"?`, kind); {
		case i >= 0:
			code = uint64("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i])
		case kind >= '0' && kind <= '7':
			s = rest
			number(8, 3)
		case kind == 'x' && strings.HasPrefix(s, "{"):
			s, code = s[1:], 0
			number(16, len(s))
			s = strings.TrimPrefix(s, "}")
		case kind == 'x' && number(16, 2), kind == 'u' && number(16, 4), kind == 'U' && number(16, 8):
		case kind == 'c' && s != "":
			if code = uint64(s[0] & 0x1f); s[0] == '?' {
				code = 0x7f
			}
			if s = s[1:]; strings.HasPrefix(rest[1:], `\\`) {
				s = s[1:]
			}
		default:
			b.WriteByte('\\')
		}
		switch wide := kind == 'u' || kind == 'U'; {
		case wide && code > 0x7f, marker(byte(code)), byte(code) == '\a': // \a is one in output
			b.WriteString(unknown.s)
		case byte(code) == 0:
			return b.String()
		default:
			b.WriteByte(byte(code))
		}
	}
}
