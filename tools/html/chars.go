package html

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classes of bytes: what stands for itself, white space, what is removed and the parts of longer characters.
const (
	plain = iota
	blank
	control
	multi
)

var classes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			t[c] = blank
		case c < ' ' || c == 0x7F:
			t[c] = control
		case c >= utf8.RuneSelf:
			t[c] = multi
		}
	}
	return t
}()

// glued reports whether two characters in different elements would be read as one word.
func glued(before, r rune) bool {
	if unicode.IsSpace(before) || strings.ContainsRune("([{<«“‘/", before) {
		return false
	}
	return !strings.ContainsRune(" .,;:!?)]}>»”’/%", r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == ')' }

// oddSpace reports whether a character is one of the many that are a space to a reader.
func oddSpace(r rune) bool {
	return r >= 0x85 && (unicode.IsSpace(r) || r == 0x2800)
}

// unseen reports whether a character has no look of its own: soft hyphens, zero-width and tag characters, and marks that turn the
// direction of text around, with which it reads differently than it looks.
func unseen(r rune) bool {
	switch {
	case r < 0xA0:
		return r >= 0x80
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x180E, r == 0xFEFF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return true
	case r == 0x200B, 0x200E <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F, 0xFFF9 <= r && r <= 0xFFFB:
		return true
	}
	return 0xE0000 <= r && r <= 0xE007F
}

// joiner reports whether a character is one of the two that join or part others, which Persian, Indic scripts and emoji need.
func joiner(r rune) bool { return r == 0x200C || r == 0x200D }
