package textfile

import (
	"bytes"
	"io"
	"strings"
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

// skip moves forward from pos over n line feeds. It returns where it got to,
// which is the end of the file if there are fewer, how many it passed, and
// whether the last line of the file, without a line feed, is among what it
// passed.
func (s *scanner) skip(pos int64, n int) (to int64, passed int, open bool, err error) {
	for passed < n {
		c, err := s.chunk(pos, s.end)
		if err != nil {
			return pos, passed, open, err
		}
		if len(c) == 0 {
			return pos, passed, open, nil
		}
		if in := s.nl.count(c); passed+in < n {
			passed += in
			open = s.nl.last(c) != len(c)
			pos += int64(len(c))
			continue
		}
		at := 0
		for ; passed < n; passed++ {
			at = s.nl.next(c, at)
		}
		return pos + int64(at), passed, false, nil
	}
	return pos, passed, false, nil
}

// count returns the number of lines from pos, the beginning of one, to the
// position to or the end of the file.
func (s *scanner) count(pos, to int64) (int, error) {
	n, open := 0, false
	for pos < to {
		c, err := s.chunk(pos, to)
		if err != nil {
			return 0, err
		}
		if len(c) == 0 {
			break
		}
		n += s.nl.count(c)
		open = s.nl.last(c) != len(c)
		pos += int64(len(c))
	}
	if open {
		n++
	}
	return n, nil
}

// tail returns where the last n lines begin, and how many lines that is when
// the file has fewer. It reads backwards from the end.
func (s *scanner) tail(n int) (pos int64, lines int, err error) {
	unit := int64(len(s.nl))
	for hi := s.end; hi > s.begin; {
		// Reading begins at a character even if the end does not.
		lo := max(s.begin, hi-(hi-s.begin)%unit-chunkSize)
		if lo+chunkSize < hi {
			lo += unit
		}
		c, err := s.chunk(lo, hi)
		if err != nil {
			return 0, 0, err
		}
		if hi > lo+int64(len(c)) { // the file shrank
			hi = s.end
			if hi <= lo {
				continue
			}
		}
		if hi == s.end {
			// The last line counts with or without its line feed.
			lines++
			if s.nl.last(c) == len(c) {
				c = c[:len(c)-int(unit)]
			}
		}
		if in := s.nl.count(c); lines+in <= n {
			lines += in
			hi = lo
			continue
		}
		for ; lines < n; lines++ {
			c = c[:s.nl.last(c)-int(unit)]
		}
		return lo + int64(s.nl.last(c)), lines, nil
	}
	return s.begin, lines, nil
}

// newline finds line feeds in raw bytes of a charset: a line feed as that
// charset encodes it, at a multiple of its own size. No charset we decode has
// the byte of a line feed inside another character.
//
// Chunks given to its methods begin at a character.
type newline string

// next returns the index just after the first line feed at or after from, a
// multiple of the size, or -1.
func (nl newline) next(chunk []byte, from int) int {
	if len(nl) == 1 {
		if i := bytes.IndexByte(chunk[from:], nl[0]); i >= 0 {
			return from + i + 1
		}
		return -1
	}
	for from < len(chunk) {
		i := bytes.IndexByte(chunk[from:], '\n')
		if i < 0 {
			return -1
		}
		at := (from + i) / len(nl) * len(nl)
		if strings.HasPrefix(string(chunk[at:min(len(chunk), at+len(nl))]), string(nl)) {
			return at + len(nl)
		}
		from = at + len(nl)
	}
	return -1
}

// last returns the index just after the last line feed in chunk, or 0.
func (nl newline) last(chunk []byte) int {
	if len(nl) == 1 {
		return bytes.LastIndexByte(chunk, nl[0]) + 1
	}
	for at := len(chunk)/len(nl)*len(nl) - len(nl); at >= 0; at -= len(nl) {
		if string(chunk[at:at+len(nl)]) == string(nl) {
			return at + len(nl)
		}
	}
	return 0
}

// count returns the number of line feeds in chunk.
func (nl newline) count(chunk []byte) int {
	if len(nl) == 1 {
		return bytes.Count(chunk, []byte(nl))
	}
	n := 0
	for at := nl.next(chunk, 0); at >= 0; at = nl.next(chunk, at) {
		n++
	}
	return n
}
