package textfile

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

const replacement = "\uFFFD"

// decoder turns bytes of one charset other than UTF-8 into UTF-8. The decoders
// of x/text write U+FFFD where they meet what they cannot decode; this one
// tells such a place from a U+FFFD that the text really has.
type decoder struct {
	t       transform.Transformer
	genuine []byte // U+FFFD as this charset encodes it, nil if it cannot
}

func newDecoder(cs Charset) *decoder {
	d := &decoder{t: cs.enc.NewDecoder().Transformer}
	if b, err := cs.enc.NewEncoder().Bytes([]byte(replacement)); err == nil && len(b) > 1 {
		d.genuine = b
	}
	return d
}

// append decodes src, which must hold whole characters, and appends it to dst.
// If something cannot be decoded, bad is its place in src and otherwise -1.
func (d *decoder) append(dst, src []byte) (out []byte, bad int) {
	d.t.Reset()
	from := len(dst)
	for rest := src; ; {
		dst = slices.Grow(dst, len(rest)+utf8.UTFMax)
		nDst, nSrc, err := d.t.Transform(dst[len(dst):cap(dst)], rest, true)
		dst = dst[:len(dst)+nDst]
		rest = rest[nSrc:]
		if err == transform.ErrShortDst {
			continue
		}
		if err != nil {
			return dst, len(src) - len(rest)
		}
		break
	}
	if bytes.Contains(dst[from:], []byte(replacement)) {
		return dst, d.locate(src)
	}
	return dst, -1
}

// prefix decodes as much of src as gives at most limit bytes, and leaves alone
// a character that src ends in the middle of. It returns the text, how many
// bytes of src it stands for, and what append returns as bad.
func (d *decoder) prefix(src []byte, limit int) (out []byte, used, bad int) {
	d.t.Reset()
	out = make([]byte, limit)
	// The errors are ErrShortDst and ErrShortSrc, both what is asked for.
	nDst, used, _ := d.t.Transform(out, src, false)
	out = out[:nDst]
	if bytes.Contains(out, []byte(replacement)) {
		return out, used, d.locate(src[:used])
	}
	return out, used, -1
}

// locate finds the first sequence in src that cannot be decoded, or -1. It
// decodes character by character, into a buffer just large enough for one.
func (d *decoder) locate(src []byte) int {
	d.t.Reset()
	var char [16]byte
	for off := 0; off < len(src); {
		nDst, nSrc := 0, 0
		for size := 1; size <= len(char) && nSrc == 0; size++ {
			nDst, nSrc, _ = d.t.Transform(char[:size], src[off:], true)
		}
		if nSrc == 0 {
			return off
		}
		if bytes.Contains(char[:nDst], []byte(replacement)) &&
			!bytes.Equal(src[off:off+nSrc], d.genuine) {
			return off
		}
		off += nSrc
	}
	return -1
}

// invalidUTF8 returns the place of the first byte in b that is not valid
// UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
