package textfile

import (
	"bytes"
	"strings"
)

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
