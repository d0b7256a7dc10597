package walk

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A class is a set of characters in brackets.
type class struct {
	negated bool
	low     [4]uint64 // characters below 256
	ranges  [][2]rune // the others
}

func (c *class) has(r rune) bool {
	in := false
	if r < 256 {
		in = c.low[r>>6]&(1<<(r&63)) != 0
	} else {
		for _, x := range c.ranges {
			in = in || x[0] <= r && r <= x[1]
		}
	}
	return in != c.negated
}

func (c *class) add(lo, hi rune) {
	for r := lo; r <= hi && r < 256; r++ {
		c.low[r>>6] |= 1 << (r & 63)
	}
	if hi >= 256 {
		c.ranges = append(c.ranges, [2]rune{lo, hi})
	}
}

var (
	errOpenBracket = errors.New("'[' without ']' (write \\[ for the character itself)")
	errLastEscape  = errors.New("'\\' at the end escapes nothing (write \\\\ for the character itself)")
)

// parseClass parses the class at the start of s and returns its length. The
// syntax is that of git: ! or ^ negates, a ] that comes first is a member,
// \ escapes, [:alpha:] and the like are sets of ASCII characters.
func parseClass(s string, runes bool) (*class, int, error) {
	c := &class{}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		c.negated = true
		i++
	}
	last := rune(-1) // what a '-' may start a range from
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, errOpenBracket
		}
		switch {
		case s[i] == ']' && !first:
			return c, i + 1, nil
		case s[i] == '-' && last >= 0 && i+1 < len(s) && s[i+1] != ']':
			hi, n, err := classChar(s[i+1:], runes)
			if err != nil {
				return nil, 0, err
			}
			if hi < last && runes {
				return nil, 0, fmt.Errorf("range %q goes backwards", string(last)+"-"+string(hi))
			}
			c.add(last, hi)
			last, i = -1, i+1+n
		case strings.HasPrefix(s[i:], "[:") && namedEnd(s[i:]) > 0:
			n := namedEnd(s[i:])
			if !c.addNamed(s[i+2 : i+n-2]) {
				return nil, 0, fmt.Errorf("unknown set %q", s[i:i+n])
			}
			last, i = -1, i+n
		default:
			r, n, err := classChar(s[i:], runes)
			if err != nil {
				return nil, 0, err
			}
			c.add(r, r)
			last, i = r, i+n
		}
	}
}

// namedEnd returns the length of [:name:] at the start of s, or 0.
func namedEnd(s string) int {
	end := strings.IndexByte(s[2:], ']') + 2
	if end < 3 || s[end-1] != ':' {
		return 0
	}
	return end + 1
}

func classChar(s string, runes bool) (rune, int, error) {
	escape := 0
	if s[0] == '\\' {
		escape = 1
	}
	if s = s[escape:]; s == "" {
		return 0, 0, errOpenBracket
	}
	if !runes {
		return rune(s[0]), escape + 1, nil
	}
	r, n := utf8.DecodeRuneInString(s)
	return r, escape + n, nil
}

func (c *class) addNamed(name string) bool {
	var sets string
	switch name {
	case "alnum":
		sets = "azAZ09"
	case "alpha":
		sets = "azAZ"
	case "digit":
		sets = "09"
	case "lower":
		sets = "az"
	case "upper":
		sets = "AZ"
	case "xdigit":
		sets = "09afAF"
	case "blank":
		sets = "  \t\t"
	case "space":
		sets = "  \t\r"
	case "punct":
		sets = "!/:@[`{~"
	case "cntrl":
		sets = "\x00\x1f\x7f\x7f"
	case "graph":
		sets = "!~"
	case "print":
		sets = " ~"
	default:
		return false
	}
	for i := 0; i < len(sets); i += 2 {
		c.add(rune(sets[i]), rune(sets[i+1]))
	}
	return true
}
