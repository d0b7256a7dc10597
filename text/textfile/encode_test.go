package textfile_test

import (
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// encode makes the fixtures: text in the charset called name, without a byte
// order mark.
func encode(t testing.TB, name, text string) []byte {
	t.Helper()
	if name == "utf-8" {
		return []byte(text)
	}
	enc := map[string]encoding.Encoding{
		"utf-16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		"utf-16be": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
		"utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
		"cp037":    charmap.CodePage037,
		"cp1251":   charmap.Windows1251,
		"cp1252":   charmap.Windows1252,
		"koi8-r":   charmap.KOI8R,
		"sjis":     japanese.ShiftJIS,
		"euc-jp":   japanese.EUCJP,
		"gbk":      simplifiedchinese.GBK,
		"gb18030":  simplifiedchinese.GB18030,
	}[name]
	if enc == nil {
		t.Fatalf("no encoder for %s", name)
	}
	b, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}
