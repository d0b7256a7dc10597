package linematch

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A needle is a literal to search for.
type needle struct {
	text []byte // in lower case if fold
	fold bool   // ASCII letters in either case
	rare int    // index of its rarest byte
	any  string // that byte, in both cases if fold
}

// needleIn returns the longest text that is in every match of a pattern; it may be empty.
func needleIn(re *syntax.Regexp) (longest needle) {
	switch re.Op {
	case syntax.OpLiteral:
		longest.fold = re.Flags&syntax.FoldCase != 0
		unsure := func(r rune) bool { // U+FFFD matches invalid bytes, and characters beyond ASCII match k and s
			return r == utf8.RuneError || longest.fold && (r >= utf8.RuneSelf || r == 'k' || r == 's')
		}
		text := string(re.Rune)
		if longest.fold {
			text = strings.ToLower(text)
		}
		for piece := range strings.FieldsFuncSeq(text, unsure) {
			if len(piece) > len(longest.text) {
				longest.text = []byte(piece)
			}
		}
		for i, b := range longest.text {
			if i == 0 || rarity(b) > rarity(longest.text[longest.rare]) {
				longest.rare, longest.any = i, string(longest.text[i:i+1])
			}
		}
		if longest.fold {
			longest.any += strings.ToUpper(longest.any)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, part := range re.Sub {
			if n := needleIn(part); len(n.text) > len(longest.text) {
				longest = n
			}
		}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needleIn(re.Sub[0])
		}
	}
	return longest
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

// find returns where the needle is next at or after from, or -1. It looks for its rarest byte, which for most text is faster than the
// library's search by the first. Next is where that comes next in either case, so that nothing is searched for it twice.
func (n *needle) find(buf []byte, from int, next *[2]int) int {
	for at := from + n.rare; ; at++ {
		for i := range n.any {
			if next[i] < at {
				next[i] = len(buf)
				if found := bytes.IndexByte(buf[min(at, len(buf)):], n.any[i]); found >= 0 {
					next[i] = at + found
				}
			}
		}
		at = min(next[0], next[len(n.any)-1])
		start := at - n.rare
		if start+len(n.text) > len(buf) {
			return -1
		}
		if found := buf[start : start+len(n.text)]; bytes.Equal(found, n.text) || n.fold && bytes.EqualFold(found, n.text) {
			return start
		}
	}
}
