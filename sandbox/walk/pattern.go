package walk

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

// A pattern is one glob without braces. Matching goes back to the last opStar,
// and when that meets a slash to the last opDirs, and never further: what an
// earlier wildcard could take, the later one of its kind can take as well. So
// the cost is at most quadratic in a path segment and never exponential.
type pattern struct {
	tokens []token
	runes  bool // a character is a UTF-8 sequence; otherwise a byte, as git has it
}

func (p *pattern) match(s string) bool {
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
func (p *pattern) step(t *token, s string, pos int) int {
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
	if p.runes {
		r, n = utf8.DecodeRuneInString(s[pos:])
	}
	if t.op == opClass && !t.class.has(r) {
		return -1
	}
	return pos + n
}

func (p *pattern) width(s string) int {
	if !p.runes || s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// literal adds text to the tokens, joined with a literal before it.
func (p *pattern) literal(text string) {
	if n := len(p.tokens); n > 0 && p.tokens[n-1].op == opLiteral {
		p.tokens[n-1].text += text
		return
	}
	p.tokens = append(p.tokens, token{op: opLiteral, text: text})
}

// tail returns the literal that every match ends with, "" if none is known, and
// whether that is the whole base name of a match.
func (p *pattern) tail() (text string, whole bool) {
	n := len(p.tokens) - 1
	if n < 0 || p.tokens[n].op != opLiteral {
		return "", false
	}
	text = p.tokens[n].text
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		return text[i+1:], true
	}
	return text, n == 0 || p.tokens[n-1].op == opDirs
}

// unanchored turns a pattern such as **/*.go, which looks at nothing but the
// base name, into that part and reports whether it was one.
func (p *pattern) unanchored() bool {
	if len(p.tokens) < 2 || p.tokens[0].op != opDirs {
		return false
	}
	for _, t := range p.tokens[1:] {
		if t.op == opDirs || t.op == opRest || strings.Contains(t.text, "/") {
			return false
		}
	}
	p.tokens = p.tokens[1:]
	return true
}
