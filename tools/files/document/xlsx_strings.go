package document

import (
	"bytes"
	"strconv"
)

// sharedStrings are the texts that cells refer to by number, one after the
// other in one piece of memory, as there may be millions.
type sharedStrings struct {
	data []byte
	ends []uint32
}

func (s *sharedStrings) read(a *archive, part string) error {
	return a.each(part, func(t *tokens, e element) error {
		if e.name != "si" {
			return nil
		}
		from := len(s.data)
		data, err := richText(t, s.data)
		s.data = append(data[:from], unescape(data[from:])...)
		s.ends = append(s.ends, uint32(len(s.data)))
		return err
	})
}

// at returns the n-th string, counted from 0, or nothing if there is none.
func (s *sharedStrings) at(n int) []byte {
	if n < 0 || n >= len(s.ends) {
		return nil
	}
	from := uint32(0)
	if n > 0 {
		from = s.ends[n-1]
	}
	return s.data[from:s.ends[n]]
}

// richText appends the text of si or is: that of t and of the runs r, without
// the phonetic reading rPh.
func richText(t *tokens, b []byte) ([]byte, error) {
	err := t.children(func(t *tokens, e element) (err error) {
		switch e.name {
		case "t":
			b, err = t.text(b)
		case "r":
			b, err = richText(t, b)
		}
		return err
	})
	return b, err
}

// unescape replaces _xHHHH_, which stands for a character that XML cannot hold
// (ECMA-376 part 1, 22.9.2.19), in place.
func unescape(b []byte) []byte {
	const length = len("_x000D_")
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '_' && i+length <= len(b) && b[i+1] == 'x' && b[i+length-1] == '_' {
			if code, err := strconv.ParseUint(string(b[i+2:i+length-1]), 16, 16); err == nil {
				// At most three bytes replace seven, so nothing unread is lost.
				out = append(out, string(rune(code))...)
				i += length - 1
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}
