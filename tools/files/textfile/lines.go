package textfile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// DefaultMaxBytes bounds the text of a window when its range does not say.
const DefaultMaxBytes = 256 << 10

// Range says which lines to read.
type Range struct {
	// Offset is the first line, counted from 1; 0 is 1. A negative one counts
	// from the end: -10 begins ten lines before it.
	Offset int
	// Limit is the most lines to return; 0 or less means no limit but MaxBytes.
	Limit int
	// MaxBytes is the most UTF-8 to return, without the marker of a line that
	// is cut; 0 or less means DefaultMaxBytes, and maxWindow is the most.
	MaxBytes int
}

// Window is a run of lines.
//
// Start and End are the numbers of its first and last line. When it was asked
// for by a negative offset and the file is too long to count the lines in
// front, they are negative and count from the end: -1 is the last line.
type Window struct {
	Text       []byte // UTF-8, line ends as in the file, no byte order mark
	Charset    string // what it was decoded from
	Start, End int    // both 0 for an empty file
	TotalLines int    // of the file; -1 when counting them would cost too much
	More       bool   // lines follow
	NextOffset int    // of the range that goes on after this one; 0 without More
	Cut        bool   // the only line was longer than MaxBytes and ends in a marker
}

// Lines returns the lines of a file of the given size that rg names, decoded
// as [Decode] does. Windows that follow one another, each from the NextOffset
// of the last, concatenate to exactly the text of the file, unless a line is
// longer than MaxBytes: it makes a window of its own, is cut at a character
// and ends in a marker that tells its length.
//
// A line ends with a line feed; what precedes it, such as a carriage return,
// belongs to the line. Memory is bounded by MaxBytes and some 256 KiB, however
// deep the range lies and however long a line is. Only the lines returned are
// decoded, so a [*DecodeError] is always about one of them; the other errors
// are [*BinaryError], [*PastEndError] and those of r.
func Lines(r io.ReaderAt, size int64, cs Charset, rg Range) (Window, error) {
	if rg.MaxBytes <= 0 {
		rg.MaxBytes = DefaultMaxBytes
	}
	rg.MaxBytes = min(rg.MaxBytes, maxWindow)
	size = max(size, 0)
	head := make([]byte, min(size, binaryProbe))
	n, err := readAt(r, head, 0)
	if err != nil {
		return Window{}, err
	}
	if n < len(head) {
		size = int64(n)
	}
	cs, bom, err := open(head[:n], cs)
	if err != nil {
		return Window{}, err
	}
	s := &scanner{r: r, begin: int64(bom), end: size, nl: cs.newline()}
	w := Window{Charset: cs.Name(), TotalLines: -1}
	pos, err := w.seek(s, rg.Offset)
	if err != nil {
		return Window{}, err
	}
	if w.Start == 0 {
		return w, nil
	}
	return w, w.fill(s, cs, pos, rg)
}

// seek finds the position of the first line and sets Start, and TotalLines if
// it comes to know it. Start stays 0 for an empty file.
func (w *Window) seek(s *scanner, offset int) (pos int64, err error) {
	if s.begin >= s.end {
		w.TotalLines = 0
		if offset > 1 {
			err = &PastEndError{Offset: offset}
		}
		return s.begin, err
	}
	if offset < 0 {
		return w.seekTail(s, -max(offset, -math.MaxInt))
	}
	w.Start = max(offset, 1)
	pos, passed, open, err := s.skip(s.begin, w.Start-1)
	if err != nil || pos < s.end {
		return pos, err
	}
	if open {
		passed++
	}
	return pos, &PastEndError{Offset: offset, Total: passed}
}

func (w *Window) seekTail(s *scanner, n int) (int64, error) {
	pos, lines, err := s.tail(n)
	if err != nil {
		return 0, err
	}
	switch {
	case pos == s.begin:
		w.Start, w.TotalLines = 1, lines
	case pos-s.begin <= countAhead:
		before, err := s.count(s.begin, pos)
		if err != nil {
			return 0, err
		}
		w.Start, w.TotalLines = before+1, before+lines
	default:
		w.Start = -lines
	}
	return pos, nil
}

// fill reads the lines from pos on.
func (w *Window) fill(s *scanner, cs Charset, pos int64, rg Range) error {
	raw, err := s.gather(pos, rg.Limit, rg.MaxBytes)
	if err != nil {
		return err
	}
	p, err := take(cs, raw, pos, pos+int64(len(raw)) == s.end, rg.MaxBytes)
	if err != nil {
		return err
	}
	w.Text, w.End = p.text, w.Start+p.lines-1
	next := pos + int64(p.used)
	if p.cut {
		w.Cut, w.End = true, w.Start
		if next, _, _, err = s.skip(next, 1); err != nil {
			return err
		}
		w.Text = fmt.Appendf(w.Text, " [line cut: %d of its %d bytes shown]\n", p.used, next-pos)
	}
	w.More = next < s.end
	if w.More {
		w.NextOffset = w.End + 1
	}
	return w.countRest(s, next)
}

// countRest sets TotalLines if what follows the window is short enough to be
// looked at.
func (w *Window) countRest(s *scanner, next int64) error {
	if w.TotalLines >= 0 || w.Start < 0 || s.end-next > countAhead {
		return nil
	}
	rest, err := s.count(next, s.end)
	w.TotalLines = w.End + rest
	return err
}

// gather returns the raw bytes from pos to the end of the limit-th line, or as
// many as can make maxBytes of text if that comes first: text has at least one byte of
// UTF-8 for each code unit.
func (s *scanner) gather(pos int64, limit, maxBytes int) ([]byte, error) {
	raw := make([]byte, min(int64(maxBytes)*int64(len(s.nl)), s.end-pos))
	n, err := readAt(s.r, raw, pos)
	if n < len(raw) { // the file shrank
		s.end = pos + int64(n)
	}
	end := 0
	for range limit {
		if end = s.nl.next(raw[:n], end); end < 0 {
			break
		}
	}
	if limit <= 0 || end < 0 {
		end = n
	}
	return raw[:end], err
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
	nl := cs.newline()
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
	d, nl := newDecoder(cs), cs.newline()
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
