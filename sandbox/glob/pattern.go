package glob

import (
	"strings"
	"unicode/utf8"
)

type op uint8

const (
	opLiteral op = iota
	opAny        // one character but slash
	opClass      // one character of a set, never slash
	opStar       // any run without slash
	opDirs       // nothing, or anything that ends in a slash
	opRest       // anything; only as the last token
)

type token struct {
	op    op
	text  string
	class *class
}

// A Pattern is one glob without braces. Matching goes back to the last opStar,
// and when that meets a slash to the last opDirs, and never further: what an
// earlier wildcard could take, the later one of its kind can take as well. So
// the cost is at most quadratic in a path segment and never exponential.
type Pattern struct {
	// Path says that the pattern is matched against a path and not a base name.
	Path bool
	// Tail is what the base name of every match ends with.
	Tail string

	tokens []token
	bytes  bool // a character is a byte, as git has it, and not a UTF-8 sequence
}

// Match reports whether the pattern matches the path or, without Path, the base
// name s.
func (p *Pattern) Match(s string) bool {
	if t := p.tokens; len(t) == 2 && t[0].op == opStar && t[1].op == opLiteral { // *.go
		return strings.HasSuffix(s, t[1].text) && strings.IndexByte(s[:len(s)-len(t[1].text)], '/') < 0
	}
	at, pos := 0, 0
	star, starPos, dirs, dirsPos := -1, 0, -1, 0
	for {
		next := -1
		switch {
		case at == len(p.tokens):
			if pos == len(s) {
				return true
			}
		case p.tokens[at].op == opRest:
			return true
		case p.tokens[at].op == opStar:
			star, starPos, next = at, pos, pos
		case p.tokens[at].op == opDirs:
			star, dirs, dirsPos, next = -1, at, pos, pos
		default:
			next = p.step(&p.tokens[at], s, pos)
		}
		switch {
		case next >= 0:
			at, pos = at+1, next
		case star >= 0 && starPos < len(s) && s[starPos] != '/':
			starPos += p.width(s[starPos:])
			at, pos = star+1, starPos
		case dirs >= 0:
			slash := strings.IndexByte(s[dirsPos:], '/')
			if slash < 0 {
				return false
			}
			dirsPos += slash + 1
			star, at, pos = -1, dirs+1, dirsPos
		default:
			return false
		}
	}
}

// step returns where the text goes on after one token, or -1.
func (p *Pattern) step(t *token, s string, pos int) int {
	if t.op == opLiteral {
		if strings.HasPrefix(s[pos:], t.text) {
			return pos + len(t.text)
		}
		return -1
	}
	if pos == len(s) || s[pos] == '/' {
		return -1
	}
	r, n := rune(s[pos]), 1
	if !p.bytes {
		r, n = utf8.DecodeRuneInString(s[pos:])
	}
	if t.op == opClass && !t.class.has(r) {
		return -1
	}
	return pos + n
}

func (p *Pattern) width(s string) int {
	if p.bytes || s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}
