package rawjson

import "unicode/utf8"

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
