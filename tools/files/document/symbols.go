package document

import (
	"strconv"
	"strings"
)

// symbol returns the character of w:sym, given by its font and hexadecimal
// code. Symbol fonts have codes of their own, F000 to F0FF, of which those
// that occur in texts are known; another one is U+FFFD.
func symbol(font, char string) string {
	code, err := strconv.ParseUint(char, 16, 32)
	if err != nil || code > 0x10FFFF {
		return "\uFFFD"
	}
	if code < 0xE000 || code > 0xF8FF {
		if code < 0x100 && isSymbolFont(font) {
			return symbol(font, strconv.FormatUint(code+0xF000, 16))
		}
		return string(rune(code))
	}
	c := byte(code)
	if strings.EqualFold(font, "Symbol") {
		return adobeSymbol(c)
	}
	return wingding(c)
}

func isSymbolFont(font string) bool {
	return strings.EqualFold(font, "Symbol") || strings.HasPrefix(strings.ToLower(font), "wingdings")
}

// adobeSymbol maps the Symbol font, whose letters are Greek in the order of
// the Latin ones they share a key with.
func adobeSymbol(c byte) string {
	const (
		upper = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
		lower = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
	)
	switch {
	case c >= 'A' && c <= 'Z':
		return string([]rune(upper)[c-'A'])
	case c >= 'a' && c <= 'z':
		return string([]rune(lower)[c-'a'])
	}
	switch c {
	case 0xA3:
		return "≤"
	case 0xA5:
		return "∞"
	case 0xAB:
		return "↔"
	case 0xAC:
		return "←"
	case 0xAD:
		return "↑"
	case 0xAE:
		return "→"
	case 0xAF:
		return "↓"
	case 0xB0:
		return "°"
	case 0xB1:
		return "±"
	case 0xB3:
		return "≥"
	case 0xB4:
		return "×"
	case 0xB7:
		return "•"
	case 0xB8:
		return "÷"
	case 0xB9:
		return "≠"
	case 0xBB:
		return "≈"
	case 0xCE:
		return "∈"
	case 0xDE:
		return "⇒"
	case 0xE5:
		return "∑"
	}
	if c >= 0x20 && c < 0x40 {
		return string(rune(c))
	}
	return "\uFFFD"
}

// wingding maps the characters of Wingdings used as check marks, bullets and
// arrows.
func wingding(c byte) string {
	switch c {
	case 0x4A:
		return "☺"
	case 0x6C, 0x9F:
		return "●"
	case 0x6E, 0xA7:
		return "■"
	case 0x6F, 0xA8, 0x71, 0x72:
		return "☐"
	case 0xB7:
		return "•"
	case 0xD8:
		return "➢"
	case 0xDF:
		return "←"
	case 0xE0, 0xE8:
		return "→"
	case 0xFB, 0xFD:
		return "✗"
	case 0xFC:
		return "✓"
	case 0xFE:
		return "☑"
	case 0x78, 0x54:
		return "☒"
	}
	return "\uFFFD"
}
