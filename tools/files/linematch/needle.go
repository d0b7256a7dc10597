package linematch

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A needle is a literal to search for.
type needle struct {
	text   []byte // in lower case if fold
	fold   bool   // ASCII letters in either case
	exotic bool   // folded k or s, which U+212A and U+017F also match
	rare   int    // index of its rarest byte
	chars  int
	bits   int // how rare it is: one place in 2^bits, by estimate
}

func newNeedle(chars []char) needle {
	n := needle{chars: len(chars)}
	for _, c := range chars {
		n.fold = n.fold || c.fold
	}
	for _, c := range chars {
		r := c.r
		if n.fold {
			r = rune(lower(byte(r)))
			n.exotic = n.exotic || c.fold && (r == 'k' || r == 's')
		}
		n.text = utf8.AppendRune(n.text, r)
	}
	best := 0
	for i, b := range n.text {
		w := rarity(b)
		if n.fold && b >= 'a' && b <= 'z' {
			w-- // two letters to look for
		}
		n.bits = min(n.bits+w, maxBits)
		if w > best {
			best, n.rare = w, i
		}
	}
	return n
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// rarity is a rough estimate for source code and prose: the byte is one in 2^n.
func rarity(b byte) int {
	switch {
	case b == ' ':
		return 3
	case strings.IndexByte("etaoinsr", b) >= 0:
		return 4
	case strings.IndexByte("jqxzkv", b) >= 0:
		return 8
	case b >= 'a' && b <= 'z', strings.IndexByte("\t.,()_-/\"'=:;", b) >= 0:
		return 5
	case b >= '0' && b <= '9':
		return 6
	}
	return 7
}

// A cursor remembers where the rare byte of a needle comes next, so that no
// part of the buffer is searched for it twice.
type cursor struct {
	low, high int // next in lower and in upper case; high is unused without fold
	hit       int // the last result
}

// find returns where the needle is next at or after from, len(buf) if nowhere.
func (n *needle) find(buf []byte, from int, c *cursor) int {
	if c.hit >= from {
		return c.hit
	}
	if !n.fold {
		c.hit = n.findPlain(buf, from)
		return c.hit
	}
	low := n.text[n.rare]
	high := low
	if low >= 'a' && low <= 'z' {
		high -= 'a' - 'A'
	}
	for at := from + n.rare; ; at++ {
		if c.low < at {
			c.low = indexByte(buf, at, low)
		}
		if high == low {
			c.high = c.low
		} else if c.high < at {
			c.high = indexByte(buf, at, high)
		}
		at = min(c.low, c.high)
		if at >= len(buf) {
			c.hit = len(buf)
			return c.hit
		}
		if start := at - n.rare; n.fits(buf[start:]) {
			c.hit = start
			return start
		}
	}
}

// findPlain looks for the rarest byte, which for most text is faster than the
// library's search by the first; that one takes over where the guess is wrong.
func (n *needle) findPlain(buf []byte, from int) int {
	at := from + n.rare
	for misses := 0; misses < 16+(at-from)/32; misses++ {
		at = indexByte(buf, at, n.text[n.rare])
		if at >= len(buf) {
			return len(buf)
		}
		// Comparing the last byte first spares most calls.
		start, end := at-n.rare, at-n.rare+len(n.text)
		if end > len(buf) {
			return len(buf)
		}
		if buf[end-1] == n.text[len(n.text)-1] && bytes.Equal(buf[start:end], n.text) {
			return start
		}
		at++
	}
	start := min(at-n.rare, len(buf))
	if i := bytes.Index(buf[start:], n.text); i >= 0 {
		return start + i
	}
	return len(buf)
}

func (n *needle) fits(b []byte) bool {
	if last := len(n.text) - 1; len(b) <= last || lower(b[last]) != n.text[last] {
		return false
	}
	for i, c := range n.text {
		if lower(b[i]) != c {
			return false
		}
	}
	return true
}

// indexByte returns where c is next at or after from, len(buf) if nowhere.
func indexByte(buf []byte, from int, c byte) int {
	if from < len(buf) {
		if i := bytes.IndexByte(buf[from:], c); i >= 0 {
			return from + i
		}
	}
	return len(buf)
}

// hasExotic reports whether the text has one of the characters outside ASCII
// that fold to a letter in it.
func hasExotic(buf []byte) bool {
	return bytes.Contains(buf, []byte("\u017F")) || bytes.Contains(buf, []byte("\u212A"))
}
