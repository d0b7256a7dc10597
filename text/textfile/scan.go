package textfile

import (
	"bytes"
	"io"
)

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
