package textfile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/toolserver/toolserver/domain/nearest"
)

// Names of the charsets that a byte order mark can tell.
const (
	utf8Name    = "utf-8"
	utf16Name   = "utf-16" // byte order from the file
	utf16leName = "utf-16le"
	utf16beName = "utf-16be"
	utf32Name   = "utf-32" // byte order from the file
	utf32leName = "utf-32le"
	utf32beName = "utf-32be"
)

// Charset is a character encoding. The zero value is UTF-8, the default, which
// a byte order mark in the file overrules.
type Charset struct {
	name string            // canonical; "" is UTF-8
	enc  encoding.Encoding // nil for UTF-8, and for utf-16 and utf-32 before resolve
	eol  string            // "\n" as encoded; "" is "\n" itself
}

// Name returns the canonical name, in lower case: that of IANA where it has
// one, such as "utf-8", "windows-1252" or "shift_jis".
func (c Charset) Name() string {
	if c.name == "" {
		return utf8Name
	}
	return c.name
}

func (c Charset) isUTF8() bool { return c.name == "" }

// newline returns the bytes that end a line: one in most charsets, two or four
// in UTF-16 and UTF-32, and not 0x0A in EBCDIC.
func (c Charset) newline() newline {
	if c.eol == "" {
		return "\n"
	}
	return newline(c.eol)
}

// width is the size of a code unit in bytes.
func (c Charset) width() int { return len(c.newline()) }

// aliases are names common on disks that the indexes of x/text do not have, or have
// for another charset: ascii is windows-1252 on the web.
const aliases = `utf-8:utf8sig,cp65001 us-ascii:ascii macintosh:macroman x-mac-cyrillic:maccyrillic
	ibm00858:cp858 ibm1047:cp1047 ibm01140:cp1140 shift_jis:cp932,ms932 euc-jp:ujis big5:cp950 euc-kr:cp949,uhc`

// charsets holds all charsets by squeezed name. It is built on first use, because most
// runs of the program never need it.
var charsets = sync.OnceValue(func() map[string]Charset {
	ascii, _ := ianaindex.MIME.Encoding("us-ascii") // never fails
	all := map[string]Charset{}
	for name, enc := range map[string]encoding.Encoding{
		utf16leName: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		utf16beName: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		utf32leName: utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
		utf32beName: utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	} {
		all[squeeze(name)] = newCharset(name, enc)
	}
	all["utf8"], all["utf16"], all["utf32"] = Charset{}, Charset{name: utf16Name}, Charset{name: utf32Name}
	for _, enc := range slices.Concat([]encoding.Encoding{ascii}, charmap.All,
		japanese.All, korean.All, simplifiedchinese.All, traditionalchinese.All) {
		name := nameOf(enc)
		all[squeeze(name)] = newCharset(name, enc)
	}
	for row := range strings.FieldsSeq(aliases) {
		name, names, _ := strings.Cut(row, ":")
		for alias := range strings.SplitSeq(names, ",") {
			all[alias] = all[squeeze(name)]
		}
	}
	return all
})

func newCharset(name string, enc encoding.Encoding) Charset {
	c := Charset{name: name, enc: enc}
	// An encoder that cannot say what a line feed is leaves the default.
	if eol, err := enc.NewEncoder().String("\n"); err == nil && eol != "\n" {
		c.eol = eol
	}
	return c
}

// nameOf returns the canonical name of an encoding, or "".
func nameOf(enc encoding.Encoding) string {
	name, err := ianaindex.MIME.Name(enc)
	if err != nil || name == "" {
		name, _ = htmlindex.Name(enc)
	}
	return strings.ToLower(name)
}

// Lookup returns the charset called name. It knows the names of IANA's registry and
// the labels of the WHATWG Encoding standard, in this order, and those of Python's
// codecs that differ in punctuation only; case does not count. The error names the
// closest one, if one is close.
//
// iso-8859-1 and ascii mean what they say, not windows-1252 as on the web.
func Lookup(name string) (Charset, error) {
	if name == "" || name == utf8Name {
		return Charset{}, nil
	}
	known, short := charsets(), squeeze(name)
	if cs, ok := known[short]; ok {
		return cs, nil
	}
	for _, spelling := range []string{name, short} {
		for _, find := range []func(string) (encoding.Encoding, error){ianaindex.MIME.Encoding, htmlindex.Get} {
			if enc, err := find(spelling); err == nil && enc != nil {
				if cs, ok := known[squeeze(nameOf(enc))]; ok {
					return cs, nil
				}
			}
		}
	}
	if near, ok := nearest.Word(short, slices.Sorted(maps.Keys(known))); ok {
		return Charset{}, fmt.Errorf("encoding %q is not known; did you mean %q?", name, known[near].Name())
	}
	return Charset{}, fmt.Errorf("encoding %q is not known; use an IANA name such as utf-8, utf-16, windows-1252 or shift_jis", name)
}

// mustLookup returns a charset by its canonical name.
func mustLookup(name string) Charset { return charsets()[squeeze(name)] }

// squeeze reduces a name to its letters and digits in lower case, the loose
// matching of Unicode Technical Standard #22, so that latin-1, Latin_1 and
// LATIN1 are one.
func squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// boms lists the byte order marks (Unicode 16.0, section 23.8). UTF-32LE comes
// before UTF-16LE, whose mark is a prefix of its own.
var boms = [...]struct{ mark, charset string }{
	{"\xEF\xBB\xBF", utf8Name},
	{"\xFF\xFE\x00\x00", utf32leName},
	{"\x00\x00\xFE\xFF", utf32beName},
	{"\xFF\xFE", utf16leName},
	{"\xFE\xFF", utf16beName},
}

// resolve returns the charset that a file beginning with head is in, and the
// length of the byte order mark to skip. A mark overrules UTF-8, decides the
// byte order of utf-16 and utf-32, and is skipped where it only confirms what
// was asked for; any other charset is taken at its word.
func (c Charset) resolve(head []byte) (Charset, int) {
	name, length := "", 0
	for _, b := range boms {
		if bytes.HasPrefix(head, []byte(b.mark)) {
			name, length = b.charset, len(b.mark)
			break
		}
	}
	switch {
	case name == c.Name():
		return c, length
	case name != "" && (c.isUTF8() || name == c.name+"le" || name == c.name+"be"):
		return mustLookup(name), length
	case c.name == utf16Name:
		return byteOrder(head, 2, utf16leName, utf16beName), 0
	case c.name == utf32Name:
		return byteOrder(head, 4, utf32leName, utf32beName), 0
	}
	return c, 0
}

// byteOrder guesses the byte order of UTF-16 or UTF-32 without a mark: the high byte
// of most characters of most languages is the more often zero one. In doubt it is
// little-endian, as the WHATWG Encoding standard has it.
func byteOrder(head []byte, unit int, little, big string) Charset {
	first, last := 0, 0
	for i, b := range head {
		switch {
		case b != 0:
		case i%unit == 0:
			first++
		case i%unit == unit-1:
			last++
		}
	}
	if first > last {
		return mustLookup(big)
	}
	return mustLookup(little)
}

const replacement = "\uFFFD"

// decoder turns bytes of one charset into UTF-8. The decoders of x/text write
// U+FFFD where they meet what they cannot decode; this one tells such a place
// from a U+FFFD that the text really has.
type decoder struct {
	t       transform.Transformer
	genuine []byte // U+FFFD as this charset encodes it, nil if it cannot
}

func newDecoder(cs Charset) decoder {
	enc := cs.enc
	if enc == nil {
		enc = unicode.UTF8
	}
	d := decoder{t: enc.NewDecoder().Transformer}
	if b, err := enc.NewEncoder().Bytes([]byte(replacement)); err == nil && len(b) > 1 {
		d.genuine = b
	}
	return d
}

// decode returns src, which must hold whole characters, as UTF-8, and the place in it
// of what cannot be decoded, or -1. The text shares the memory of src if that is UTF-8.
func decode(cs Charset, src []byte) (text []byte, bad int) {
	if cs.isUTF8() && utf8.Valid(src) {
		return src, -1
	}
	d := newDecoder(cs)
	text, used, err := transform.Bytes(d.t, src)
	if bad = d.undecodable(text, src[:used]); bad < 0 && err != nil {
		bad = used
	}
	return text, bad
}

// decodePrefix decodes as much of src as gives at most limit bytes, and leaves alone
// a character that src ends in the middle of. It returns the text, how many bytes of
// src it stands for, and what decode returns as bad.
func decodePrefix(cs Charset, src []byte, limit int) (text []byte, used, bad int) {
	d := newDecoder(cs)
	text = make([]byte, limit)
	// The errors are ErrShortDst and ErrShortSrc, both what is asked for.
	n, used, _ := d.t.Transform(text, src, false)
	return text[:n], used, d.undecodable(text[:n], src[:used])
}

// undecodable returns the first place in src that cannot be decoded, or -1. It decodes
// src again up to each U+FFFD in its text, which tells how much of src is before it.
func (d decoder) undecodable(text, src []byte) int {
	d.t.Reset()
	for used := 0; ; {
		i := bytes.Index(text, []byte(replacement))
		if i < 0 {
			return -1
		}
		_, n, _ := d.t.Transform(text[:i], src[used:], true) // which has this text already
		used += n
		if d.genuine == nil || !bytes.HasPrefix(src[used:], d.genuine) {
			return used
		}
		used += len(d.genuine)
		text = text[i+len(replacement):]
	}
}
