package walk

import "strings"

// A dialect is what differs between the patterns of callers and of git.
type dialect struct {
	runes bool
	path  bool // the pattern is matched against a path, so ** can mean directories
	// start is where a ** counts as being at the start of a path segment besides
	// after a slash. Git compares the literal start of a pattern separately, so
	// for it that is the first special character.
	start int
}

// compile parses a pattern without braces.
func compile(s string, d dialect) (*pattern, error) {
	p := &pattern{runes: d.runes}
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			if i+1 == len(s) {
				return nil, errLastEscape
			}
			p.literal(s[i+1 : i+2])
			i += 2
		case '?':
			p.tokens = append(p.tokens, token{op: opAny})
			i++
		case '[':
			c, n, err := parseClass(s[i:], d.runes)
			if err != nil {
				return nil, err
			}
			p.tokens = append(p.tokens, token{op: opClass, class: c})
			i += n
		case '*':
			i += p.stars(s, i, d)
		default:
			n := strings.IndexAny(s[i:], `\?[*`)
			if n < 0 {
				n = len(s) - i
			}
			p.literal(s[i : i+n])
			i += n
		}
	}
	return p, nil
}

// stars parses the asterisks at s[i:] and returns how much of s they take.
func (p *pattern) stars(s string, i int, d dialect) int {
	n := len(s[i:]) - len(strings.TrimLeft(s[i:], "*"))
	rest := s[i+n:]
	if d.path && n > 1 && (i == d.start || i > 0 && s[i-1] == '/') {
		for _, slash := range []string{"/", `\/`} {
			if strings.HasPrefix(rest, slash) {
				p.tokens = append(p.tokens, token{op: opDirs})
				return n + len(slash)
			}
		}
		if rest == "" {
			p.tokens = append(p.tokens, token{op: opRest})
			return n
		}
	}
	if k := len(p.tokens); k == 0 || p.tokens[k-1].op != opStar {
		p.tokens = append(p.tokens, token{op: opStar})
	}
	return n
}
