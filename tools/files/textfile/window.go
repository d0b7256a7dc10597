package textfile

import (
	"bytes"
	"unicode/utf8"
)

// firstGather is how much is read at first for a window of few lines.
const firstGather = 32 << 10

// gather returns the raw bytes from pos to the end of the limit-th line, or as
// many as can make maxBytes of text if that comes first.
func (s *scanner) gather(pos int64, limit, maxBytes int) ([]byte, error) {
	// Text has at least one byte of UTF-8 for each code unit, so this is all
	// that can be needed.
	most := min(int64(maxBytes)*int64(len(s.nl)), s.end-pos)
	size := most
	if limit > 0 {
		size = min(most, firstGather)
	}
	raw := make([]byte, 0, size)
	lines, from := 0, 0
	for {
		have := len(raw)
		n, err := readAt(s.r, raw[have:cap(raw)], pos+int64(have))
		if err != nil {
			return nil, err
		}
		raw = raw[:have+n]
		if len(raw) < cap(raw) { // the file shrank
			s.end = pos + int64(len(raw))
			most = int64(len(raw))
		}
		for limit > 0 {
			at := s.nl.next(raw, from)
			if at < 0 {
				from = len(raw) / len(s.nl) * len(s.nl)
				break
			}
			from = at
			if lines++; lines == limit {
				return raw[:at], nil
			}
		}
		if int64(len(raw)) >= most {
			return raw, nil
		}
		grown := make([]byte, len(raw), min(most, 4*int64(cap(raw))))
		copy(grown, raw)
		raw = grown
	}
}

// piece is what one window takes of the raw bytes gathered for it.
type piece struct {
	text  []byte
	used  int // raw bytes the text stands for
	lines int
	cut   bool // the text is the beginning of one line
}

// take decodes as many whole lines of raw as make at most maxBytes, or the
// beginning of the first one if that alone makes more. pos is where raw begins
// in the file, and last tells that the file ends with it.
func take(cs Charset, raw []byte, pos int64, last bool, maxBytes int) (piece, error) {
	nl := newline(cs.newline())
	if !last {
		end := nl.last(raw)
		if end == 0 {
			return takePart(cs, raw, pos, maxBytes)
		}
		raw = raw[:end]
	}
	if cs.isUTF8() {
		if bad := invalidUTF8(raw); bad >= 0 {
			return piece{}, undecodable(cs, pos+int64(bad), sampleAt(raw, bad))
		}
		p := piece{text: raw, used: len(raw), lines: bytes.Count(raw, []byte{'\n'})}
		if nl.last(raw) != len(raw) {
			p.lines++
		}
		return p, nil
	}
	return takeDecoded(cs, raw, pos, maxBytes)
}

// takeDecoded is take for a charset other than UTF-8. It goes line by line, as
// a line may begin anywhere a window does.
func takeDecoded(cs Charset, raw []byte, pos int64, maxBytes int) (piece, error) {
	d, nl := newDecoder(cs), newline(cs.newline())
	p := piece{text: make([]byte, 0, min(maxBytes, 2*len(raw)))}
	for p.used < len(raw) {
		end := nl.next(raw, p.used)
		if end < 0 {
			end = len(raw)
		}
		text, bad := d.append(p.text, raw[p.used:end])
		if bad >= 0 {
			bad += p.used
			return piece{}, undecodable(cs, pos+int64(bad), sampleAt(raw, bad))
		}
		if len(text) > maxBytes {
			if p.lines == 0 {
				return takePart(cs, raw[:end], pos, maxBytes)
			}
			break
		}
		p.text, p.used = text, end
		p.lines++
	}
	return p, nil
}

// takePart decodes the beginning of the line that raw begins with.
func takePart(cs Charset, raw []byte, pos int64, maxBytes int) (piece, error) {
	p := piece{lines: 1, cut: true}
	bad := -1
	if cs.isUTF8() {
		p.text = trimPartial(raw[:min(len(raw), maxBytes)])
		p.used = len(p.text)
		bad = invalidUTF8(p.text)
	} else {
		p.text, p.used, bad = newDecoder(cs).prefix(raw, maxBytes)
	}
	if bad >= 0 {
		return piece{}, undecodable(cs, pos+int64(bad), sampleAt(raw, bad))
	}
	return p, nil
}

// trimPartial drops a character at the end of b that is not complete.
func trimPartial(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// sampleAt returns the bytes around the undecodable place bad for a guess.
func sampleAt(raw []byte, bad int) []byte {
	from := max(0, bad-bad%sampleSize)
	return raw[from:min(len(raw), from+sampleSize)]
}
