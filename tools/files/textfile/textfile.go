// Package textfile turns the bytes of a text file in any charset into UTF-8:
// the whole file at once, or a window of its lines at a cost that does not
// depend on the size of the file.
//
// Nothing here opens a file. A caller hands over an [io.ReaderAt] with its
// size, and may stop a long scan by letting the reader return an error.
package textfile

import (
	"bytes"
	"io"
)

const (
	// binaryProbe is how much of a file is looked at for a NUL byte.
	binaryProbe = 8 << 10
	// MaxRead is the largest file [Read] takes; [Lines] has no such limit.
	MaxRead = 64 << 20
)

// Read returns a whole file as UTF-8 without its byte order mark, and the name
// of the charset it was decoded from, which is that of the byte order mark
// when cs is the default UTF-8. Valid UTF-8 is read once into one slice of
// exactly size bytes and not copied again. The error is a [*TooLargeError], a
// [*BinaryError], a [*DecodeError] or the reader's own.
func Read(r io.ReaderAt, size int64, cs Charset) (text []byte, charset string, err error) {
	if size > MaxRead {
		return nil, "", &TooLargeError{Size: size}
	}
	raw := make([]byte, max(size, 0))
	n, err := readAt(r, raw, 0)
	if err != nil {
		return nil, "", err
	}
	return Decode(raw[:n], cs)
}

// Decode does for bytes already in memory what [Read] does for a file. The
// text shares the memory of raw when the charset is UTF-8.
func Decode(raw []byte, cs Charset) (text []byte, charset string, err error) {
	cs, bom, err := open(raw[:min(len(raw), binaryProbe)], cs)
	if err != nil {
		return nil, "", err
	}
	body := raw[bom:]
	bad := -1
	if cs.isUTF8() {
		text, bad = body, invalidUTF8(body)
	} else {
		text, bad = newDecoder(cs).append(nil, body)
	}
	if bad >= 0 {
		offset := bom + bad
		from := 0
		if offset >= sampleSize {
			from = offset - offset%sampleSize
		}
		sample := raw[from:min(len(raw), from+sampleSize)]
		return nil, "", undecodable(cs, int64(offset), sample)
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
