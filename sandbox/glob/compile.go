package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	errOpenBracket = errors.New("'[' without ']' (write \\[ for the character itself)")
	errLastEscape  = errors.New("'\\' at the end escapes nothing (write \\\\ for the character itself)")
)

// Gitignore compiles a pattern of a .gitignore file, without its "!" and its
// last slash, as git reads it: characters are bytes, and braces mean themselves.
func Gitignore(s string) (*Pattern, error) {
	return compile(strings.TrimPrefix(s, "/"), strings.Contains(s, "/"), true)
}

// compile parses a pattern without braces.
func compile(s string, isPath, git bool) (*Pattern, error) {
	p := &Pattern{Path: isPath, bytes: git}
	first := 0 // where a ** is at the start of a path segment, besides after a slash
	if git {
		first = max(strings.IndexAny(s, `*?[\`), 0) // git compares what is before it separately
	}
	for i := 0; i < len(s); {
		n := 1
		switch s[i] {
		case '\\':
			if n = 2; i+1 == len(s) {
				return nil, errLastEscape
			}
			p.literal(s[i+1 : i+2])
		case '?':
			p.tokens = append(p.tokens, token{op: opAny})
		case '[':
			var c *class
			var err error
			if c, n, err = parseClass(s[i:], git); err != nil {
				return nil, err
			}
			p.tokens = append(p.tokens, token{op: opClass, class: c})
		case '*':
			n = p.stars(s[i:], isPath && (i == first || i > 0 && s[i-1] == '/'))
		default:
			if n = strings.IndexAny(s[i:], `\?[*`); n < 0 {
				n = len(s) - i
			}
			p.literal(s[i : i+n])
		}
		i += n
	}
	p.simplify()
	return p, nil
}

// stars parses the asterisks that s starts with and returns how much of s they
// take. At the start of a path segment two are any directories.
func (p *Pattern) stars(s string, atSegment bool) int {
	rest := strings.TrimLeft(s, "*")
	n := len(s) - len(rest)
	if n > 1 && atSegment {
		if rest == "" {
			p.tokens = append(p.tokens, token{op: opRest})
			return n
		}
		if after := strings.TrimPrefix(rest, `\`); after != "" && after[0] == '/' {
			p.tokens = append(p.tokens, token{op: opDirs})
			return len(s) - len(after) + 1
		}
	}
	if k := len(p.tokens); k == 0 || p.tokens[k-1].op != opStar {
		p.tokens = append(p.tokens, token{op: opStar})
	}
	return n
}

// literal adds text to the tokens, joined with a literal before it.
func (p *Pattern) literal(text string) {
	if n := len(p.tokens); n > 0 && p.tokens[n-1].op == opLiteral {
		p.tokens[n-1].text += text
		return
	}
	p.tokens = append(p.tokens, token{op: opLiteral, text: text})
}

// simplify finds what lets callers decide without matching the whole pattern.
func (p *Pattern) simplify() {
	if p.Path && len(p.tokens) > 1 && p.tokens[0].op == opDirs && p.oneName(p.tokens[1:]) {
		p.Path, p.tokens = false, p.tokens[1:] // **/*.go looks at nothing but the base name
	}
	n := len(p.tokens) - 1
	if n < 0 || p.tokens[n].op != opLiteral {
		return
	}
	p.Tail = p.tokens[n].text[strings.LastIndexByte(p.tokens[n].text, '/')+1:]
}

func (p *Pattern) oneName(tokens []token) bool {
	for _, t := range tokens {
		if t.op == opDirs || t.op == opRest || strings.Contains(t.text, "/") {
			return false
		}
	}
	return true
}

// A class is a set of characters in brackets.
type class struct {
	negated bool
	ranges  [][2]rune
}

func (c *class) has(r rune) bool {
	for _, x := range c.ranges {
		if x[0] <= r && r <= x[1] {
			return !c.negated
		}
	}
	return c.negated
}

// sets are the ranges of the named sets, all of ASCII characters.
var sets = map[string]string{
	"alnum": "azAZ09", "alpha": "azAZ", "digit": "09", "lower": "az", "upper": "AZ", "xdigit": "09afAF", "blank": "  \t\t", "space": "  \t\r",
	"punct": "!/:@[`{~", "cntrl": "\x00\x1f\x7f\x7f", "graph": "!~", "print": " ~",
}

// parseClass parses the class at the start of s and returns its length. The
// syntax is that of git: ! or ^ negates, a ] that comes first is a member,
// \ escapes, [:alpha:] and the like are named sets.
func parseClass(s string, git bool) (c *class, n int, err error) {
	c = &class{}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		c.negated = true
		i++
	}
	last := rune(-1) // what a '-' may start a range from
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return c, i + 1, nil
		}
		if name, ok := setName(s[i:]); ok {
			set := sets[name]
			if set == "" {
				return nil, 0, fmt.Errorf("unknown set \"[:%s:]\"", name)
			}
			for ; set != ""; set = set[2:] {
				c.ranges = append(c.ranges, [2]rune{rune(set[0]), rune(set[1])})
			}
			i, last = i+len("[::]")+len(name), -1
			continue
		}
		isRange := s[i] == '-' && last >= 0 && i+1 < len(s) && s[i+1] != ']'
		if isRange {
			i++
		}
		if s[i] == '\\' {
			i++
		}
		if i == len(s) {
			break
		}
		r, n := rune(s[i]), 1
		if !git {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		if !isRange {
			c.ranges, last = append(c.ranges, [2]rune{r, r}), r
			continue
		}
		if r < last && !git {
			return nil, 0, fmt.Errorf("range %q goes backwards", string(last)+"-"+string(r))
		}
		c.ranges, last = append(c.ranges, [2]rune{last, r}), -1
	}
	return nil, 0, errOpenBracket
}

// setName returns the name in a [:name:] that s starts with.
func setName(s string) (name string, ok bool) {
	if s, ok = strings.CutPrefix(s, "[:"); !ok {
		return "", false
	}
	name, _, ok = strings.Cut(s, "]")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ":")
}
