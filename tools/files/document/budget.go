package document

import "errors"

// budget is how much text may still be made.
type budget struct {
	left, max int
	err       error
}

// take draws n bytes. Once they are gone, it reports false and sets err.
func (b *budget) take(n int) bool {
	if b.left -= n; b.left < 0 {
		b.left = 0
		b.err = &LimitError{What: "bytes of text", Max: int64(b.max)}
	}
	return b.err == nil
}

func isLimit(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

// block is text made of whole lines.
type block struct {
	text    []byte
	pending []byte // of a paragraph whose end was deleted
}

// line appends a line, after what is pending.
func (b *block) line(prefix, text []byte) {
	b.text = append(b.text, prefix...)
	b.text = append(b.text, b.pending...)
	b.text = append(b.text, text...)
	b.text = append(b.text, '\n')
	b.pending = b.pending[:0]
}

// flush makes what is pending a line.
func (b *block) flush() {
	if len(b.pending) > 0 {
		b.line(nil, nil)
	}
}

// appendFlat appends text on one line: each run of white space in it becomes
// one space, and none is left at its ends.
func appendFlat(dst, text []byte) []byte {
	gap, from := false, len(dst)
	for _, c := range text {
		switch c {
		case ' ', '\t', '\n', '\r':
			gap = true
			continue
		}
		if gap && len(dst) > from {
			dst = append(dst, ' ')
		}
		gap = false
		dst = append(dst, c)
	}
	return dst
}
