// Package linematch finds the lines of a text that match a pattern, at about
// the speed the text can be read.
//
// A pattern is RE2 syntax as in package regexp, or a fixed string, and is
// matched against each line without its line ending, \n or \r\n. The result is
// that of regexp.Match on each line. It is found faster in two ways: literals
// with which every match begins are searched for in the whole buffer, and lines
// are matched by a deterministic automaton, built as it is needed, that reads
// each byte once.
//
// [Scanner] works on a buffer, [Searcher] on a reader, with line numbers and
// lines of context. The package does no input or output of its own.
package linematch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a pattern, so that neither memory nor time per byte can be made
// large by it.
const (
	maxPattern      = 4096  // bytes
	maxInstructions = 5_000 // of the compiled program
)

// Options change how a pattern is read.
type Options struct {
	FixedString bool // the pattern is literal text, not a regular expression
	IgnoreCase  bool // letters match in either case, by Unicode simple folding
}

// Matcher is a compiled pattern. Several goroutines may use it, each with its
// own [Scanner].
type Matcher struct {
	re      *regexp.Regexp
	prog    *syntax.Prog
	needles []needle // every match begins with one of them; empty if that is not known
	exact   bool     // each occurrence of a needle is a match
}

// Compile parses a pattern. The error says what is wrong with it and where.
func Compile(pattern string, opt Options) (*Matcher, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, the most is %d", len(pattern), maxPattern)
	}
	if opt.FixedString {
		pattern = regexp.QuoteMeta(pattern)
	}
	if opt.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	ast, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, explain(pattern, opt, err)
	}
	if hasNewline(ast) {
		return nil, errors.New(`the pattern asks for a line break, but each line is matched by itself: search for the parts separately`)
	}
	m := &Matcher{}
	if m.prog, err = syntax.Compile(ast.Simplify()); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	if n := len(m.prog.Inst); n > maxInstructions {
		return nil, fmt.Errorf("the pattern is too large: its repetitions unfold to %d steps, the most is %d", n, maxInstructions)
	}
	if m.re, err = regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	m.setNeedles(ast)
	return m, nil
}

// explain words a syntax error, with the place where the offending part is.
func explain(pattern string, opt Options, err error) error {
	var s *syntax.Error
	if !errors.As(err, &s) {
		return fmt.Errorf("invalid pattern: %w", err)
	}
	if opt.IgnoreCase {
		pattern = pattern[len("(?i)"):]
	}
	where, hint := "", ""
	if before, _, ok := strings.Cut(pattern, s.Expr); ok && s.Expr != "" && s.Expr != pattern {
		where = fmt.Sprintf(" at character %d", utf8.RuneCountInString(before)+1)
	}
	if s.Code == syntax.ErrInvalidPerlOp || s.Code == syntax.ErrInvalidEscape {
		hint = " (the syntax is RE2: no look-around and no back-references)"
	}
	return fmt.Errorf("invalid pattern: %s: %q%s%s; to search for it as plain text, ask for a fixed string", s.Code, s.Expr, where, hint)
}

func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, hasNewline)
}

const (
	maxNeedles = 8  // each costs a pass over the text
	minNeedle  = 3  // bytes; shorter ones are in too many lines
	maxLiteral = 64 // bytes of a needle
)

// needle is a literal to search for by its rarest byte.
type needle struct {
	text []byte
	rare int
}

// common has the bytes that are frequent in source code and prose, the most frequent first.
const common = " etaoinsrlcdupmhgfby\t.,()_-/\"'=:;w0123456789kvzxqj"

// setNeedles finds the literals with which a match of the pattern begins.
func (m *Matcher) setNeedles(ast *syntax.Regexp) {
	for ast.Op == syntax.OpCapture {
		ast = ast.Sub[0]
	}
	branches := []*syntax.Regexp{ast}
	if ast.Op == syntax.OpAlternate {
		branches = ast.Sub
	}
	if len(branches) > maxNeedles {
		return
	}
	exact, needles := true, make([]needle, len(branches))
	for i, b := range branches {
		prog, err := syntax.Compile(b.Simplify())
		if err != nil {
			return
		}
		prefix, complete := prog.Prefix()
		if len(prefix) < minNeedle {
			return
		}
		// \r may be part of a line ending.
		exact = exact && complete && len(prefix) <= maxLiteral && !strings.Contains(prefix, "\r")
		n := needle{text: []byte(prefix[:min(len(prefix), maxLiteral)])}
		for j, c := range n.text { // what is not common has the index -1, the largest as uint
			if uint(strings.IndexByte(common, c)) > uint(strings.IndexByte(common, n.text[n.rare])) {
				n.rare = j
			}
		}
		needles[i] = n
	}
	m.needles, m.exact = needles, exact
}

// next returns where the needle is next in buf at or after from, len(buf) if nowhere.
func (n needle) next(buf []byte, from int) int {
	for at := from + n.rare; at < len(buf); at++ {
		i := bytes.IndexByte(buf[at:], n.text[n.rare])
		if i < 0 {
			break
		}
		at += i
		if start := at - n.rare; bytes.HasPrefix(buf[start:], n.text) {
			return start
		}
	}
	return len(buf)
}

// Scanner finds the matching lines of one buffer after another. It serves one
// goroutine.
type Scanner struct {
	m    *Matcher
	dfa  *dfa
	buf  []byte
	pos  int   // start of the next line
	hits []int // where each needle is next
}

// Scanner returns a new scanner for the pattern.
func (m *Matcher) Scanner() *Scanner {
	return &Scanner{m: m, dfa: newDFA(m.prog), hits: make([]int, len(m.needles))}
}

// Reset makes the scanner start at the beginning of buf, which must begin with
// a line; its end ends the last one. buf must not change until the next Reset.
func (s *Scanner) Reset(buf []byte) {
	s.buf, s.pos = buf, 0
	for i := range s.hits {
		s.hits[i] = -1
	}
}

// Next returns the bounds of the next matching line, without its ending.
func (s *Scanner) Next() (start, end int, ok bool) {
	for s.pos < len(s.buf) {
		at, sure := s.candidate()
		if at < 0 {
			break
		}
		start := s.pos + bytes.LastIndexByte(s.buf[s.pos:at], '\n') + 1
		next := len(s.buf)
		if i := bytes.IndexByte(s.buf[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		s.pos = next
		line := s.buf[start:next]
		if sure || s.dfa.find(line) >= 0 {
			return start, start + len(trimEnding(line)), true
		}
	}
	s.pos = len(s.buf)
	return 0, 0, false
}

// candidate returns a place in the next line that may match, or -1, and whether
// it surely does.
func (s *Scanner) candidate() (at int, sure bool) {
	if len(s.hits) == 0 {
		if at = s.dfa.find(s.buf[s.pos:]); at < 0 {
			return -1, false
		}
		return s.pos + at, true
	}
	at = len(s.buf)
	for i, n := range s.m.needles {
		if s.hits[i] < s.pos {
			s.hits[i] = n.next(s.buf, s.pos)
		}
		at = min(at, s.hits[i])
	}
	if at == len(s.buf) {
		return -1, false
	}
	return at, s.m.exact
}

// trimEnding returns the line without \n, \r\n, or \r at the end of the text.
func trimEnding(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
