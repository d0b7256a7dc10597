// Package textfile turns the bytes of a text file in any charset into UTF-8:
// the whole file at once, or a window of its lines at a cost that does not
// depend on the size of the file.
//
// Nothing here opens a file. A caller hands over an [io.ReaderAt] with its
// size, and may stop a long scan by letting the reader return an error.
package textfile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

const (
	// binaryProbe is how much of a file is looked at for a NUL byte.
	binaryProbe = 8 << 10
	// maxWindow bounds the text of a window, whatever its range says.
	maxWindow = 64 << 20
)

// Decode returns the content of a file as UTF-8 without its byte order mark, and the
// name of the charset it was decoded from, which is that of the byte order mark when
// cs is the default UTF-8. The text shares the memory of raw when the charset is
// UTF-8. The error is a [*BinaryError] or a [*DecodeError].
func Decode(raw []byte, cs Charset) (text []byte, charset string, err error) {
	cs, bom, err := open(raw[:min(len(raw), binaryProbe)], cs)
	if err != nil {
		return nil, "", err
	}
	text, bad := decode(cs, raw[bom:])
	if bad >= 0 {
		offset := bom + bad
		from := offset - offset%sampleSize
		return nil, "", undecodable(cs, int64(offset), raw[from:min(len(raw), from+sampleSize)])
	}
	return text, cs.Name(), nil
}

// open settles on the charset of a file that begins with head, tells how many
// bytes its byte order mark takes, and refuses what is not text.
func open(head []byte, cs Charset) (_ Charset, bom int, err error) {
	cs, bom = cs.resolve(head)
	if cs.width() == 1 {
		if nul := bytes.IndexByte(head, 0); nul >= 0 {
			return cs, 0, &BinaryError{Offset: int64(nul), Likely: guessWide(head)}
		}
	}
	return cs, bom, nil
}

// readAt fills b from off on, and returns fewer bytes only at the end of the
// file, which may have come nearer since its size was asked.
func readAt(r io.ReaderAt, b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		m, err := r.ReadAt(b[n:], off+int64(n))
		n += m
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.ErrNoProgress
		}
	}
	return n, nil
}

// Numbered returns text with the number of each line, padded as by cat -n, and a TAB
// in front of it, and how much of text that is: as many lines as make at most room
// bytes, but at least one. first is the number of the first line.
func Numbered(text []byte, first, room int) (numbered []byte, used int) {
	numbered = make([]byte, 0, len(text)+bytes.Count(text, []byte("\n"))*len("     1\t"))
	for line := range bytes.Lines(text) {
		number, before := strconv.Itoa(first), len(numbered)
		numbered = append(numbered, "      "[min(6, len(number)):]...)
		numbered = append(append(append(numbered, number...), '\t'), line...)
		if len(numbered) > room && used > 0 {
			return numbered[:before], used
		}
		used += len(line)
		first++
	}
	return numbered, used
}

// BinaryError refuses a file with a NUL byte near its beginning.
type BinaryError struct {
	Offset int64  // of the NUL byte
	Likely string // a UTF-16 or UTF-32 charset that fits nevertheless, or ""
}

// Error is a predicate, so that a caller can put the file's name before it and
// the word "is" between: "a.bin is a binary file (...)".
func (e *BinaryError) Error() string {
	if e.Likely == "" {
		return fmt.Sprintf("a binary file (NUL byte at byte %d)", e.Offset)
	}
	return fmt.Sprintf("a binary file (NUL byte at byte %d) unless it is %s: call read_file with encoding=%q", e.Offset, e.Likely, e.Likely)
}

// DecodeError is a sequence of bytes that the charset does not allow.
type DecodeError struct {
	Charset string // the one that was used
	Offset  int64  // from the beginning of the file, in bytes
	Likely  string // a charset the bytes around Offset fit, or ""
}

// Error is a predicate, so that a caller can put the file's name before it and
// the word "is" between: "notes.txt is not valid utf-8 at byte 12; ...".
func (e *DecodeError) Error() string {
	if e.Likely == "" {
		return fmt.Sprintf("not valid %s at byte %d and looks like no other text encoding; "+
			"it may be binary, otherwise call read_file with the right encoding", e.Charset, e.Offset)
	}
	return fmt.Sprintf("not valid %s at byte %d; it looks like %s: call read_file with encoding=%q", e.Charset, e.Offset, e.Likely, e.Likely)
}

// PastEndError says that a range begins after the last line.
type PastEndError struct {
	Offset int // the line that was asked for
	Total  int // how many lines there are
}

func (e *PastEndError) Error() string {
	lines := "lines"
	if e.Total == 1 {
		lines = "line"
	}
	return fmt.Sprintf("offset %d is past the end of the file, which has %d %s", e.Offset, e.Total, lines)
}

// undecodable reports bytes that cs does not allow. The sample is what the
// likely charset is guessed from.
func undecodable(cs Charset, offset int64, sample []byte) error {
	e := &DecodeError{Charset: cs.Name(), Offset: offset, Likely: Guess(sample)}
	if e.Likely == e.Charset {
		e.Likely = ""
	}
	return e
}
