package textfile

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

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
