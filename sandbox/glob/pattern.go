package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

var (
	errOpenBracket = errors.New("'[' without ']' (write \\[ for the character itself)")
	errTooLong     = fmt.Errorf("it is too long; the most is %d bytes", maxBytes)
	errLastEscape  = errors.New("'\\' at the end escapes nothing (write \\\\ for the character itself)")
)

// A Pattern is one glob without braces.
type Pattern struct {
	path  bool                  // it is matched against a path and not a base name
	tail  string                // what the base name of every match ends with
	need  string                // the longest text that every match has
	expr  func() *regexp.Regexp // made when it is needed first; nil if tail says it all
	bytes bool                  // a character is a byte, as git has it, and not a UTF-8 sequence
}

// MatchEntry reports whether the pattern matches a base name, or the path that ends
// with it, which it asks for only where the name does not decide.
func (p *Pattern) MatchEntry(name string, rel func() string) bool {
	ends := strings.HasSuffix(name, p.tail)
	if !ends || p.expr == nil {
		return ends
	}
	if p.path {
		name = rel()
	}
	if p.bytes {
		name = runes(name)
	}
	return strings.Contains(name, p.need) && p.expr().MatchString(name) // of which the first is quick
}

// runes returns a text that has a character for each byte of s.
func runes(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			all := make([]rune, len(s))
			for i := range len(s) {
				all[i] = rune(s[i])
			}
			return string(all)
		}
	}
	return s
}

// Gitignore compiles a pattern of a .gitignore file, without its "!" and its
// last slash, as git reads it: characters are bytes, and braces mean themselves.
func Gitignore(s string) (*Pattern, error) {
	if len(s) > maxBytes {
		return nil, errTooLong
	}
	return compile(strings.TrimPrefix(s, "/"), strings.Contains(s, "/"), true)
}

// compile makes a regular expression of a pattern without braces.
func compile(s string, isPath, git bool) (*Pattern, error) {
	if rest, ok := strings.CutPrefix(s, "**/"); ok && isPath && rest != "" && !strings.Contains(rest, "/") && !strings.HasPrefix(rest, "**") {
		s, isPath = rest, false // **/*.go looks at nothing but the base name
	}
	p := &Pattern{path: isPath, bytes: git}
	first := 0 // where a ** is at the start of a path segment, besides after a slash
	if git {
		first = max(strings.IndexAny(s, `*?[\`), 0) // git compares what is before it separately
	}
	expr, literal := `(?s)\A`, ""
	for i := 0; i < len(s); {
		n, text := 1, ""
		switch c := s[i]; {
		case c == '?':
			text = `[^/]`
		case c == '[':
			var err error
			if text, n, err = class(s[i:], git); err != nil {
				return nil, err
			}
		case c == '*':
			text, n = stars(s[i:], isPath && (i == first || i > 0 && s[i-1] == '/'))
		case c != '\\':
			if n = strings.IndexAny(s[i:], `\?[*`); n < 0 {
				n = len(s) - i
			}
			literal += s[i : i+n]
		case i+1 == len(s):
			return nil, errLastEscape
		default:
			literal += s[i+1 : i+2]
			n = 2
		}
		if i += n; text != "" {
			expr += p.literal(literal) + text
			literal = ""
		}
	}
	p.tail = literal[strings.LastIndexByte(literal, '/')+1:]
	if expr += p.literal(literal) + `\z`; !isPath && s == "*"+literal { // *.go
		return p, nil
	}
	p.expr = lazyregexp.New(expr)
	return p, nil
}

// literal returns the expression for a text.
func (p *Pattern) literal(text string) string {
	if p.bytes {
		text = runes(text)
	}
	if len(text) > len(p.need) {
		p.need = text
	}
	return regexp.QuoteMeta(text)
}

// stars returns the expression for the asterisks that s starts with, and how much of s
// they take. At the start of a path segment two are any directories.
func stars(s string, atSegment bool) (expr string, n int) {
	rest := strings.TrimLeft(s, "*")
	n = len(s) - len(rest)
	if n > 1 && atSegment {
		if rest == "" {
			return `.*`, n
		}
		if after := strings.TrimPrefix(rest, `\`); after != "" && after[0] == '/' {
			return `(?:.*/)?`, len(s) - len(after) + 1
		}
	}
	return `[^/]*`, n
}

// sets are the ranges of the named sets, all of ASCII characters.
var sets = map[string]string{
	"alnum": "azAZ09", "alpha": "azAZ", "digit": "09", "lower": "az", "upper": "AZ", "xdigit": "09afAF", "blank": "  \t\t", "space": "  \t\r",
	"punct": "!/:@[`{~", "cntrl": "\x00\x1f\x7f\x7f", "graph": "!~", "print": " ~",
}

// class returns the expression for the class at the start of s and its length. The
// syntax is that of git: ! or ^ negates, a ] that comes first is a member,
// \ escapes, [:alpha:] and the like are named sets. A slash is never in it.
func class(s string, git bool) (expr string, n int, err error) {
	i, members := 1, ""
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i, members = 2, "/"
	}
	add := func(from, to rune) {
		if from <= '/' && '/' <= to && !negated {
			if from < '/' {
				members += fmt.Sprintf(`\x{%x}-.`, from)
			}
			from = '/' + 1
		}
		if from <= to {
			members += fmt.Sprintf(`\x{%x}-\x{%x}`, from, to)
		}
	}
	last := rune(-1) // what a '-' may start a range from
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			switch {
			case negated:
				return "[^" + members + "]", i + 1, nil
			case members == "":
				return `[^\x{0}-\x{10ffff}]`, i + 1, nil
			}
			return "[" + members + "]", i + 1, nil
		}
		if name, ok := setName(s[i:]); ok {
			set := sets[name]
			if set == "" {
				return "", 0, fmt.Errorf("unknown set \"[:%s:]\"", name)
			}
			for ; set != ""; set = set[2:] {
				add(rune(set[0]), rune(set[1]))
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
		switch {
		case !isRange:
			add(r, r)
			last = r
			continue
		case r >= last:
			add(last, r)
		case !git:
			return "", 0, fmt.Errorf("range %q goes backwards", string(last)+"-"+string(r))
		}
		last = -1
	}
	return "", 0, errOpenBracket
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
