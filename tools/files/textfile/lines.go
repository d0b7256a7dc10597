package textfile

import (
	"fmt"
	"io"
	"math"
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
	// is cut; 0 or less means DefaultMaxBytes, and MaxRead is the most.
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
// like [Read] does. Windows that follow one another, each from the NextOffset
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
	rg.MaxBytes = min(rg.MaxBytes, MaxRead)
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
	s := newScanner(r, int64(bom), size, newline(cs.newline()))
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
