//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxText is the longest text that is sent.
const maxText = 256 << 10

// alphabets are the characters texts are made of: each from first to last.
var alphabets = [][2]rune{
	{' ', '~'}, {'a', 'z'}, {0, 0x1f}, {0x7f, 0xff}, {0x370, 0x3ff}, {0x590, 0x5ff}, {0x4e00, 0x9fff},
	{0x1f300, 0x1f6ff}, {0x2028, 0x2029}, {0x200b, 0x200f}, {0xfff0, 0xffff}, {0xfeff, 0xfeff}, {0x10fff0, 0x10ffff},
	{'"', '"'}, {'\\', '\\'}, {'<', '>'}, {'\n', '\r'},
}

// anyText returns a text of any characters and of any size up to maxText, small
// ones as often as large ones.
func anyText(rng *rand.Rand, unique uint64) string {
	size := int(math.Exp(rng.Float64() * math.Log(maxText)))
	var b strings.Builder
	if size > 16 {
		fmt.Fprintf(&b, "%d:", unique)
	}
	for {
		alphabet := alphabets[rng.IntN(len(alphabets))]
		for range 1 + rng.IntN(40) {
			r := alphabet[0] + rng.Int32N(alphabet[1]-alphabet[0]+1)
			if b.Len()+utf8.RuneLen(r) > size {
				if b.Len() == 0 {
					return "x"
				}
				return b.String()
			}
			b.WriteRune(r)
		}
	}
}

// line returns a line that begins with a word there is only once.
func line(rng *rand.Rand, unique uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "w%dw ", unique)
	for range rng.IntN(40) {
		switch rng.IntN(4) {
		case 0:
			b.WriteRune(0x3b1 + rng.Int32N(24))
		case 1:
			b.WriteRune(0x1f600 + rng.Int32N(64))
		default:
			b.WriteRune('!' + rng.Int32N(94))
		}
	}
	return b.String()
}

// escaped returns JSON with every character outside ASCII as an escape.
func escaped(json []byte) []byte {
	b := make([]byte, 0, 2*len(json))
	for len(json) > 0 {
		r, n := utf8.DecodeRune(json)
		json = json[n:]
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04X`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// difference says where two texts part.
func difference(got, want string) error {
	if got == want {
		return nil
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Errorf("text of %d bytes instead of %d, different from byte %d on: %.160q instead of %.160q",
		len(got), len(want), i, got[from:], want[from:])
}
