package rawjson

import "math/bits"

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

// Bytes in each place of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// specialBytes sets the high bit of each byte of w that is special. Only the
// lowest such bit can be relied on: what is borrowed for a byte may make the
// next one look special.
func specialBytes(w uint64) uint64 {
	quote, backslash := w^('"'*ones), w^('\\'*ones)
	below := (w - ' '*ones) & ^w
	return (below | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}
