package textfile

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"

	"toolserver/domain/nearest"
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
func (c Charset) newline() string {
	if c.eol == "" {
		return "\n"
	}
	return c.eol
}

// width is the size of a code unit in bytes.
func (c Charset) width() int { return len(c.newline()) }

// Lookup returns the charset called name. It knows the names of Python's
// codecs and of IANA's registry and the labels of the WHATWG Encoding
// standard, in this order, and ignores case. The error is an
// [*UnknownCharsetError].
//
// iso-8859-1 and ascii mean what they say, not windows-1252 as on the web.
func Lookup(name string) (Charset, error) {
	if name == "" || name == utf8Name {
		return Charset{}, nil
	}
	if row, ok := aliases()[squeeze(name)]; ok {
		return row.charset(), nil
	}
	enc, err := ianaindex.MIME.Encoding(name)
	if err != nil || enc == nil {
		enc, err = htmlindex.Get(name)
	}
	if err != nil || enc == encoding.Replacement {
		return Charset{}, &UnknownCharsetError{Name: name, Nearest: nearestName(name)}
	}
	return named(enc), nil
}

// named gives an encoding of an index its canonical name. Where our own table
// has the encoding, its name wins, so that one charset has one name.
func named(enc encoding.Encoding) Charset {
	name, err := ianaindex.MIME.Name(enc)
	if err != nil || name == "" {
		name, err = htmlindex.Name(enc)
	}
	if err != nil {
		name = "x-unnamed"
	}
	if row, ok := aliases()[squeeze(name)]; ok {
		return row.charset()
	}
	return custom(strings.ToLower(name), enc)
}

func custom(name string, enc encoding.Encoding) Charset {
	c := Charset{name: name, enc: enc}
	// An encoder that cannot say what a line feed is leaves the default.
	if eol, err := enc.NewEncoder().String("\n"); err == nil && eol != "\n" {
		c.eol = eol
	}
	return c
}

// squeeze reduces a name to its letters and digits in lower case, the loose
// matching of Unicode Technical Standard #22, so that latin-1, Latin_1 and
// LATIN1 are one.
func squeeze(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteByte(c)
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		}
	}
	return b.String()
}

// nearestName returns the canonical name whose own spelling or alias is closest
// to name, or "" when none is close.
func nearestName(name string) string {
	known := aliases()
	alias, ok := nearest.Word(squeeze(name), slices.Sorted(maps.Keys(known)))
	if !ok {
		return ""
	}
	return known[alias].name
}
