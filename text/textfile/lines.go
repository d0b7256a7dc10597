package textfile

import (
	"bytes"
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

// seek finds the position of the first line and sets Start, which stays 0 for an
// empty file.
func (w *Window) seek(s *scanner, offset int) (pos int64, err error) {
	if s.begin >= s.end {
		w.TotalLines = 0
		if offset > 1 {
			err = &PastEndError{Offset: offset}
		}
		return s.begin, err
	}
	if offset < 0 {
		w.Start = max(offset, -math.MaxInt+1)
		if pos, err = s.tail(-w.Start); err == nil && pos-s.begin <= countAhead {
			w.Start, err = s.count(s.begin, pos)
			w.Start++
		}
		return pos, err
	}
	w.Start = max(offset, 1)
	if pos, err = s.skip(s.begin, w.Start-1); err != nil || pos < s.end {
		return pos, err
	}
	total, err := s.count(s.begin, s.end)
	if err == nil {
		err = &PastEndError{Offset: offset, Total: total}
	}
	return pos, err
}

// fill reads the lines from pos on.
func (w *Window) fill(s *scanner, cs Charset, pos int64, rg Range) error {
	raw, err := s.gather(pos, rg.Limit, rg.MaxBytes)
	if err != nil {
		return err
	}
	used, err := w.take(cs, raw, pos, pos+int64(len(raw)) == s.end, rg.MaxBytes)
	if err != nil {
		return err
	}
	next := pos + int64(used)
	if w.Cut {
		if next, err = s.skip(next, 1); err != nil {
			return err
		}
		w.Text = fmt.Appendf(w.Text, " [line cut: %d of its %d bytes shown]\n", used, next-pos)
	}
	if w.More = next < s.end; w.More {
		w.NextOffset = w.End + 1
	}
	if w.Start > 0 && s.end-next <= countAhead {
		rest, err := s.count(next, s.end)
		w.TotalLines = w.End + rest
		return err
	}
	return nil
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
	raw = raw[:n]
	if limit > 0 {
		raw = raw[:s.nl.after(raw, limit)]
	}
	return raw, err
}

// take sets the text to as many whole lines of raw as make at most maxBytes, or to the
// beginning of the first one if that alone makes more, and returns how many bytes of
// raw that is. pos is where raw begins in the file, and last tells that the file ends
// with it.
func (w *Window) take(cs Charset, raw []byte, pos int64, last bool, maxBytes int) (used int, err error) {
	nl, whole := cs.newline(), raw
	if !last {
		whole = raw[:nl.last(raw)]
	}
	text, bad := decode(cs, whole)
	if len(text) > maxBytes {
		whole = whole[:nl.after(whole, bytes.Count(text[:maxBytes], []byte("\n")))]
		text, bad = decode(cs, whole)
	}
	w.Text, used, w.End = text, len(whole), w.Start+nl.count(whole)
	if nl.last(whole) == len(whole) {
		w.End--
	}
	if len(whole) == 0 && len(raw) > 0 {
		w.Text, used, bad = decodePrefix(cs, raw[:nl.after(raw, 1)], maxBytes)
		w.Cut, w.End = true, w.Start
	}
	if bad >= 0 {
		from := bad - bad%sampleSize
		return 0, undecodable(cs, pos+int64(bad), raw[from:min(len(raw), from+sampleSize)])
	}
	return used, nil
}

const (
	// chunkSize is how much of a file is held while line feeds are counted.
	// It is a multiple of every code unit.
	chunkSize = 256 << 10
	// countAhead is how much of a file is read only to know how many lines it
	// has, some milliseconds' worth.
	countAhead = 16 << 20
)

// scanner walks over the lines of a file without holding them. Positions are
// bytes from the beginning of the file.
type scanner struct {
	r          io.ReaderAt
	begin, end int64 // of the text, which a byte order mark precedes
	nl         newline
	buf        []byte
}

// chunk returns the text from pos to at most to. It is empty at the end of the
// file, also if that has come nearer in the meantime, and valid until the next
// call.
func (s *scanner) chunk(pos, to int64) ([]byte, error) {
	want := min(to-pos, chunkSize)
	if want <= 0 {
		return nil, nil
	}
	if int64(len(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	n, err := readAt(s.r, s.buf[:want], pos)
	if int64(n) < want {
		s.end = pos + int64(n)
	}
	return s.buf[:n], err
}

// skip returns the position after n line feeds from pos on, or the end of the file
// if there are fewer.
func (s *scanner) skip(pos int64, n int) (int64, error) {
	for n > 0 {
		c, err := s.chunk(pos, s.end)
		if err != nil || len(c) == 0 {
			return pos, err
		}
		if in := s.nl.count(c); in < n {
			n -= in
			pos += int64(len(c))
			continue
		}
		return pos + int64(s.nl.after(c, n)), nil
	}
	return pos, nil
}

// count returns the number of lines from pos, the beginning of one, to the
// position to or the end of the file.
func (s *scanner) count(pos, to int64) (int, error) {
	n, open := 0, 0
	for pos < to {
		c, err := s.chunk(pos, to)
		if err != nil {
			return 0, err
		}
		if len(c) == 0 {
			break
		}
		n += s.nl.count(c)
		if open = 0; s.nl.last(c) != len(c) {
			open = 1
		}
		pos += int64(len(c))
	}
	return n + open, nil
}

// tail returns where the last n lines begin, reading backwards from the end.
func (s *scanner) tail(n int) (int64, error) {
	unit := int64(len(s.nl))
	for hi, left := s.end, n; hi > s.begin; {
		lo := max(s.begin, hi-chunkSize)
		lo += (unit - (lo-s.begin)%unit) % unit // reading begins at a character
		c, err := s.chunk(lo, hi)
		if err != nil {
			return 0, err
		}
		if s.end < hi { // the file shrank
			hi, left = s.end, n
			continue
		}
		if hi == s.end && s.nl.last(c) == len(c) {
			left++ // the last line counts with or without its line feed
		}
		if in := s.nl.count(c); in < left {
			left -= in
			hi = lo
			continue
		}
		for range left - 1 {
			c = c[:s.nl.last(c)-int(unit)]
		}
		return lo + int64(s.nl.last(c)), nil
	}
	return s.begin, nil
}

// newline finds line feeds in raw bytes of a charset: a line feed as that
// charset encodes it, at a multiple of its own size. No charset we decode has
// the byte of a line feed inside another character.
//
// Chunks given to its methods begin at a character.
type newline string

// after returns the index just after the n-th line feed, or the length of chunk if
// there are fewer.
func (nl newline) after(chunk []byte, n int) int {
	at := 0
	for n > 0 {
		i := bytes.Index(chunk[at:], []byte(nl))
		if i < 0 {
			return len(chunk)
		}
		if at += i; at%len(nl) == 0 {
			n--
			at += len(nl)
		} else {
			at++
		}
	}
	return at
}

// last returns the index just after the last line feed in chunk, or 0.
func (nl newline) last(chunk []byte) int {
	for {
		at := bytes.LastIndex(chunk, []byte(nl))
		if at < 0 {
			return 0
		}
		if at%len(nl) == 0 {
			return at + len(nl)
		}
		chunk = chunk[:at+len(nl)-1]
	}
}

// count returns the number of line feeds in chunk.
func (nl newline) count(chunk []byte) (n int) {
	if len(nl) == 1 {
		return bytes.Count(chunk, []byte(nl))
	}
	for at := 0; at+len(nl) <= len(chunk); at += len(nl) {
		if string(chunk[at:at+len(nl)]) == string(nl) {
			n++
		}
	}
	return n
}
